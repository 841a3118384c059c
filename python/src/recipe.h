#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <span>
#include <vector>

namespace tokamak::python {

namespace nb = nanobind;

/// How the results of a program are put together to what the function returned: containers and objects, made
/// without Python code.
class Recipe {
 public:
  enum class Kind : uint8_t {
    result,    ///< the next result
    number,    ///< the next result; one of NumPy's scalars becomes one of Python's numbers
    call,      ///< what a function makes of the next result
    constant,  ///< always the same
    tuple,
    list,
    dict,
    named,   ///< a named tuple of this class
    called,  ///< what a class makes of the parts
    object,  ///< an instance of a class, of which the parts are attributes
    space,   ///< a SimpleNamespace
    again,   ///< the object that is being made there, outermost first
  };

  /// Of a description (kind, value, keys, parts), as _recipes.py makes it.
  static Recipe of(nb::handle description);

  /// Takes over the results. A new reference, or nullptr with the Python error set.
  PyObject* build(std::span<PyObject*> results) const noexcept;
  int traverse(visitproc visit, void* arg) const;

 private:
  struct State {
    std::vector<nb::object> results;
    size_t next = 0;
    std::vector<PyObject*> open;
  };
  nb::object make(State& state) const;
  nb::object make_tuple(State& state) const;
  nb::object make_list(State& state) const;
  nb::object make_dict(State& state) const;
  nb::object make_named(State& state) const;
  nb::object make_object(State& state, newfunc make_new) const;

  Kind kind_ = Kind::constant;
  nb::object value_;
  std::vector<nb::object> keys_;
  std::vector<Recipe> parts_;
  size_t position_ = 0;  ///< of `again`
};

void bind_recipe(nb::module_& module);

}  // namespace tokamak::python
