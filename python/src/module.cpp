#define TOKAMAK_IMPORTS_NUMPY
#include "driver/warm_up.h"
#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include "array.h"
#include "block_owner.h"
#include "bound_jit.h"
#include "dtypes.h"
#include "errors.h"
#include "forms.h"
#include "functions.h"
#include "guards.h"
#include "jit_callable.h"
#include "location.h"
#include "lookup.h"
#include "part_after.h"
#include "recipe.h"
#include "reports.h"
#include "selection.h"
#include "trace/location.h"
#include "tracing.h"

namespace nb = nanobind;
using namespace tokamak::python;

NB_MODULE(_native, module) {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
  prepare_dtypes();
  if (!prepare_block_owner() || !bind_jit_callable(module) || !bind_bound_jit(module))
    throw nb::python_error();
  register_error_translator();
  bind_array(module);
  bind_functions(module);
  bind_guards(module);
  bind_forms(module);
  bind_part_after(module);
  bind_recipe(module);
  bind_selection(module);
  bind_tracing(module);
  bind_lookup(module);
  bind_reports(module);
  bind_runtime(module);
  tokamak::set_location_provider(user_python_line);
  nb::set_leak_warnings(false);  // arrays may live in modules until the process ends
  module.attr("__version__") = TOKAMAK_VERSION;
  tokamak::warm_up_in_background();
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function(tokamak::finish_warm_up, nb::call_guard<nb::gil_scoped_release>()));
}
