#pragma once

/// Everything is compiled with hidden visibility. A public header opens its namespace with this, and what it
/// declares there is what libtokamak exports:
///   namespace TOKAMAK_API tokamak { ... }
#define TOKAMAK_API [[gnu::visibility("default")]]
