#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

namespace tokamak::python {

namespace nb = nanobind;

void bind_part_after(nb::module_& module);

}  // namespace tokamak::python
