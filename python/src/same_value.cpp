#include "same_value.h"

#include <cstring>

#include "bound_jit.h"

namespace tokamak::python {
namespace {

bool same_scalar(PyObject* now, PyObject* then) {
  PyArray_Descr* descr = PyArray_DescrFromScalar(then);
  if (descr == nullptr) {
    PyErr_Clear();
    return false;
  }
  char bytes[2][64];
  const auto size = static_cast<size_t>(PyDataType_ELSIZE(descr));
  const bool plain = PyTypeNum_ISNUMBER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num);
  Py_DECREF(descr);
  if (!plain || size > sizeof(bytes[0])) return false;
  PyArray_ScalarAsCtype(now, bytes[0]);
  PyArray_ScalarAsCtype(then, bytes[1]);
  return std::memcmp(bytes[0], bytes[1], size) == 0;
}

bool same_tuple(PyObject* now, PyObject* then) {
  const Py_ssize_t size = PyTuple_GET_SIZE(now);
  if (size != PyTuple_GET_SIZE(then)) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!same_static(PyTuple_GET_ITEM(now, i), PyTuple_GET_ITEM(then, i))) return false;
  }
  return true;
}

bool same_slice(PyObject* now, PyObject* then) {
  const auto* a = reinterpret_cast<PySliceObject*>(now);
  const auto* b = reinterpret_cast<PySliceObject*>(then);
  return same_static(a->start, b->start) && same_static(a->stop, b->stop) && same_static(a->step, b->step);
}

}  // namespace

bool same_value(PyObject* now, PyObject* then) {
  if (now == then) return true;
  if (now == nullptr || then == nullptr || Py_TYPE(now) != Py_TYPE(then)) return false;
  if (PyFloat_CheckExact(now)) {
    const double values[] = {PyFloat_AS_DOUBLE(now), PyFloat_AS_DOUBLE(then)};
    return std::memcmp(&values[0], &values[1], sizeof(double)) == 0;
  }
  if (PyLong_CheckExact(now) || PyUnicode_CheckExact(now) || PyBytes_CheckExact(now)) {
    return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
  }
  return PyArray_CheckScalar(now) && !PyArray_Check(now) && same_scalar(now, then);
}

bool same_static(PyObject* now, PyObject* then) {
  if (now == then) return true;
  if (Py_TYPE(now) != Py_TYPE(then)) return false;
  if (PyTuple_CheckExact(now)) return same_tuple(now, then);
  if (PySlice_Check(now)) return same_slice(now, then);
  if (PyRange_Check(now)) return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
  if (PyMethod_Check(now)) {
    return PyMethod_GET_SELF(now) == PyMethod_GET_SELF(then) &&
           PyMethod_GET_FUNCTION(now) == PyMethod_GET_FUNCTION(then);
  }
  if (is_bound_jit(now)) return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
  return same_value(now, then);
}

}  // namespace tokamak::python
