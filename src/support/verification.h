#pragma once

namespace tokamak {

/// Whether the compiler checks its own work after every stage: in debug builds, and where TOKAMAK_VERIFY=1
/// asks for it, as the tests do.
bool verification_enabled();

}  // namespace tokamak
