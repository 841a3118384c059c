#pragma once

/// Everything is compiled with hidden visibility; what carries this, libtokamak exports. A public header
/// usually opens its namespace with it, which covers every class and function declared there:
///   namespace TOKAMAK_API tokamak { ... }
/// It may also stand on one class (`class TOKAMAK_API Array`) or on one function.
#define TOKAMAK_API [[gnu::visibility("default")]]
