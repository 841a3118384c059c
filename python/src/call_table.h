#pragma once

#include "numpy_api.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver/compile.h"
#include "guards.h"
#include "leaf.h"
#include "recipe.h"
#include "tokamak/explanation.h"

namespace tokamak::python {

/// How results are put together. `other` follows a recipe, or calls Python.
enum class OutputForm : uint8_t { one, tuple, list, other };

/// A part of an argument: where its first element is, and for every axis of it the
/// axis of the argument that it goes along, with its step; -1 for an axis of one element. Without starts it
/// is all of the argument.
struct ArgumentPart {
  std::vector<int64_t> starts;
  std::vector<std::pair<int, int64_t>> axes;
};

/// What a function writes to an argument.
struct WrittenPart {
  int argument;
  ArgumentPart part;
  /// All of the argument was computed, but only these parts of it, with their shapes, were written to; none:
  /// all of it.
  std::vector<std::pair<ArgumentPart, std::vector<int64_t>>> places;
  int64_t offset = 0;     ///< in bytes: of its first element in the memory of the argument
  bool in_place = false;  ///< the program may write it there, when that is an ndarray
};

/// One result of a program as the caller gets it.
struct ResultType {
  TensorType type;
  PyArray_Descr* descr;          ///< borrowed: dtypes are never freed
  std::vector<int64_t> strides;  ///< in bytes; empty for a row-major array
  int64_t step = 1;              ///< from one element to the next that the program stores

  /// `order` is that in which its axes lie in memory, `in_memory` what the program makes.
  static ResultType of(const TensorType& in_memory, const AxisOrder& order);

  /// Lets the program store every element `distance` times as far from the first.
  void spread(int64_t distance);
  /// From the first byte that the program stores to behind the last.
  int64_t bytes_in_memory() const;
};

/// A program and what it was compiled for. Counted by hand: all that happens to the count happens under the
/// GIL.
struct Entry {
  std::vector<LeafSpec> specs;
  std::vector<nb::object> statics;  ///< the static arguments of the hot path, compared by identity
  Checks checks = current_checks();
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Explanation> explanation;
  std::vector<ResultType> results;
  nb::object guards;                ///< a Guards, or nothing: what the function took from elsewhere
  const Guards* checked = nullptr;  ///< what `guards` holds
  /// What the function writes to; the last outputs are the new elements.
  std::vector<WrittenPart> written;
  /// For every result the argument that it is, -1 for one that is computed. Empty when all are computed.
  std::vector<int> taken;
  bool has_donated = false;
  bool releases_gil = false;
  OutputForm form = OutputForm::other;
  nb::object
      build;  ///< takes the list of results, gives what the function returned; a Recipe, where possible
  const Recipe* recipe = nullptr;  ///< what `build` holds
  uint64_t used = 0;
  int references = 1;

  void release() {
    if (--references == 0) delete this;
  }
  /// Whether the program is still what the function does.
  bool is_current() {
    if (checked == nullptr) return true;
    ++references;  // comparing may run anything
    const bool current = checked->broken() < 0;
    release();
    return current;
  }
};

/// The programs of one function for one structure of arguments, looked through in turn, the last used first.
///
/// Everything here happens under the GIL, but for the run of a program that is worth letting go of it.
class CallTable {
 public:
  explicit CallTable(size_t capacity) : capacity_(capacity == 0 ? 1 : capacity) {}
  ~CallTable() { clear(); }
  CallTable(const CallTable&) = delete;
  CallTable& operator=(const CallTable&) = delete;

  /// The entry for these arguments; nullptr when there is none. `statics` must be the very objects.
  Entry* find(const Leaf* leaves, size_t count, PyObject* const* statics, size_t static_count);
  void add(Entry* entry);  ///< takes over the reference
  void clear();
  int traverse(visitproc visit, void* arg) const;

  size_t size() const { return entries_.size(); }
  uint64_t hits = 0;
  uint64_t misses = 0;

 private:
  void drop_outdated();

  std::vector<Entry*> entries_;
  size_t capacity_;
  uint64_t clock_ = 0;
};

/// Runs the program of `entry`. Results are ndarrays (NumPy scalars for rank 0) or tokamak.Arrays.
/// A new reference, or nullptr with the Python error set.
PyObject* run_entry(Entry& entry, const Leaf* leaves, size_t count, bool as_arrays) noexcept;

}  // namespace tokamak::python
