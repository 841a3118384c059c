#include "changes.h"

#include <string_view>
#include <vector>

namespace tokamak::python {
namespace {

nb::object checked(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

void check(int status) {
  if (status < 0) throw nb::python_error();
}

bool is_text(PyObject* object, std::string_view text) {
  return PyUnicode_CompareWithASCIIString(object, text.data()) == 0;
}

/// The container at the end of a path, whose first two steps lead to an argument.
nb::object container_at(PyObject* path, const CallArguments& call) {
  nb::object at;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(path); ++i) {
    PyObject* key = PyTuple_GET_ITEM(PyTuple_GET_ITEM(path, i), 1);
    if (i > 1) {
      const bool is_attribute = is_text(PyTuple_GET_ITEM(PyTuple_GET_ITEM(path, i), 0), "attribute");
      at = checked(is_attribute ? PyObject_GetAttr(at.ptr(), key) : PyObject_GetItem(at.ptr(), key));
    } else if (PyUnicode_Check(key)) {
      at = nb::borrow(call.value_of(key));
      if (!at.is_valid()) throw nb::key_error("no such keyword");
    } else {
      at = nb::borrow(call.positional[static_cast<size_t>(PyLong_AsSsize_t(key))]);
    }
  }
  return at;
}

void make_change(PyObject* at, PyObject* kind, PyObject* key, PyObject* value) {
  if (is_text(kind, "attribute")) return check(PyObject_SetAttr(at, key, value));
  if (is_text(kind, "item")) return check(PyObject_SetItem(at, key, value));
  if (is_text(kind, "items")) return check(PySequence_SetSlice(at, 0, PY_SSIZE_T_MAX, value));
  if (is_text(kind, "removed item")) return check(PyObject_DelItem(at, key));
  if (is_text(kind, "removed attribute")) return check(PyObject_SetAttr(at, key, nullptr));
  throw nb::value_error("no such kind of change");
}

}  // namespace

PyObject* CallArguments::value_of(PyObject* name) const {
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(names, i) == name) return named[i];
  }
  for (Py_ssize_t i = 0; i < count; ++i) {  // names made while the program runs may be copies
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0) return named[i];
  }
  return nullptr;
}

nb::tuple CallArguments::args() const {
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  if (!made.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < positional.size(); ++i) {
    Py_INCREF(positional[i]);
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), positional[i]);
  }
  return nb::borrow<nb::tuple>(made);
}

nb::dict CallArguments::kwargs() const {
  nb::dict made;
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) made[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(named[i]);
  return made;
}

// -- Changes

/// Whether nothing in it stands for a container among the arguments.
bool Changes::is_plain(PyObject* value) const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == container.ptr()) return false;
  if (PyTuple_Check(value) || PyList_CheckExact(value)) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (!is_plain(PySequence_Fast_GET_ITEM(value, i))) return false;
    }
  }
  if (PyDict_CheckExact(value)) {
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item)) {
      if (!is_plain(item)) return false;
    }
  }
  return true;
}

/// Nothing when there is more to do than to put one container in place of one that stands for it.
nb::object Changes::resolved(PyObject* value, const CallArguments& call) const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == container.ptr()) {
    const nb::object path = checked(PyObject_GetAttrString(value, "path"));
    return container_at(path.ptr(), call);
  }
  return is_plain(value) ? nb::borrow(value) : nb::object();
}

PyObject* Changes::apply(PyObject* given, const CallArguments& call) const {
  if (given == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(given)) != changed.ptr()) return given;
  const nb::object all = nb::steal(given);
  PyObject* changes = PyTuple_GET_ITEM(given, 1);
  PyObject* values = PyTuple_GET_ITEM(given, 2);
  nb::object result = resolved(PyTuple_GET_ITEM(given, 0), call);
  bool is_done = result.is_valid();
  std::vector<nb::object> at, now;
  for (Py_ssize_t i = 0; is_done && i < PyTuple_GET_SIZE(changes); ++i) {
    at.push_back(container_at(PyTuple_GET_ITEM(PyTuple_GET_ITEM(changes, i), 0), call));
    now.push_back(resolved(PyTuple_GET_ITEM(values, i), call));
    is_done = now.back().is_valid();
  }
  if (!is_done) return all.attr("apply")(call.args(), call.kwargs()).release().ptr();
  for (size_t i = 0; i < at.size(); ++i) {
    PyObject* change = PyTuple_GET_ITEM(changes, static_cast<Py_ssize_t>(i));
    make_change(at[i].ptr(), PyTuple_GET_ITEM(change, 1), PyTuple_GET_ITEM(change, 2), now[i].ptr());
  }
  return result.release().ptr();
}

}  // namespace tokamak::python
