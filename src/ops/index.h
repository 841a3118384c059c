#pragma once

#include "ops/record.h"

namespace tokamak::rules {

TensorType pad(const TypeContext& context);
TensorType concatenate(const TypeContext& context);
TensorType gather(const TypeContext& context);
TensorType scatter(const TypeContext& context);
TensorType dynamic_slice(const TypeContext& context);
TensorType dynamic_update_slice(const TypeContext& context);

/// A kernel joins no more pieces of a concatenation than this, where it need not: its code has a part for
/// each, and takes longer and longer to compile; or it asks at every element in which of several that lies.
inline constexpr size_t kMostPieces = 32;

/// The op that joins an update to what is there, named by scatter's `combine`; none for "set", and for words
/// that are no way to combine.
std::optional<Op> combining_op(Word combine);

/// Whether running the node may end in an error: it checks its indices.
bool may_fail(const Node& node);

/// Whether a gather or scatter has indices to check but no elements: then no element's code does it. It has a
/// kernel of its own, which does nothing else.
///   %0 = gather %x, %i {axis=1, mode=check}    of %x: f32[0,37], %i: i64[3]
bool only_checks(const Graph& graph, const Node& node);

/// What is wrong when a checked index of a gather or scatter is not below `extent`.
UserError out_of_range(const Node& node, int64_t extent);

inline constexpr OpRecord kIndexing[] = {
    {.op = Op::pad,
     .dtypes = DTypes::any,
     .type = pad,
     .attributes = attr_set({Attr::low, Attr::high, Attr::interior})},
    {.op = Op::concatenate, .dtypes = DTypes::any, .type = concatenate, .attributes = attr_set({Attr::axis})},
    {.op = Op::gather,
     .dtypes = DTypes::any,
     .type = gather,
     .attributes = attr_set({Attr::axis, Attr::mode})},
    {.op = Op::scatter,
     .dtypes = DTypes::any,
     .type = scatter,
     .attributes = attr_set({Attr::axis, Attr::mode, Attr::combine})},
    {.op = Op::dynamic_slice,
     .dtypes = DTypes::any,
     .type = dynamic_slice,
     .attributes = attr_set({Attr::sizes})},
    {.op = Op::dynamic_update_slice, .dtypes = DTypes::any, .type = dynamic_update_slice},
};

}  // namespace tokamak::rules
