#pragma once

// What the type rules of all families share: the checks, and the words of their errors.

#include <string>

#include "ops/record.h"

namespace tokamak {

/// Fails unless operand `position` has a dtype of the set: "sin: i32[4] is not a float type".
void require_dtype(const TypeContext& context, size_t position, DTypes set);
/// Fails unless the extents are not negative, and elements and bytes can be counted in 64 bits.
void require_size(const TypeContext& context, const TensorType& type);
/// The attribute `axis`, checked against the rank of `type`.
size_t require_axis(const TypeContext& context, const TensorType& type);
/// The attribute `axes`: sorted, each once, within the rank of `type`.
const Ints& require_axes(const TypeContext& context, const TensorType& type);
/// The list `name`, which must have one entry per axis of `type`.
const Ints& require_per_axis(const TypeContext& context, Attr name, const TensorType& type);

/// The common shape of all operands, or a failure that names them and the axis.
Shape broadcast_operands(const TypeContext& context);

/// "f32[3] and f32[4]", "a, b and c".
std::string list_of(std::span<const TensorType> types);

// Type rules used by several records.

/// Operands of one dtype from the record's set broadcast; the result has their dtype.
TensorType elementwise_type(const TypeContext& context);
/// The same, giving bool.
TensorType predicate_type(const TypeContext& context);

}  // namespace tokamak
