#pragma once

// Sums of products of arrays whose axes have names: what every function of src/trace/contract.cpp and einsum
// is.

#include <source_location>
#include <vector>

#include "tokamak/array.h"

namespace tokamak {

/// Equal names are one index of a sum of products.
using Names = std::vector<int>;

/// An array and the names of its axes, which are distinct.
struct Named {
  Array array;
  Names names;
};

bool has_name(const Names& names, int name);

/// `x` with its axes in the order of `names`, summed over those that `names` lacks.
///   f32[4,5] {i,j} to {j}  =>  reduce_sum {axes=[0]}
Named summed_to(const Named& x, const Names& names, const std::source_location& where);

/// The product of two arrays of one dtype, summed over the names that are not in `result`: one dot, and a
/// transpose where its axes come in another order. Where nothing is summed over both it is a plain product.
/// An extent of 1 stretches, and is left out of the operand that has it: a batch axis that only one of them
/// has is a free axis of that one.
///   f32[8,4,16] {b,m,k}, f32[16,5] {k,n} to {b,m,n}  =>
///   dot {lhs_batch=[], rhs_batch=[], lhs_contract=[2], rhs_contract=[0]}
Array contract(const Named& a, const Named& b, const Names& result, const std::source_location& where);

/// The order of names that takes no transpose: of both, of the first, of the second, without those that are
/// not in `kept`.
Names natural_names(const Named& a, const Named& b, const Names& kept);

}  // namespace tokamak
