#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// Trace, Graph and CallTable: what tokamak/_jit.py is made from.
void bind_tracing(nanobind::module_& module);

}  // namespace tokamak::python
