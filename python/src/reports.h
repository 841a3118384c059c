#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// Explanation and its parts.
void bind_reports(nanobind::module_& module);

/// Memory, threads, the log.
void bind_runtime(nanobind::module_& module);

}  // namespace tokamak::python
