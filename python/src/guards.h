#pragma once

#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "shared_memory.h"

namespace tokamak::python {

namespace nb = nanobind;

/// What a traced function took from outside its arguments: places, and what was there.
///
/// A program is what the function does as long as all of them hold. They are looked at in every call, so that
/// they are few machine instructions each, and run no Python code. Values are the same when they are the same
/// object, or equal numbers or text.
class Guards {
 public:
  // Each notes what is at a place now, and gives the number of the guard.
  size_t item(const nb::dict& owner, const nb::object& key);            ///< a global, an attribute
  size_t cell(const nb::object& cell);                                  ///< a variable of a closure
  size_t attributes(const nb::object& type, const nb::tuple& names);    ///< of a class and its bases
  size_t slot(const nb::object& object, const nb::object& descriptor);  ///< of an instance with __slots__
  size_t contents(const nb::object& container);                         ///< of a list, dict, set or deque
  size_t instance(const nb::object& object);    ///< which class it has, and which dict of attributes
  size_t function(const nb::object& function);  ///< its code and its defaults
  size_t memory(const nb::object& array);       ///< the elements of an array, or other bytes

  /// The number of the first that does not hold; -1 when all do.
  int64_t broken() const noexcept;
  /// Which attribute it is that is not what it was, for a guard of several; None for others.
  nb::object detail(size_t guard) const;
  size_t size() const { return guards_.size(); }
  /// Of the arrays that are kept alive.
  size_t bytes() const;
  /// Whether some array that the function took from elsewhere shares memory with another.
  bool touches(const Region& region) const;

  int traverse(visitproc visit, void* arg) const;
  void clear();

  struct Item {
    nb::object owner, key, value;
  };
  struct Cell {
    nb::object cell, value;
  };
  struct Attributes {
    nb::object type;
    nb::tuple names;
    std::vector<nb::object> values;  ///< null where there was none
    mutable uint32_t version;        ///< of the class, when they were last found to hold; 0 for not known
  };
  struct Slot {
    nb::object object, descriptor, value;
  };
  struct Contents {
    nb::object container;
    std::vector<nb::object> parts;  ///< items; keys and values in turn; a copy of a set
  };
  struct Instance {
    nb::object object, type, dict;
  };
  struct Function {
    nb::object function, code, defaults, keyword_defaults;
  };
  struct Memory {
    nb::object array;
    uint64_t hash;
    bool frozen;  ///< nobody can write to it, ever
  };
  using Guard = std::variant<Item, Cell, Attributes, Slot, Contents, Instance, Function, Memory>;

 private:
  template <class G>
  size_t add(G guard) {
    guards_.emplace_back(std::move(guard));
    return guards_.size() - 1;
  }

  std::vector<Guard> guards_;
};

void bind_guards(nb::module_& module);

}  // namespace tokamak::python
