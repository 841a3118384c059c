#pragma once

#include "numpy_api.h"

#include "runtime/buffer_pool.h"

namespace tokamak::python {

/// A Python object that holds a share in a block; the base of the ndarrays that calls return.
/// A new reference, or nullptr with the Python error set (the block is then given back).
PyObject* make_block_owner(Block block);

/// Makes the type. Called once, when the module is imported.
bool prepare_block_owner();

}  // namespace tokamak::python
