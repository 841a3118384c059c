#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include "tokamak/array.h"

namespace tokamak::python {

namespace nb = nanobind;

/// Python's own numbers adopt the dtype of the arrays they meet. Arguments that are such numbers keep to this
/// while they are traced.
enum class Weak : uint8_t { none, boolean, integer, floating };

/// What an instance of tokamak.Array holds.
struct PythonArray {
  Array array;
  Weak weak = Weak::none;
  bool is_constant = false;  ///< part of the program of a jitted function that it is an argument of
};

/// A new tokamak.Array.
nb::object make_python_array(Array array, Weak weak = Weak::none);

/// The array inside `object` if it is a tokamak.Array, nullptr otherwise.
const PythonArray* as_python_array(PyObject* object);

/// What is in the slot `_place` of an Array; None where nothing is, and for what is no Array. To ask for the
/// attribute would end in __getattr__ for most.
nb::object place_of(nb::handle value);

/// Shares the memory of an ndarray, which stays alive as long as the result. TypeError when the dtype is none
/// of ours.
Array wrap_ndarray(PyArrayObject* ndarray);

/// Keeps a Python object alive from C++, on whatever thread its end comes.
std::shared_ptr<void> share_reference(PyObject* object);

void bind_array(nb::module_& module);

}  // namespace tokamak::python
