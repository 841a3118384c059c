#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <span>

namespace tokamak::python {

namespace nb = nanobind;

/// The arguments of one call.
struct CallArguments {
  std::span<PyObject* const> positional;
  PyObject* names;  ///< of keywords; may be null
  PyObject* const* named;

  /// The value of a keyword; nullptr when the call has no such one.
  PyObject* value_of(PyObject* name) const;
  nb::tuple args() const;
  nb::dict kwargs() const;
};

/// What a function did to containers among its arguments is done to those of the caller: see
/// _results.Changed, of which this is the usual part.
struct Changes {
  nb::object changed;    ///< the class of results that come with changes
  nb::object container;  ///< the class of what stands for a container among the arguments

  /// Takes over a result; gives what the function returns. nullptr with the Python error set.
  PyObject* apply(PyObject* result, const CallArguments& call) const;

 private:
  bool is_plain(PyObject* value) const;
  nb::object resolved(PyObject* value, const CallArguments& call) const;
};

}  // namespace tokamak::python
