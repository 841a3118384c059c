#include "trace/operands.h"

#include <algorithm>

#include "trace/array_impl.h"
#include "trace/promotion.h"
#include "trace/trace.h"

namespace tokamak {

Trace* trace_of(std::span<const Operand> operands) {
  bool has_array = false;
  for (const Operand& operand : operands) {
    const Array* array = operand.array();
    if (array == nullptr) continue;
    has_array = true;
    if (array->is_traced()) return array->impl().recorded()->trace.get();
  }
  return has_array ? nullptr : Trace::current();
}

Array as_array(const Operand& operand) {
  if (const Array* array = operand.array()) {
    array->type(operand.where());  // says so when it is empty
    return *array;
  }
  return number_array(*operand.number(), default_dtype(*operand.number()), Trace::current(), "array",
                      operand.where());
}

Array as_array(const Operand& operand, DType dtype, Trace* trace, std::string_view op) {
  if (const Operand::Number* number = operand.number())
    return number_array(*number, dtype, trace, op, operand.where());
  const Array& array = *operand.array();
  if (array.type(operand.where()).dtype == dtype) return array;
  return apply(Op::convert, {array}, {{Attr::dtype, dtype}}, operand.where());
}

void fail(std::string_view op, const std::string& message, const std::source_location& where,
          UserError::Kind kind) {
  throw UserError(std::string(op) + ": " + message, user_line(where), kind);
}

int64_t normalized_axis(int64_t axis, int64_t rank, const TensorType& of, std::string_view op,
                        const std::source_location& where) {
  if (axis < -rank || axis >= rank) {
    const std::string has = rank == of.rank() ? "" : " with the axes added";
    fail(op,
         "axis " + std::to_string(axis) + " is out of range for " + to_string(of) + has + ", which has " +
             std::to_string(rank) + (rank == 1 ? " axis" : " axes"),
         where);
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> normalized_axes(const Axes& axes, int64_t rank, const TensorType& of,
                                     std::string_view op, const std::source_location& where) {
  std::vector<int64_t> result;
  if (axes.all()) {
    for (int64_t axis = 0; axis < rank; ++axis) result.push_back(axis);
    return result;
  }
  for (int64_t axis : axes.list()) result.push_back(normalized_axis(axis, rank, of, op, where));
  std::sort(result.begin(), result.end());
  if (auto twice = std::adjacent_find(result.begin(), result.end()); twice != result.end()) {
    fail(op, "axis " + std::to_string(*twice) + " of " + to_string(of) + " is named twice", where);
  }
  return result;
}

Shape with_ones_at(Shape shape, std::span<const int64_t> axes) {
  for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return shape;
}

Array reshaped(const Array& x, Shape shape, const std::source_location& where) {
  if (x.shape() == shape) return x;
  return apply(Op::reshape, {x}, {{Attr::shape, Ints(std::move(shape))}}, where);
}

Array broadcasted(const Array& x, Shape shape, const std::source_location& where) {
  if (x.shape() == shape) return x;
  return apply(Op::broadcast, {x}, {{Attr::shape, Ints(std::move(shape))}}, where);
}

}  // namespace tokamak
