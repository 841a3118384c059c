#pragma once

#include "numpy_api.h"

#include <cstdint>
#include <utility>

namespace tokamak::python {

struct Leaf;

/// Where the elements of an array lie.
struct Region {
  const char* data;
  int rank;
  const int64_t* shape;
  const int64_t* strides;  ///< in bytes
  int64_t bytes;           ///< of an element

  static Region of(const Leaf& leaf);
  static Region of(PyArrayObject* array);
  /// The first byte, and the one after the last. Two times the same of an array without elements.
  std::pair<const char*, const char*> extent() const;
};

/// Whether two arrays have a byte in common. What lies between the elements of an array is not its own: the
/// columns of a matrix are apart. True also in the rare case that it would take too long to tell.
bool share_memory(const Region& one, const Region& other);

}  // namespace tokamak::python
