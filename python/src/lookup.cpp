#include "lookup.h"

#include "array.h"
#include "trace/trace.h"

namespace tokamak::python {
namespace {

binaryfunc numpys_subscript = nullptr;
PyObject* look_up = nullptr;  ///< (ndarray, key) -> Array

bool is_traced(PyObject* object) {
  const PythonArray* array = as_python_array(object);
  return array != nullptr && array->array.is_traced();
}

bool holds_traced(PyObject* key) {
  if (!PyTuple_Check(key)) return is_traced(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    if (is_traced(PyTuple_GET_ITEM(key, i))) return true;
  }
  return false;
}

PyObject* subscript(PyObject* ndarray, PyObject* key) {
  if (Trace::current() == nullptr || !holds_traced(key)) return numpys_subscript(ndarray, key);
  return PyObject_CallFunctionObjArgs(look_up, ndarray, key, nullptr);
}

/// What an object holds in itself, as it lies in memory: what it refers to, by address. Not how often it is
/// referred to.
nb::bytes object_bytes(const nb::object& object) {
  const auto* begin = reinterpret_cast<const char*>(object.ptr());
  const auto size = static_cast<size_t>(Py_TYPE(object.ptr())->tp_basicsize);
  return nb::bytes(begin + sizeof(PyObject), size - sizeof(PyObject));
}

void set_lookup(const nb::callable& function) {
  look_up = nb::object(function).release().ptr();  // as long as the process lives, as NumPy does
}

/// Gives NumPy's arrays another method of this name, and returns the one they had: a type that is not made in
/// Python cannot be changed from there.
nb::object set_ndarray_method(const nb::str& name, const nb::object& method) {
  PyObject* known = PyArray_Type.tp_dict;
  nb::object before = nb::borrow(PyDict_GetItemWithError(known, name.ptr()));
  if (!before.is_valid() || PyDict_SetItem(known, name.ptr(), method.ptr()) != 0) nb::raise_python_error();
  PyType_Modified(&PyArray_Type);
  return before;
}

}  // namespace

void take_over_lookups() {
  PyMappingMethods* methods = PyArray_Type.tp_as_mapping;
  if (methods->mp_subscript == subscript) return;
  numpys_subscript = methods->mp_subscript;
  methods->mp_subscript = subscript;
}

void bind_lookup(nb::module_& module) {
  module.def("set_lookup", set_lookup, nb::arg("function"));
  module.def("object_bytes", object_bytes, nb::arg("object"));
  module.def("set_ndarray_method", set_ndarray_method, nb::arg("name"), nb::arg("method"));
}

}  // namespace tokamak::python
