#include "guards.h"

#include "memory_hash.h"
#include "same_value.h"

namespace tokamak::python {
namespace {

// -- Values

bool same_value(PyObject* now, const nb::object& then) {
  return tokamak::python::same_value(now, then.ptr());
}

nb::object borrowed(PyObject* object) { return object == nullptr ? nb::object() : nb::borrow(object); }

// -- What is at a place now

/// The class of what stands in for NumPy's functions while a thread traces. Held for ever.
PyObject* replacing_type = nullptr;

/// A function that a trace, perhaps of another thread, has replaced counts as itself.
PyObject* item_now(PyObject* owner, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(owner, key);
  if (found == nullptr) PyErr_Clear();
  if (found == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(found)) != replacing_type) return found;
  const nb::object replaced = nb::steal(PyObject_GetAttrString(found, "replaces"));
  if (!replaced.is_valid()) PyErr_Clear();
  return replaced.ptr();  // which its replacement holds
}

PyObject* attribute_now(const nb::object& type, PyObject* name) {
  return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.ptr()), name);
}

/// A number that no class has had before it was changed, nor has after: CPython's own caches rely on it.
/// 0 when there is none at present.
uint32_t version_of(const nb::object& type) {
  const auto* object = reinterpret_cast<PyTypeObject*>(type.ptr());
#if PY_VERSION_HEX < 0x030B0000
  if (!PyType_HasFeature(const_cast<PyTypeObject*>(object), Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return object->tp_version_tag;
}

/// The dict of attributes of an instance; null when it has none.
nb::object dict_now(PyObject* object) {
  PyObject* found = PyObject_GenericGetDict(object, nullptr);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
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

/// The number of the first attribute that is not what it was; -1 when all are.
Py_ssize_t changed_attribute(const Guards::Attributes& guard) {
  for (size_t i = 0; i < guard.values.size(); ++i) {
    const auto position = static_cast<Py_ssize_t>(i);
    if (!same_value(attribute_now(guard.type, PyTuple_GET_ITEM(guard.names.ptr(), position)),
                    guard.values[i]))
      return position;
  }
  return -1;
}

bool holds(const Guards::Attributes& guard) {
  if (guard.version != 0 && version_of(guard.type) == guard.version) return true;
  if (changed_attribute(guard) >= 0) return false;
  guard.version = version_of(guard.type);  // looking at them has given the class one
  return true;
}

bool holds(const Guards::Instance& guard) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(guard.object.ptr())) != guard.type.ptr()) return false;
  return !guard.dict.is_valid() || dict_now(guard.object.ptr()).is(guard.dict);
}

bool holds(const Guards::Function& guard) {
  PyObject* function = guard.function.ptr();
  return PyFunction_GET_CODE(function) == guard.code.ptr() &&
         PyFunction_GET_DEFAULTS(function) == guard.defaults.ptr() &&
         PyFunction_GET_KW_DEFAULTS(function) == guard.keyword_defaults.ptr();
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
  return guard.frozen || hash_memory(guard.array.ptr()) == guard.hash;
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
int visit_guard(const Guards::Attributes& g, visitproc visit, void* arg) {
  for (const nb::object& value : g.values) Py_VISIT(value.ptr());
  return visit_all(visit, arg, g.type, g.names);
}
int visit_guard(const Guards::Instance& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.object, g.type, g.dict);
}
int visit_guard(const Guards::Function& g, visitproc visit, void* arg) {
  return visit_all(visit, arg, g.function, g.code, g.defaults, g.keyword_defaults);
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

size_t Guards::attributes(const nb::object& type, const nb::tuple& names) {
  if (!PyType_Check(type.ptr())) throw nb::type_error("expected a class");
  Attributes guard{type, names, {}, 0};
  for (nb::handle name : names) guard.values.push_back(borrowed(attribute_now(type, name.ptr())));
  return add(std::move(guard));
}

size_t Guards::instance(const nb::object& object) {
  return add(Instance{object, nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))),
                      dict_now(object.ptr())});
}

size_t Guards::function(const nb::object& function) {
  if (!PyFunction_Check(function.ptr())) throw nb::type_error("expected a function");
  return add(Function{function, borrowed(PyFunction_GET_CODE(function.ptr())),
                      borrowed(PyFunction_GET_DEFAULTS(function.ptr())),
                      borrowed(PyFunction_GET_KW_DEFAULTS(function.ptr()))});
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

nb::object Guards::detail(size_t guard) const {
  const Attributes* several = std::get_if<Attributes>(&guards_.at(guard));
  const Py_ssize_t changed = several == nullptr ? -1 : changed_attribute(*several);
  return changed < 0 ? nb::none() : nb::borrow(PyTuple_GET_ITEM(several->names.ptr(), changed));
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

bool Guards::touches(const Region& region) const {
  for (const Guard& guard : guards_) {
    const Memory* memory = std::get_if<Memory>(&guard);
    if (memory == nullptr || !PyArray_Check(memory->array.ptr())) continue;
    if (share_memory(region, Region::of(reinterpret_cast<PyArrayObject*>(memory->array.ptr())))) return true;
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
  module.def(
      "set_replacing_type", [](const nb::object& type) { replacing_type = nb::object(type).release().ptr(); },
      nb::arg("type"));
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
      .def("attributes", &Guards::attributes, nb::arg("type"), nb::arg("names"))
      .def("slot", &Guards::slot, nb::arg("object"), nb::arg("descriptor"))
      .def("contents", &Guards::contents, nb::arg("container"))
      .def("instance", &Guards::instance, nb::arg("object"))
      .def("function", &Guards::function, nb::arg("function"))
      .def("memory", &Guards::memory, nb::arg("array"))
      .def("broken", &Guards::broken)
      .def("detail", &Guards::detail, nb::arg("guard"))
      .def("bytes", &Guards::bytes)
      .def("__len__", &Guards::size);
}

}  // namespace tokamak::python
