#pragma once

// Sorting lines of elements: the work under sort and argsort.
//
// Elements become keys, signed integers in the same order, of 32 bits or 64: a float's bits with the
// magnitude of negative ones turned round, all NaNs as one key above infinity. Keys are sorted in registers
// (sort_kernels.h), and become elements again. Of equal keys nobody can tell which is which; -0.0 has a key
// below that of 0.0.
//
// For positions, a key has the position of its element in the lowest bits, so that no two are equal and
// sorting them is stable. As much of the element's order as fits goes above; elements that agree in that are
// told apart afterwards. There -0.0 and 0.0 are equal.
//
// Everything here runs on the calling thread. One long line may be sorted by several: its parts are loaded,
// divided, sorted and stored apart from each other.

#include <cstdint>
#include <memory>

#include "support/cpu.h"
#include "tokamak/types.h"

namespace tokamak {

enum class SortResult : uint8_t { values, positions };

/// A line in memory: element i is at data + i * stride (bytes).
struct SortLine {
  const void* data;
  int64_t stride;
};

/// Neighbouring lines: line j is `line_stride` bytes times j further on, and so is its result.
struct SortLines {
  SortLine first;
  int64_t line_stride;
  void* result;
  int64_t result_stride;
  int64_t result_line_stride;
  int64_t count;
};

/// The places of a sorted line that are asked for: [first, last).
struct SortWindow {
  int64_t first;
  int64_t last;
};

/// Lines that are sorted together, at most.
inline constexpr int64_t kMaxSortLines = 16;

/// The least and the greatest order of elements.
struct KeyRange {
  int64_t least;
  int64_t greatest;
};
inline constexpr KeyRange kNoRange = {INT64_MAX, INT64_MIN};  ///< of no elements
inline KeyRange joined(const KeyRange& a, const KeyRange& b) {
  return {a.least < b.least ? a.least : b.least, a.greatest > b.greatest ? a.greatest : b.greatest};
}

/// How lines of one length and type are sorted on one processor.
class SortMethod {
 public:
  SortMethod(int64_t length, const SortWindow& window) : length_(length), window_(window) {}
  virtual ~SortMethod() = default;

  /// Bytes of a key. Results whose elements have the same size, and are neighbours, hold the keys meanwhile,
  /// if there is one for each.
  virtual int64_t key_bytes() const = 0;
  virtual int64_t result_bytes() const = 0;
  bool sorts_all() const { return window_.first == 0 && window_.last == length_; }
  bool sorts_in_result(int64_t result_stride) const {
    return result_stride == key_bytes() && result_bytes() == key_bytes() && sorts_all();
  }
  const SortWindow& window() const { return window_; }

  /// At most kMaxSortLines. `keys` has room for the keys of all lines, unless they are sorted in the result.
  virtual void sort(const SortLines& lines, void* keys) const = 0;

  // The parts of sorting one line, in order. Ranges of elements are [first, last).

  /// Of part of a line; loading and sorting want that of all of it.
  virtual KeyRange range(const SortLine& line, int64_t first, int64_t last) const = 0;
  /// Writes the keys of those elements, to their places in `keys`.
  virtual void load(const SortLine& line, const KeyRange& range, int64_t first, int64_t last,
                    void* keys) const = 0;
  /// Divides keys [first, last) into lower and higher ones, and gives where the higher begin; `first` if they
  /// may as well stay together.
  virtual int64_t divide(void* keys, int64_t first, int64_t last) const = 0;
  /// Sorts keys [first, last), which are one of the parts, as far as they are in the window.
  virtual void sort_part(const SortLine& line, const KeyRange& range, void* keys, int64_t first,
                         int64_t last) const = 0;
  /// Writes those results from their keys, which are in the window: the first of that to `result`.
  virtual void store(const void* keys, int64_t first, int64_t last, void* result, int64_t stride) const = 0;

  /// "quicksort avx2", for reports.
  virtual const char* name() const = 0;

 protected:
  int64_t length_;
  SortWindow window_;
};

std::unique_ptr<const SortMethod> choose_sort_method(DType dtype, SortResult result, int64_t length,
                                                     const SortWindow& window, const Cpu& cpu);

}  // namespace tokamak
