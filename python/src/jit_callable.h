#pragma once

// The object that tk.jit returns.
//
// It is a C type, because a call must cost less than a small kernel: a call whose positional arguments are
// ndarrays, Python numbers and known static values finds its program by a scan of the table and runs no
// Python code. Neither do calls with containers, objects, keywords and tokamak.Arrays whose form has been
// seen before (see forms.h). Everything else goes to `core`, which is Python.

#include "numpy_api.h"

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// Adds the type to the module. False with the Python error set when that fails.
bool bind_jit_callable(nanobind::module_& module);

}  // namespace tokamak::python
