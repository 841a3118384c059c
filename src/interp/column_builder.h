#pragma once

#include <cstddef>
#include <vector>

#include "ir/tensor.h"
#include "ops/scalar_builder.h"

namespace tokamak {

/// Elements of one lane type, dense. An i1 takes a byte, 0 or 1.
struct Column {
  Lane lane = Lane::i1;
  size_t size = 0;
  std::vector<std::byte> bytes;

  Column() = default;
  Column(Lane lane, size_t size);

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

size_t bytes_of(Lane lane);

/// The elements of `tensor` at those positions, as lanes.
Column load(const Tensor& tensor, const std::vector<int64_t>& positions);
/// Writes the lanes to consecutive elements of `tensor` from `first` on. Lanes of f16 and bf16 are rounded
/// already.
void store(const Column& column, Tensor& tensor, int64_t first);

/// Entries `positions` of a column.
Column take(const Column& column, const std::vector<int64_t>& positions);

/// Runs scalar code at once on `size` elements: a Scalar is a whole column.
class ColumnBuilder : public ScalarBuilder {
 public:
  ColumnBuilder(size_t size, bool fused_multiply_add)
      : size_(size), fused_multiply_add_(fused_multiply_add) {}

  Scalar put(Column column);
  const Column& column(Scalar value) const { return columns_[static_cast<size_t>(value)]; }

  using ScalarBuilder::prim;
  Lane lane(Scalar value) const override { return column(value).lane; }
  bool has_fma() const override { return fused_multiply_add_; }
  Scalar constant_bits(Lane lane, uint64_t bits) override;
  Scalar prim(Prim prim, std::span<const Scalar> operands) override;
  Scalar cast(Cast cast, Scalar value, Lane to) override;
  Scalar call(const LibmFunction& function, std::span<const Scalar> operands) override;
  Scalar lookup(const LookupTable& table, Scalar index) override;
  Scalar unlikely(Scalar rare, Scalar usual, const std::function<Scalar()>& unusual) override;

 private:
  size_t size_;
  bool fused_multiply_add_;
  std::vector<Column> columns_;
};

}  // namespace tokamak
