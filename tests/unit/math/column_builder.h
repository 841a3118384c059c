#pragma once

// A ScalarBuilder that computes at once, on a block of elements: the straightest reading of what each
// operation means.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>

#include "ops/scalar_builder.h"

namespace tokamak::test {

inline constexpr size_t kBlock = 512;

class ColumnBuilder final : public ScalarBuilder {
 public:
  explicit ColumnBuilder(bool fma, bool scale = false) : fma_(fma), scale_(scale) {}

  /// Forgets all columns.
  void reset() { used_ = 0; }

  template <typename T>
  Scalar input(Lane lane, std::span<const T> values) {
    Scalar result = make(lane);
    std::memcpy(data<T>(result), values.data(), values.size_bytes());
    return result;
  }

  template <typename T>
  std::span<const T> output(Scalar value) const {
    return {data<T>(value), kBlock};
  }

  /// How many operations were made: a rough count of instructions.
  size_t operations() const { return operations_; }
  void reset_operations() { operations_ = 0; }

  using ScalarBuilder::prim;
  Lane lane(Scalar value) const override { return columns_[index(value)].lane; }
  bool has_fma() const override { return fma_; }
  bool has_scale() const override { return scale_; }
  Scalar constant_bits(Lane lane, uint64_t bits) override;
  Scalar prim(Prim prim, std::span<const Scalar> operands) override;
  Scalar cast(Cast cast, Scalar value, Lane to) override;
  Scalar call(const LibmFunction& function, std::span<const Scalar> operands) override;
  Scalar lookup(const LookupTable& table, Scalar index) override;
  Scalar unlikely(Scalar rare, Scalar usual, const std::function<Scalar()>& unusual) override;

 private:
  struct Column {
    Lane lane;
    alignas(64) std::array<unsigned char, kBlock * 8> bytes;
  };

  static size_t index(Scalar value) { return static_cast<size_t>(value); }
  Scalar make(Lane lane);
  template <typename T>
  T* data(Scalar value) {
    return reinterpret_cast<T*>(columns_[index(value)].bytes.data());
  }
  template <typename T>
  const T* data(Scalar value) const {
    return reinterpret_cast<const T*>(columns_[index(value)].bytes.data());
  }
  template <typename T>
  Scalar float_prim(Prim prim, std::span<const Scalar> operands);
  template <typename T>
  Scalar integer_prim(Prim prim, std::span<const Scalar> operands);
  template <typename T>
  Scalar choose(std::span<const Scalar> operands);
  template <typename From, typename To>
  Scalar convert(Scalar value, Lane to);

  bool fma_;
  bool scale_;
  size_t used_ = 0;
  size_t operations_ = 0;
  std::deque<Column> columns_;
};

}  // namespace tokamak::test
