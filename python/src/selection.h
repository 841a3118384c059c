#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

namespace tokamak::python {

void bind_selection(nanobind::module_& module);

}  // namespace tokamak::python
