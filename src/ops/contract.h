#pragma once

#include "ops/record.h"

namespace tokamak {

/// The axes of a dot, by what becomes of them. `lhs` and `rhs` name axes of the operands; the result has the
/// batch axes, then the free axes of the first operand, then those of the second.
struct DotAxes {
  Ints lhs_batch, lhs_free, lhs_contract;
  Ints rhs_batch, rhs_free, rhs_contract;
};
DotAxes dot_axes(const Attributes& attributes, int64_t lhs_rank, int64_t rhs_rank);

/// The product of the extents of some axes of a shape.
int64_t extent_of(const Shape& shape, const Ints& axes);

/// Whether products convert as they read: exactly, and to what they sum in anyway.
inline bool is_read_by_products(DType from, DType to) {
  return ((from == DType::f16 || from == DType::bf16) && to == DType::f32) ||
         (from == DType::f32 && to == DType::f64);
}

/// Whether threads have enough to share when each row of a product, of so many multiplications in all, is the
/// work of one; or there is so little that one thread does it all.
bool leaves_rows_to_threads(int64_t rows, int64_t multiplications);

namespace rules {

TensorType dot(const TypeContext& context);

inline constexpr OpRecord kContractions[] = {
    {.op = Op::dot,
     .dtypes = DTypes::any,
     .type = dot,
     .attributes = attr_set({Attr::lhs_batch, Attr::rhs_batch, Attr::lhs_contract, Attr::rhs_contract})},
};

}  // namespace rules
}  // namespace tokamak
