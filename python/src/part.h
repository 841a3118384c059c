#pragma once

#include "numpy_api.h"

#include <memory>
#include <vector>

#include "leaf.h"

namespace tokamak::python {

/// What is found while a form looks at a call.
struct Found {
  explicit Found(size_t leaf_count);
  ~Found();
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;

  void add_leaf();  ///< the one that was read last, and keeps its object alive
  Leaf& next_leaf() { return leaves[count]; }
  bool is_open(PyObject* instance) const;
  bool enter(PyObject* container);  ///< notes it; false when the call has led to it before
  PyObject* met(size_t i) const { return i < kFewLeaves ? few_met[i] : more_met[i - kFewLeaves]; }
  bool are_leaves_distinct() const;  ///< whether no array is there twice
  bool are_many_leaves_distinct() const;

  static constexpr size_t kFewLeaves = 24;
  static constexpr size_t kMostOpen = 64;
  Leaf few[kFewLeaves];
  std::unique_ptr<Leaf[]> many;
  Leaf* leaves;
  size_t count = 0;
  bool has_arrays = false;       ///< tokamak.Arrays are among the leaves: results are, too
  std::vector<nb::object> made;  ///< what leaves point into
  PyObject* open[kMostOpen];     ///< the instances whose attributes are being looked at, outermost first
  size_t open_count = 0;
  size_t met_count = 0;  ///< the lists, dicts and instances that were entered, in order
  PyObject* few_met[kFewLeaves];
  std::vector<PyObject*> more_met;
  size_t held_depth = 0;  ///< inside of what is part of the program, nothing is noted
};

/// One argument, or a part of one.
class Part {
 public:
  enum class Kind : uint8_t {
    leaf,      ///< an array or a number
    array,     ///< an array, not one of Python's numbers
    number,    ///< one of Python's numbers, of this very type
    opaque,    ///< of this very type; not collected
    same,      ///< this very object
    equal,     ///< this value
    function,  ///< a function without variables of its own that was made by the same code
    held,      ///< this very object, as long as it is made up as it was: its only part says how
    tuple,     ///< of this very type, which may be that of named tuples
    list,
    dict,
    ordered_dict,
    default_dict,  ///< with this factory; its only slot is its type
    partial,       ///< its parts: function, arguments, keywords
    object,     ///< an instance of a class: its parts are the values of `keys` in its dict, then those of its
                ///< slots
    again,      ///< the instance that is `open` there
    absent,     ///< a slot that is not set
    seen,       ///< the container that was `met` there
    same_leaf,  ///< the array that is the leaf there
  };

  /// Of a description (kind, value, keys, slots, parts), as _forms.py makes it.
  static Part of(nb::handle description);
  bool matches(PyObject* value, Found& found) const;
  size_t leaf_count() const;
  int traverse(visitproc visit, void* arg) const;

 private:
  bool matches_leaf(PyObject* value, Found& found) const;
  bool matches_function(PyObject* value) const;
  bool matches_held(PyObject* value, Found& found) const;
  bool matches_tuple(PyObject* tuple, Found& found) const;
  bool matches_list(PyObject* list, Found& found) const;
  bool matches_dict(PyObject* dict, Found& found) const;
  bool matches_ordered_dict(PyObject* dict, Found& found) const;
  bool matches_default_dict(PyObject* dict, Found& found) const;
  bool matches_partial(PyObject* partial, Found& found) const;
  bool matches_object(PyObject* instance, Found& found) const;
  bool matches_slots(PyObject* instance, Found& found) const;
  bool has_type(PyObject* object) const {
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == value_.ptr();
  }

  Kind kind_;
  nb::object value_;  ///< a type, an object, a number: what the kind says
  std::vector<nb::object> keys_;
  std::vector<nb::object> slots_;  ///< descriptors
  std::vector<Part> parts_;
  size_t position_ = 0;    ///< of `again`, `seen` and `same_leaf`
  bool has_dict_ = false;  ///< of `object`
};

}  // namespace tokamak::python
