#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// Tells the function that this thread records, if any, of an ndarray that becomes part of it.
void note_captured(PyObject* ndarray);

/// Trace, Graph and CallTable: what tokamak/_jit.py is made from.
void bind_tracing(nanobind::module_& module);

}  // namespace tokamak::python
