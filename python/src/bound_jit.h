#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// A jitted function bound to an instance, as a method is. New reference, or nullptr with the Python error
/// set.
PyObject* make_bound_jit(PyObject* function, PyObject* instance);

bool is_bound_jit(PyObject* object);

/// False with the Python error set.
bool bind_bound_jit(nanobind::module_& module);

}  // namespace tokamak::python
