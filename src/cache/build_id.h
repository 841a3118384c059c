#pragma once

#include <string>

namespace tokamak {

/// The linker's fingerprint of the program or library that has code at this address: the content of its
/// build-id note, as it is. Empty if it has none.
std::string build_id_of(const void* address);

}  // namespace tokamak
