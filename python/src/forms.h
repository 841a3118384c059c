#pragma once

// The form of a call: how its arguments are made up of containers, objects and what is part of the program.
//
// _tree.py takes arguments apart into leaves and a structure; calls with equal structures share a table of
// programs. A form does the same for calls like one that has been seen before, and runs no Python code: it
// looks whether the arguments would be taken apart into that structure, and collects the leaves. Where it is
// not sure it says no, and Python takes the call apart.

#include "numpy_api.h"

#include <memory>
#include <span>
#include <vector>

#include "call_table.h"
#include "changes.h"
#include "part.h"

namespace tokamak::python {

class Form {
 public:
  /// Descriptions of the positional arguments; the names of keywords as they are given, and in the order in
  /// which leaves are taken which of them it is, and its description.
  /// Where `distinct`, no array may be there twice, but for parts that say so.
  Form(const nb::list& positional, const nb::list& names, const nb::list& named, const nb::object& table,
       bool distinct);
  bool matches(const CallArguments& call, Found& found) const;
  bool has_names(PyObject* names) const;
  size_t leaf_count() const { return leaf_count_; }
  CallTable& table() const { return *table_; }
  const nb::object& owner() const { return owner_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  std::vector<Part> positional_;
  std::vector<nb::object> names_;
  std::vector<std::pair<size_t, Part>> named_;
  nb::object owner_;  ///< the Python object that holds the table
  CallTable* table_;
  size_t leaf_count_ = 0;
  bool distinct_;
};

/// The forms of the calls of one function, the last used first.
class Forms {
 public:
  Forms(size_t capacity, const nb::object& changed, const nb::object& container)
      : capacity_(capacity), changes_{changed, container} {}

  /// The result of a call, or nullptr with the Python error set; false when no program is known for it.
  bool call(const CallArguments& call, PyObject*& result);
  void add(const nb::list& positional, const nb::list& names, const nb::list& named, const nb::object& table,
           bool distinct);
  /// The leaves that a form of this table finds in a call; None when there is no such form.
  nb::object leaves_of(const nb::object& table, const nb::tuple& args, const nb::dict& kwargs) const;
  void drop(const nb::object& table);  ///< forgets the forms of this table
  void clear();
  size_t size() const { return forms_.size(); }
  int traverse(visitproc visit, void* arg) const;

 private:
  std::vector<std::shared_ptr<const Form>> forms_;
  size_t capacity_;
  Changes changes_;
};

void bind_forms(nb::module_& module);

}  // namespace tokamak::python
