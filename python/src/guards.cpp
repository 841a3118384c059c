#include "guards.h"

#include <cstring>

#include "memory_hash.h"

namespace tokamak::python {
namespace {

// -- Values

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

/// Either may be null: nothing there.
bool same_value(PyObject* now, PyObject* then) {
  if (now == then) return true;
  if (now == nullptr || then == nullptr || Py_TYPE(now) != Py_TYPE(then)) return false;
  if (PyFloat_CheckExact(now)) {  // NaN is itself, and -0.0 is not 0.0
    const double values[] = {PyFloat_AS_DOUBLE(now), PyFloat_AS_DOUBLE(then)};
    return std::memcmp(&values[0], &values[1], sizeof(double)) == 0;
  }
  if (PyLong_CheckExact(now) || PyUnicode_CheckExact(now) || PyBytes_CheckExact(now)) {
    return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
  }
  return PyArray_CheckScalar(now) && !PyArray_Check(now) && same_scalar(now, then);
}

bool same_value(PyObject* now, const nb::object& then) { return same_value(now, then.ptr()); }

nb::object borrowed(PyObject* object) { return object == nullptr ? nb::object() : nb::borrow(object); }

// -- What is at a place now

PyObject* item_now(PyObject* owner, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(owner, key);
  if (found == nullptr) PyErr_Clear();
  return found;
}

nb::object slot_now(PyObject* object, PyObject* descriptor) {
  PyObject* found =
      Py_TYPE(descriptor)->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object)));
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

// -- Whether guards hold

bool holds(const Guards::Item& guard) {
  return same_value(item_now(guard.owner.ptr(), guard.key.ptr()), guard.value);
}

bool holds(const Guards::Cell& guard) { return same_value(PyCell_GET(guard.cell.ptr()), guard.value); }

bool holds(const Guards::Attribute& guard) {
  return same_value(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(guard.type.ptr()), guard.name.ptr()),
                    guard.value);
}

bool holds(const Guards::Slot& guard) {
  return same_value(slot_now(guard.object.ptr(), guard.descriptor.ptr()).ptr(), guard.value);
}

bool list_holds(PyObject* list, const std::vector<nb::object>& parts) {
  if (static_cast<size_t>(PyList_GET_SIZE(list)) != parts.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!same_value(PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i)), parts[i])) return false;
  }
  return true;
}

bool dict_holds(PyObject* dict, const std::vector<nb::object>& parts) {
  if (static_cast<size_t>(PyDict_GET_SIZE(dict)) * 2 != parts.size()) return false;
  Py_ssize_t position = 0;
  PyObject *key, *value;
  for (size_t i = 0; PyDict_Next(dict, &position, &key, &value); i += 2) {
    if (!same_value(key, parts[i]) || !same_value(value, parts[i + 1])) return false;
  }
  return true;
}

bool holds(const Guards::Contents& guard) {
  PyObject* container = guard.container.ptr();
  if (PyList_Check(container)) return list_holds(container, guard.parts);
  if (PyDict_Check(container)) return dict_holds(container, guard.parts);
  if (!PyAnySet_Check(container)) {  // a deque
    const nb::object items = nb::steal(PySequence_List(container));
    if (!items.is_valid()) PyErr_Clear();
    return items.is_valid() && list_holds(items.ptr(), guard.parts);
  }
  const int equal = PyObject_RichCompareBool(container, guard.parts[0].ptr(), Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

bool holds(const Guards::Memory& guard) {
  if (guard.frozen) return is_frozen(guard.array.ptr());
  return hash_memory(guard.array.ptr()) == guard.hash;
}

// -- What they keep alive

template <class... Objects>
int visit_all(visitproc visit, void* arg, const Objects&... objects) {
  for (PyObject* object : {objects.ptr()...}) Py_VISIT(object);
  return 0;
}

int visit_guard(const Guards::Item& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.owner, g.key, g.value);
}
int visit_guard(const Guards::Cell& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.cell, g.value);
}
int visit_guard(const Guards::Attribute& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.type, g.name, g.value);
}
int visit_guard(const Guards::Slot& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.object, g.descriptor, g.value);
}
int visit_guard(const Guards::Contents& g, visitproc visit, void* arg) {
  for (const nb::object& part : g.parts) Py_VISIT(part.ptr());
  return visit_all(visit, arg, g.container);
}
int visit_guard(const Guards::Memory& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.array);
}

}  // namespace

size_t Guards::item(const nb::dict& owner, const nb::object& key) {
  return add(Item{owner, key, borrowed(item_now(owner.ptr(), key.ptr()))});
}

size_t Guards::cell(const nb::object& cell) {
  if (!PyCell_Check(cell.ptr())) throw nb::type_error("expected a cell");
  return add(Cell{cell, borrowed(PyCell_GET(cell.ptr()))});
}

size_t Guards::attribute(const nb::object& type, const nb::str& name) {
  if (!PyType_Check(type.ptr())) throw nb::type_error("expected a class");
  return add(Attribute{type, name,
                       borrowed(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.ptr()), name.ptr()))});
}

size_t Guards::slot(const nb::object& object, const nb::object& descriptor) {
  if (Py_TYPE(descriptor.ptr())->tp_descr_get == nullptr) throw nb::type_error("expected a descriptor");
  return add(Slot{object, descriptor, slot_now(object.ptr(), descriptor.ptr())});
}

size_t Guards::contents(const nb::object& container) {
  Contents guard{container, {}};
  if (PyList_Check(container.ptr())) {
    for (nb::handle item : nb::borrow<nb::list>(container)) guard.parts.push_back(nb::borrow(item));
  } else if (PyDict_Check(container.ptr())) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(container.ptr(), &position, &key, &value)) {
      guard.parts.push_back(nb::borrow(key));
      guard.parts.push_back(nb::borrow(value));
    }
  } else if (!PyAnySet_Check(container.ptr())) {
    for (nb::handle item : nb::list(container)) guard.parts.push_back(nb::borrow(item));
  } else {
    guard.parts.push_back(nb::steal(PyFrozenSet_New(container.ptr())));
    if (!guard.parts[0].is_valid()) throw nb::python_error();
  }
  return add(std::move(guard));
}

size_t Guards::memory(const nb::object& array) {
  const bool frozen = is_frozen(array.ptr());
  return add(Memory{array, frozen ? 0 : hash_memory(array.ptr()), frozen});
}

int64_t Guards::broken() const noexcept {
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (!std::visit([](const auto& guard) { return holds(guard); }, guards_[i]))
      return static_cast<int64_t>(i);
  }
  return -1;
}

size_t Guards::bytes() const {
  size_t total = 0;
  for (const Guard& guard : guards_) {
    const Memory* memory = std::get_if<Memory>(&guard);
    if (memory == nullptr || !PyArray_Check(memory->array.ptr())) continue;
    total += static_cast<size_t>(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(memory->array.ptr())));
  }
  return total;
}

bool Guards::touches(const char* first, const char* last) const {
  for (const Guard& guard : guards_) {
    const Memory* memory = std::get_if<Memory>(&guard);
    if (memory == nullptr || !PyArray_Check(memory->array.ptr())) continue;
    const auto [low, high] = extent_of(reinterpret_cast<PyArrayObject*>(memory->array.ptr()));
    if (first < high && low < last) return true;
  }
  return false;
}

void Guards::clear() {
  std::vector<Guard> gone = std::move(guards_);  // what goes may look at this
  guards_.clear();
}

int Guards::traverse(visitproc visit, void* arg) const {
  for (const Guard& guard : guards_) {
    const int stopped = std::visit([&](const auto& one) { return visit_guard(one, visit, arg); }, guard);
    if (stopped != 0) return stopped;
  }
  return 0;
}

void bind_guards(nb::module_& module) {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) {
         Py_VISIT(Py_TYPE(self));
         if (!nb::inst_ready(self)) return 0;
         return nb::inst_ptr<Guards>(self)->traverse(visit, arg);
       })},
      {Py_tp_clear, reinterpret_cast<void*>(+[](PyObject* self) {
         nb::inst_ptr<Guards>(self)->clear();
         return 0;
       })},
      {0, nullptr},
  };
  nb::class_<Guards>(module, "Guards", nb::type_slots(slots))
      .def(nb::init<>())
      .def("item", &Guards::item, nb::arg("owner"), nb::arg("key"))
      .def("cell", &Guards::cell, nb::arg("cell"))
      .def("attribute", &Guards::attribute, nb::arg("type"), nb::arg("name"))
      .def("slot", &Guards::slot, nb::arg("object"), nb::arg("descriptor"))
      .def("contents", &Guards::contents, nb::arg("container"))
      .def("memory", &Guards::memory, nb::arg("array"))
      .def("broken", &Guards::broken)
      .def("bytes", &Guards::bytes)
      .def("__len__", &Guards::size);
}

}  // namespace tokamak::python
