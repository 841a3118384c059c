#pragma once

#include "numpy_api.h"

#include <cstdint>

namespace tokamak::python {

/// A hash of the elements, shape and dtype of an ndarray or a tokamak.Array; of the bytes of other objects
/// that have some.
uint64_t hash_memory(PyObject* object);

/// Whether nobody can write to this memory: it is a constant, or that of Python's bytes. An ndarray that is
/// read-only is not enough, since a view that was made before may write to it, and who set the flag may take
/// it back.
bool is_frozen(PyObject* object);

}  // namespace tokamak::python
