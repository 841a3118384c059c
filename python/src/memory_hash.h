#pragma once

#include "numpy_api.h"

#include <cstdint>
#include <utility>

namespace tokamak::python {

/// A hash of the elements, shape and dtype of an ndarray or a tokamak.Array; of the bytes of other objects
/// that have some.
uint64_t hash_memory(PyObject* object);

/// The first byte of an ndarray's elements, and the one behind the last.
std::pair<const char*, const char*> extent_of(PyArrayObject* array);

/// Whether nobody can write to this memory: it is a constant, or that of Python's bytes. An ndarray that is
/// read-only is not enough, since a view that was made before may write to it, and who set the flag may take
/// it back.
bool is_frozen(PyObject* object);

}  // namespace tokamak::python
