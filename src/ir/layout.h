#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tokamak/types.h"

namespace tokamak {

/// How an argument lies in memory, as far as generated code depends on it. Two arguments of the same type and
/// layout can use the same program; strides marked `other` are read at run time.
struct Layout {
  enum class Axis : uint8_t { zero, unit, other };  ///< stride 0, one element, anything else (negative too)

  bool dense = true;       ///< row-major without gaps; then `axes` is empty
  std::vector<Axis> axes;  ///< otherwise one per axis

  /// `strides` in bytes; axes of extent 1 count as whatever makes the layout simplest.
  static Layout of(const TensorType& type, const int64_t* strides);
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Byte strides of a dense row-major array.
std::vector<int64_t> dense_strides(const TensorType& type);

/// The bytes that an array of at least one element touches, counted from its first.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};
ByteRange byte_range(const TensorType& type, const int64_t* strides);

/// Copies an array, of any strides in bytes, to dense memory.
void copy_to_dense(const TensorType& type, const std::byte* from, const int64_t* strides, void* to);

/// What is known of the strides, in elements: "(any, 1)".
std::string strides_text(const Layout& layout);

}  // namespace tokamak
