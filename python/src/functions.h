#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// The functions of tokamak/functions.h that the package does not compose of primitives itself.
void bind_functions(nanobind::module_& module);

}  // namespace tokamak::python
