#pragma once

// One operation in native code, and elements as numbers.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ir/attributes.h"
#include "ir/op.h"
#include "math/ulp.h"
#include "runtime/program.h"

namespace tokamak::exhaustive {

/// An operation on so many elements, compiled as every program is. Any number of threads may run it at once.
class OneOp {
 public:
  OneOp(Op op, std::span<const DType> operands, int64_t length, const Attributes& attributes = {});

  DType result() const { return program_->outputs[0].dtype; }
  int64_t length() const { return program_->outputs[0].shape[0]; }
  /// Operands may lie anywhere, the result at a multiple of 64.
  void run(std::span<const void* const> operands, void* result) const {
    program_->run(operands.data(), dense_.data(), &result);
  }

 private:
  std::shared_ptr<const Program> program_;
  std::vector<const int64_t*> dense_;  ///< no strides
};

/// Bytes that begin at a multiple of 64.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)) {}
  std::byte* data() { return lines_.empty() ? nullptr : lines_.front().bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

/// Elements as doubles; those of i64 and u64 with more than 53 bits are rounded.
void widen(DType dtype, const std::byte* elements, std::span<double> numbers);
/// The element that is nearest to a float.
void put(DType dtype, double number, std::byte* element);

/// Of a dtype of floats.
test::FloatShape shape_of(DType dtype);

}  // namespace tokamak::exhaustive
