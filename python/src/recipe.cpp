#include "recipe.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "errors.h"

namespace tokamak::python {
namespace {

constexpr std::array<std::string_view, 12> kKinds = {"result", "number", "call",  "constant",
                                                     "tuple",  "list",   "dict",  "named",
                                                     "called", "object", "space", "again"};

/// Throws the Python error that is set when there is no object.
nb::object checked(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

nb::object python_number(nb::object result) {
  PyObject* scalar = result.ptr();
  if (PyArray_IsScalar(scalar, Float64))
    return checked(PyFloat_FromDouble(PyArrayScalar_VAL(scalar, Float64)));
  if (PyArray_IsScalar(scalar, Int64)) return checked(PyLong_FromLongLong(PyArrayScalar_VAL(scalar, Int64)));
  if (!PyArray_CheckScalar(scalar) || PyArray_Check(scalar)) return result;
  return result.attr("item")();
}

}  // namespace

Recipe Recipe::of(nb::handle description) {
  Recipe made;
  const nb::str name = nb::cast<nb::str>(description[0]);
  const auto found = std::ranges::find(kKinds, std::string_view(name.c_str()));
  if (found == kKinds.end()) throw nb::value_error("no such kind of recipe");
  made.kind_ = static_cast<Kind>(found - kKinds.begin());
  made.value_ = description[1];
  if (made.kind_ == Kind::again) made.position_ = nb::cast<size_t>(made.value_);
  for (nb::handle key : nb::object(description[2])) made.keys_.push_back(nb::borrow(key));
  for (nb::handle part : nb::object(description[3])) made.parts_.push_back(of(part));
  return made;
}

PyObject* Recipe::build(std::span<PyObject*> results) const noexcept {
  try {
    State state;
    state.results.reserve(results.size());
    for (PyObject* result : results) state.results.push_back(nb::steal(result));
    return make(state).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (...) {
    raise_python_error(std::current_exception());
  }
  return nullptr;
}

int Recipe::traverse(visitproc visit, void* arg) const {
  Py_VISIT(value_.ptr());
  for (const nb::object& key : keys_) Py_VISIT(key.ptr());
  for (const Recipe& part : parts_) {
    if (const int stopped = part.traverse(visit, arg)) return stopped;
  }
  return 0;
}

nb::object Recipe::make(State& state) const {
  switch (kind_) {
    case Kind::result:
      return std::move(state.results.at(state.next++));
    case Kind::number:
      return python_number(std::move(state.results.at(state.next++)));
    case Kind::call:
      return checked(PyObject_CallOneArg(value_.ptr(), state.results.at(state.next++).ptr()));
    case Kind::constant:
      return value_;
    case Kind::tuple:
      return make_tuple(state);
    case Kind::list:
      return make_list(state);
    case Kind::dict:
      return make_dict(state);
    case Kind::named:
      return make_named(state);
    case Kind::called:
      return checked(PyObject_CallObject(value_.ptr(), make_tuple(state).ptr()));
    case Kind::object:
      return make_object(state, PyBaseObject_Type.tp_new);
    case Kind::space:
      return make_object(state, reinterpret_cast<PyTypeObject*>(value_.ptr())->tp_new);
    case Kind::again:
      return nb::borrow(state.open.at(position_));
  }
  return {};
}

nb::object Recipe::make_tuple(State& state) const {
  nb::object made = checked(PyTuple_New(static_cast<Py_ssize_t>(parts_.size())));
  for (size_t i = 0; i < parts_.size(); ++i) {
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), parts_[i].make(state).release().ptr());
  }
  return made;
}

nb::object Recipe::make_list(State& state) const {
  nb::object made = checked(PyList_New(static_cast<Py_ssize_t>(parts_.size())));
  for (size_t i = 0; i < parts_.size(); ++i) {
    PyList_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), parts_[i].make(state).release().ptr());
  }
  return made;
}

nb::object Recipe::make_dict(State& state) const {
  nb::object made = checked(PyDict_New());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const nb::object value = parts_[i].make(state);
    if (PyDict_SetItem(made.ptr(), keys_[i].ptr(), value.ptr()) < 0) throw nb::python_error();
  }
  return made;
}

nb::object Recipe::make_named(State& state) const {
  const nb::object arguments = checked(PyTuple_Pack(1, make_tuple(state).ptr()));
  return checked(
      PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(value_.ptr()), arguments.ptr(), nullptr));
}

/// Without a call of its __init__, as a copy is made.
nb::object Recipe::make_object(State& state, newfunc make_new) const {
  const nb::object nothing = checked(PyTuple_New(0));
  nb::object made = checked(make_new(reinterpret_cast<PyTypeObject*>(value_.ptr()), nothing.ptr(), nullptr));
  state.open.push_back(made.ptr());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const nb::object value = parts_[i].make(state);
    if (PyObject_GenericSetAttr(made.ptr(), keys_[i].ptr(), value.ptr()) < 0) throw nb::python_error();
  }
  state.open.pop_back();
  return made;
}

void bind_recipe(nb::module_& module) {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) {
         Py_VISIT(Py_TYPE(self));
         return nb::inst_ready(self) ? nb::inst_ptr<Recipe>(self)->traverse(visit, arg) : 0;
       })},
      {Py_tp_clear, reinterpret_cast<void*>(+[](PyObject* self) {
         if (nb::inst_ready(self)) *nb::inst_ptr<Recipe>(self) = Recipe();
         return 0;
       })},
      {0, nullptr},
  };
  nb::class_<Recipe>(module, "Recipe", nb::type_slots(slots))
      .def(
          "__init__",
          [](Recipe* self, nb::handle description) { new (self) Recipe(Recipe::of(description)); },
          nb::arg("description"))
      .def("__call__", [](const Recipe& self, const nb::list& results) {
        std::vector<PyObject*> items;
        for (nb::handle result : results) items.push_back(result.inc_ref().ptr());
        return checked(self.build(items));
      });
}

}  // namespace tokamak::python
