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

/// Whether no ndarray lets anybody write to this memory, or it is a constant.
bool is_frozen(PyObject* object);

}  // namespace tokamak::python
