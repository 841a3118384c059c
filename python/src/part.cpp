#include "part.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "same_value.h"
#include "trace/array_impl.h"

namespace tokamak::python {
namespace {

constexpr std::array<std::string_view, 19> kKinds = {
    "leaf",   "array", "number", "opaque", "same",         "equal",        "function",
    "held",   "tuple", "list",   "dict",   "ordered_dict", "default_dict", "partial",
    "object", "again", "absent", "seen",   "same_leaf"};

Part::Kind kind_named(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name);
  if (found == kKinds.end()) throw nb::value_error("no such kind of part");
  return static_cast<Part::Kind>(found - kKinds.begin());
}

/// An attribute that is a member of a C struct: no Python code runs.
nb::object member(PyObject* object, PyObject* name) {
  PyObject* found = PyObject_GetAttr(object, name);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

bool is_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object);
}

/// Not a number, of which there may be one object for all that are equal.
bool is_array(const Leaf& leaf) { return leaf.weak == Weak::none && !leaf.scalar; }

}  // namespace

// -- What is found

Found::Found(size_t leaf_count) : leaves(few) {
  if (leaf_count <= kFewLeaves) return;
  many = std::make_unique<Leaf[]>(leaf_count);
  leaves = many.get();
}

Found::~Found() {
  for (size_t i = 0; i < count; ++i) Py_DECREF(leaves[i].object);
}

void Found::add_leaf() {
  Py_INCREF(leaves[count].object);
  ++count;
}

bool Found::enter(PyObject* container) {
  if (held_depth > 0) return true;
  for (size_t i = 0; i < met_count; ++i) {
    if (met(i) == container) return false;
  }
  if (met_count < kFewLeaves) {
    few_met[met_count] = container;
  } else {
    more_met.push_back(container);
  }
  ++met_count;
  return true;
}

bool Found::are_leaves_distinct() const {
  if (count > kFewLeaves) return are_many_leaves_distinct();
  for (size_t i = 1; i < count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (leaves[i].object == leaves[k].object && is_array(leaves[i])) return false;
    }
  }
  return true;
}

bool Found::are_many_leaves_distinct() const {
  std::vector<PyObject*> arrays;
  arrays.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (is_array(leaves[i])) arrays.push_back(leaves[i].object);
  }
  std::ranges::sort(arrays);
  return std::ranges::adjacent_find(arrays) == arrays.end();
}

bool Found::is_open(PyObject* instance) const {
  return std::find(open, open + open_count, instance) != open + open_count;
}

// -- Parts

Part Part::of(nb::handle description) {
  const auto [kind, value, keys, slots, parts] = std::array<nb::object, 5>{
      description[0], description[1], description[2], description[3], description[4]};
  Part made;
  made.kind_ = kind_named(nb::cast<nb::str>(kind).c_str());
  made.value_ = value;
  if (made.kind_ == Kind::again || made.kind_ == Kind::seen || made.kind_ == Kind::same_leaf)
    made.position_ = nb::cast<size_t>(value);
  if (made.kind_ == Kind::object) made.has_dict_ = !keys.is_none();
  if (!keys.is_none()) {
    for (nb::handle key : keys) made.keys_.push_back(nb::borrow(key));
  }
  for (nb::handle slot : slots) made.slots_.push_back(nb::borrow(slot));
  for (nb::handle part : parts) made.parts_.push_back(of(part));
  return made;
}

size_t Part::leaf_count() const {
  if (kind_ == Kind::leaf || kind_ == Kind::array || kind_ == Kind::number) return 1;
  size_t count = 0;
  for (const Part& part : parts_) count += part.leaf_count();
  return count;
}

int Part::traverse(visitproc visit, void* arg) const {
  Py_VISIT(value_.ptr());
  for (const nb::object& key : keys_) Py_VISIT(key.ptr());
  for (const nb::object& slot : slots_) Py_VISIT(slot.ptr());
  for (const Part& part : parts_) {
    if (const int stopped = part.traverse(visit, arg)) return stopped;
  }
  return 0;
}

bool Part::matches(PyObject* value, Found& found) const {
  switch (kind_) {
    case Kind::leaf:
      return matches_leaf(value, found);
    case Kind::array:
      return !is_number(value) && matches_leaf(value, found);
    case Kind::number:
      return has_type(value) && matches_leaf(value, found);
    case Kind::opaque:
      return has_type(value);
    case Kind::same:
      return value == value_.ptr();
    case Kind::equal:
      return same_static(value, value_.ptr());
    case Kind::function:
      return matches_function(value);
    case Kind::held:
      return matches_held(value, found);
    case Kind::tuple:
      return has_type(value) && matches_tuple(value, found);
    case Kind::list:
      return PyList_CheckExact(value) && found.enter(value) && matches_list(value, found);
    case Kind::dict:
      return PyDict_CheckExact(value) && found.enter(value) && matches_dict(value, found);
    case Kind::ordered_dict:
      return PyODict_CheckExact(value) && found.enter(value) && matches_ordered_dict(value, found);
    case Kind::default_dict:
      return found.enter(value) && matches_default_dict(value, found);
    case Kind::partial:
      return has_type(value) && matches_partial(value, found);
    case Kind::object:
      return has_type(value) && found.enter(value) && matches_object(value, found);
    case Kind::again:
      return position_ < found.open_count && found.open[position_] == value;
    case Kind::absent:
      return false;
    case Kind::seen:
      return position_ < found.met_count && found.met(position_) == value;
    case Kind::same_leaf:
      return position_ < found.count && found.leaves[position_].object == value;
  }
  return false;
}

bool Part::matches_held(PyObject* value, Found& found) const {
  if (value != value_.ptr()) return false;
  ++found.held_depth;
  const bool is_as_it_was = parts_[0].matches(value, found);
  --found.held_depth;
  return is_as_it_was;
}

/// Arrays of other traces and those that were given away are left to Python, which says what is wrong.
bool Part::matches_leaf(PyObject* value, Found& found) const {
  Leaf& leaf = found.next_leaf();
  if (!read_fast(value, leaf)) {
    const PythonArray* array = as_python_array(value);
    if (array != nullptr) {
      if (array->is_constant || array->array.is_traced() || array->array.impl().is_donated()) return false;
      found.has_arrays = true;
    }
    if (!read_any(value, leaf, found.made)) return false;
  }
  found.add_leaf();
  return true;
}

bool Part::matches_function(PyObject* value) const {
  return PyFunction_Check(value) && PyFunction_GET_CODE(value) == PyFunction_GET_CODE(value_.ptr()) &&
         PyFunction_GET_GLOBALS(value) == PyFunction_GET_GLOBALS(value_.ptr()) &&
         PyFunction_GET_CLOSURE(value) == nullptr && PyFunction_GET_DEFAULTS(value) == nullptr &&
         PyFunction_GET_KW_DEFAULTS(value) == nullptr;
}

bool Part::matches_tuple(PyObject* tuple, Found& found) const {
  if (static_cast<size_t>(PyTuple_GET_SIZE(tuple)) != parts_.size()) return false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].matches(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i)), found)) return false;
  }
  return true;
}

// Containers may be changed by whoever runs while memory is allocated: what is looked at is kept alive.

bool Part::matches_list(PyObject* list, Found& found) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (static_cast<size_t>(PyList_GET_SIZE(list)) != parts_.size()) return false;
    const nb::object item = nb::borrow(PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i)));
    if (!parts_[i].matches(item.ptr(), found)) return false;
  }
  return static_cast<size_t>(PyList_GET_SIZE(list)) == parts_.size();
}

bool Part::matches_dict(PyObject* dict, Found& found) const {
  if (static_cast<size_t>(PyDict_GET_SIZE(dict)) != keys_.size()) return false;
  Py_ssize_t position = 0;
  PyObject *key, *value;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!PyDict_Next(dict, &position, &key, &value) || !same_value(key, keys_[i].ptr())) return false;
    const nb::object held = nb::borrow(value);
    if (!parts_[i].matches(value, found)) return false;
  }
  return true;
}

/// Its order is its own, not that of the dict inside.
bool Part::matches_ordered_dict(PyObject* dict, Found& found) const {
  if (static_cast<size_t>(PyDict_GET_SIZE(dict)) != keys_.size()) return false;
  const nb::object iterator = nb::steal(PyObject_GetIter(dict));
  for (size_t i = 0; iterator.is_valid() && i < keys_.size(); ++i) {
    const nb::object key = nb::steal(PyIter_Next(iterator.ptr()));
    if (!key.is_valid() || !same_value(key.ptr(), keys_[i].ptr())) break;
    const nb::object value = nb::borrow(PyDict_GetItemWithError(dict, key.ptr()));
    if (!value.is_valid() || !parts_[i].matches(value.ptr(), found)) break;
    if (i + 1 == keys_.size()) return true;
  }
  PyErr_Clear();
  return keys_.empty();
}

bool Part::matches_default_dict(PyObject* dict, Found& found) const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(dict)) != slots_[0].ptr()) return false;
  static PyObject* const factory = PyUnicode_InternFromString("default_factory");
  return member(dict, factory).is(value_) && matches_dict(dict, found);
}

bool Part::matches_partial(PyObject* partial, Found& found) const {
  static PyObject* const names[] = {PyUnicode_InternFromString("func"), PyUnicode_InternFromString("args"),
                                    PyUnicode_InternFromString("keywords")};
  for (size_t i = 0; i < parts_.size(); ++i) {
    const nb::object held = member(partial, names[i]);
    if (!held.is_valid()) return false;
    const bool is_keywords = i == 2;  // a dict of its own
    if (is_keywords ? !PyDict_CheckExact(held.ptr()) || !parts_[i].matches_dict(held.ptr(), found)
                    : !parts_[i].matches(held.ptr(), found))
      return false;
  }
  return true;
}

bool Part::matches_object(PyObject* instance, Found& found) const {
  if (found.open_count == Found::kMostOpen || found.is_open(instance)) return false;
  found.open[found.open_count++] = instance;
  if (has_dict_) {
    const nb::object dict = nb::steal(PyObject_GenericGetDict(instance, nullptr));
    if (!dict.is_valid()) PyErr_Clear();
    if (!dict.is_valid() || !PyDict_CheckExact(dict.ptr()) || !matches_dict(dict.ptr(), found)) return false;
  }
  if (!matches_slots(instance, found)) return false;
  --found.open_count;
  return true;
}

bool Part::matches_slots(PyObject* instance, Found& found) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    PyObject* descriptor = slots_[i].ptr();
    const nb::object value = nb::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, instance, value_.ptr()));
    if (!value.is_valid()) PyErr_Clear();
    const Part& part = parts_[keys_.size() + i];
    if (value.is_valid() ? !part.matches(value.ptr(), found) : part.kind_ != Kind::absent) return false;
  }
  return true;
}

}  // namespace tokamak::python
