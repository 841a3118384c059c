#pragma once

#include "numpy_api.h"

namespace tokamak::python {

/// Whether two values are the same object, or equal numbers or text of one type. NaN is itself, and -0.0 is
/// not 0.0. Runs no Python code. Either may be null: nothing there.
bool same_value(PyObject* now, PyObject* then);

/// The same for what is part of a program: also tuples, slices and ranges of such values, and methods of one
/// object.
bool same_static(PyObject* now, PyObject* then);

}  // namespace tokamak::python
