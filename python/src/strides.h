#pragma once

#include "array.h"

namespace tokamak::python {

/// How NumPy would have arrays lie in memory.
void bind_strides(nb::class_<PythonArray>& array, nb::module_& module);

}  // namespace tokamak::python
