#include "ops/type_rules.h"

#include <algorithm>

namespace tokamak {
namespace {

std::string_view noun_of(DTypes set) {
  switch (set) {
    case DTypes::floats:
      return "a float type";
    case DTypes::numbers:
      return "a number type";
    case DTypes::any:
      return "a type";
    case DTypes::integers:
      return "an integer type";
    case DTypes::integers_and_bool:
      return "an integer or bool type";
    case DTypes::boolean:
      return "a bool type";
  }
  return {};
}

/// The extent of `shape` at `axis` of a result of `rank`, the shape being aligned on the right; 1 where it
/// has none.
int64_t extent_at(const Shape& shape, size_t axis, size_t rank) {
  const size_t missing = rank - shape.size();
  return axis < missing ? 1 : shape[axis - missing];
}

struct Mismatch {
  size_t axis;
  int64_t first;
  int64_t second;
};

/// The common shape of the operands, or where they differ.
std::optional<Mismatch> broadcast_into(Shape& result, std::span<const Shape> shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  result.assign(rank, 1);
  for (size_t axis = 0; axis < rank; ++axis) {
    for (const Shape& shape : shapes) {
      const int64_t extent = extent_at(shape, axis, rank);
      if (extent == 1) continue;
      if (result[axis] != 1 && result[axis] != extent) return Mismatch{axis, result[axis], extent};
      result[axis] = extent;
    }
  }
  return std::nullopt;
}

/// "f32[2] with f32[3]"; "bool[2] with f32[3] and f32[2]".
std::string broadcast_words(std::span<const TensorType> types) {
  return to_string(types[0]) + " with " + list_of(types.subspan(1));
}

}  // namespace

Shape broadcast_operands(const TypeContext& context) {
  std::vector<Shape> shapes;
  for (const TensorType& type : context.inputs) shapes.push_back(type.shape);
  Shape result;
  if (auto mismatch = broadcast_into(result, shapes)) {
    context.fail("cannot broadcast " + broadcast_words(context.inputs) + ": axis " +
                 std::to_string(mismatch->axis) + " is " + std::to_string(mismatch->first) + " and " +
                 std::to_string(mismatch->second));
  }
  return result;
}

bool contains(DTypes set, DType dtype) {
  switch (set) {
    case DTypes::floats:
      return is_float(dtype);
    case DTypes::numbers:
      return dtype != DType::boolean;
    case DTypes::any:
      return true;
    case DTypes::integers:
      return is_integer(dtype);
    case DTypes::integers_and_bool:
      return is_integer(dtype) || dtype == DType::boolean;
    case DTypes::boolean:
      return dtype == DType::boolean;
  }
  return false;
}

void TypeContext::fail(const std::string& message, UserError::Kind kind) const {
  throw UserError(std::string(name_of(op)) + ": " + message, where, kind);
}

std::optional<Shape> broadcast_shapes(std::span<const Shape> shapes) {
  Shape result;
  if (broadcast_into(result, shapes)) return std::nullopt;
  return result;
}

std::string list_of(std::span<const TensorType> types) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i) {
    if (i != 0) text += i + 1 == types.size() ? " and " : ", ";
    text += to_string(types[i]);
  }
  return text;
}

void require_dtype(const TypeContext& context, size_t position, DTypes set) {
  const TensorType& type = context.inputs[position];
  if (!contains(set, type.dtype)) {
    context.fail(to_string(type) + " is not " + std::string(noun_of(set)), UserError::Kind::type);
  }
}

void require_size(const TypeContext& context, const TensorType& type) {
  int64_t bytes = static_cast<int64_t>(size_of(type.dtype));
  for (int64_t extent : type.shape) {
    if (extent < 0) context.fail(to_string(type) + " has a negative extent");
    // Empty axes are left out, so that no product of a part of the extents overflows either.
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes)) {
      context.fail(to_string(type) + " is too large: its bytes do not fit in 64 bits",
                   UserError::Kind::memory);
    }
  }
}

size_t require_axis(const TypeContext& context, const TensorType& type) {
  const int64_t axis = context.attributes.integer(Attr::axis);
  if (axis < 0 || axis >= type.rank()) {
    context.fail("axis " + std::to_string(axis) + " is out of range for " + to_string(type));
  }
  return static_cast<size_t>(axis);
}

const Ints& require_axes(const TypeContext& context, const TensorType& type) {
  const Ints& axes = context.attributes.ints(Attr::axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= type.rank()) {
      context.fail("axis " + std::to_string(axes[i]) + " is out of range for " + to_string(type));
    }
    if (i != 0 && axes[i] == axes[i - 1]) context.fail("axis " + std::to_string(axes[i]) + " is given twice");
    if (i != 0 && axes[i] < axes[i - 1]) context.fail("axes " + to_string(axes) + " are not sorted");
  }
  return axes;
}

const Ints& require_per_axis(const TypeContext& context, Attr name, const TensorType& type) {
  const Ints& list = context.attributes.ints(name);
  if (list.size() != type.shape.size()) {
    context.fail("'" + std::string(name_of(name)) + "' has " + std::to_string(list.size()) +
                 " entries for the " + std::to_string(type.rank()) + " axes of " + to_string(type));
  }
  return list;
}

TensorType elementwise_type(const TypeContext& context) {
  const DTypes set = record_of(context.op).dtypes;
  for (size_t i = 0; i < context.inputs.size(); ++i) require_dtype(context, i, set);
  for (const TensorType& type : context.inputs) {
    if (type.dtype != context.inputs[0].dtype) {
      context.fail("operands have different dtypes " + std::string(name_of(context.inputs[0].dtype)) +
                       " and " + std::string(name_of(type.dtype)) + "; convert one of them",
                   UserError::Kind::type);
    }
  }
  return {context.inputs[0].dtype, broadcast_operands(context)};
}

TensorType predicate_type(const TypeContext& context) {
  return {DType::boolean, elementwise_type(context).shape};
}

}  // namespace tokamak
