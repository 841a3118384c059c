#pragma once

// Sorting of signed integers in memory, compiled once for every processor level that has its own code for it.
// As for products (kernels.h), the files of a level include no header with inline functions.

#include <cstdint>

namespace tokamak {

template <class Key>
struct KeyKernels {
  /// Puts those keys into places [first, last) that sorting would put there, in order; others where they do
  /// not matter, but on their side.
  void (*sort)(Key* keys, int64_t count, int64_t first, int64_t last);
  /// Moves the lower keys to the front, and gives how many there are: about half, as far as a sample can
  /// tell; 0 when there is nothing to divide. Keys that differ only in bits outside `mask` (its lowest bits)
  /// stay on one side.
  int64_t (*divide)(Key* keys, int64_t count, Key mask);
};

struct SortKernels {
  const char* name;
  KeyKernels<int32_t> narrow;
  KeyKernels<int64_t> wide;
};

extern const SortKernels kSortPlain;  ///< for any processor
extern const SortKernels kSortX86_64V3;
extern const SortKernels kSortX86_64V4;

}  // namespace tokamak
