// Functions that make arrays from nothing. While a function is traced they are recorded: a broadcast constant
// or an iota costs nothing there.

#include <cmath>

#include "trace/array_impl.h"
#include "trace/operands.h"
#include "trace/promotion.h"
#include "trace/trace.h"

namespace tokamak {

Array array(Operand::Number number, std::optional<DType> dtype, Where where) {
  return number_array(number, dtype.value_or(default_dtype(number)), Trace::current(), "array", where);
}

Array full(Shape shape, const Operand& value, std::optional<DType> dtype) {
  AtLine line(value);
  Array element = as_array(value);
  if (dtype) element = astype(value, *dtype);
  check_type({element.dtype(), shape}, value.where());
  const Array filled = broadcasted(element, std::move(shape), value.where());
  return filled.is_traced() ? filled : filled.contiguous();
}

Array zeros(Shape shape, DType dtype, Where where) {
  return full(std::move(shape), Operand(0, where), dtype);
}

Array ones(Shape shape, DType dtype, Where where) { return full(std::move(shape), Operand(1, where), dtype); }

Array iota(Shape shape, int64_t axis, DType dtype, Where where) {
  const TensorType type{dtype, shape};
  check_type(type, where);
  axis = normalized_axis(axis, type.rank(), type, "iota", where);
  return apply(Op::iota, std::initializer_list<Array>{},
               {{Attr::shape, Ints(std::move(shape))}, {Attr::axis, axis}, {Attr::dtype, dtype}}, where);
}

Array arange(int64_t start, int64_t stop, int64_t step, DType dtype, Where where) {
  AtLine line(where);
  if (step == 0) fail("arange", "the step is 0", where);
  // Unsigned: the distance between two 64-bit numbers may not fit in a signed one.
  const bool is_empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t count = is_empty ? 0 : (distance - 1) / stride + 1;
  if (count > uint64_t{INT64_MAX})
    fail("arange", "it would have too many elements", where, UserError::Kind::memory);
  const bool is_plain = start == 0 && step == 1;
  Array values = iota({static_cast<int64_t>(count)}, 0, is_plain ? dtype : DType::i64, where);
  if (step != 1) values = mul(values, step);
  if (start != 0) values = add(values, start);
  return astype(values, dtype);
}

Array arange(double start, double stop, double step, DType dtype, Where where) {
  AtLine line(where);
  const double count = std::ceil((stop - start) / step);
  if (!(count < 9e15)) fail("arange", "start, stop and step do not make a finite number of elements", where);
  const auto length = count > 0 ? static_cast<int64_t>(count) : 0;
  const double stride = (start + step) - start;  // as NumPy fills: from the rounded second element
  return astype(iota({length}, 0, DType::f64, where) * stride + start, dtype);
}

Array linspace(double start, double stop, int64_t count, DType dtype, Where where) {
  AtLine line(where);
  if (count < 0) fail("linspace", "the number of elements is negative: " + std::to_string(count), where);
  const Array position = iota({count}, 0, DType::f64, where);
  if (count < 2) return astype(position + start, dtype);
  const double step = (stop - start) / static_cast<double>(count - 1);
  return astype(tokamak::where(position == count - 1, stop, position * step + start), dtype);
}

Array eye(int64_t rows, int64_t columns, int64_t diagonal, DType dtype, Where where) {
  AtLine line(where);
  const Array row = iota({rows, columns}, 0, DType::i64, where);
  const Array column = iota({rows, columns}, 1, DType::i64, where);
  return astype(column - row == diagonal, dtype);
}

}  // namespace tokamak
