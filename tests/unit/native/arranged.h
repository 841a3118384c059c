#pragma once

// Arrays that lie in memory in every way a caller may hand them over.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "ir/layout.h"
#include "ir/tensor.h"

namespace tokamak::testing {

enum class Arrangement : uint8_t {
  dense,       ///< row-major, 64-byte aligned
  unaligned,   ///< row-major, at an odd address, its last byte the last one that may be read
  gapped,      ///< rows without gaps inside, gaps between them: x[:, :n]
  stepped,     ///< every axis sliced with a step: x[::2, ::3]
  transposed,  ///< the first axis runs fastest
  reversed,    ///< every stride negative
  flipped,     ///< only the last axis runs backwards
  stretched,   ///< the last axis, and every second before it, has stride 0
  repeated,    ///< the first axis, and every second after it, has stride 0
  permuted,    ///< the two last axes swapped, with a gap, the first one backwards
};
inline constexpr Arrangement kArrangements[] = {
    Arrangement::dense,      Arrangement::unaligned, Arrangement::gapped,  Arrangement::stepped,
    Arrangement::transposed, Arrangement::reversed,  Arrangement::flipped, Arrangement::stretched,
    Arrangement::repeated,   Arrangement::permuted};
std::string_view name_of(Arrangement arrangement);

/// Memory between two pages that fault when touched.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* begin() const { return begin_; }
  std::byte* end() const { return begin_ + size_; }  ///< of the last readable page

 private:
  std::byte* begin_;
  size_t size_;
};

/// An argument: where its elements are, and what they are.
struct Arranged {
  std::shared_ptr<GuardedMemory> memory;
  const std::byte* data = nullptr;  ///< the element whose index is all zeros
  std::vector<int64_t> strides;     ///< in bytes
  Tensor logical;                   ///< the elements, dense: what the interpreter is to see

  Layout layout() const { return Layout::of(logical.type(), strides.data()); }
};

/// Lays `tensor` out. Where a stride is 0 the elements are those of index 0 of that axis. Bytes that belong
/// to no element hold junk.
Arranged arrange(const Tensor& tensor, Arrangement arrangement);

}  // namespace tokamak::testing
