// Reductions and running reductions, with NumPy's dtypes.

#include <algorithm>

#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

Array reduced(Op op, const Array& x, const Axes& axes, bool keepdims, std::string_view name,
              const Where& where) {
  Ints list = normalized_axes(axes, x.rank(), x.type(), name, where);
  if (list.empty()) return x;
  Shape kept = with_ones_at(x.shape(), list);
  const Array result = apply(op, {x}, {{Attr::axes, std::move(list)}}, where);
  return keepdims ? reshaped(result, std::move(kept), where) : result;
}

int64_t count_along(const Array& x, const Axes& axes, std::string_view name, const Where& where) {
  int64_t count = 1;
  for (int64_t axis : normalized_axes(axes, x.rank(), x.type(), name, where)) {
    count *= x.shape()[static_cast<size_t>(axis)];
  }
  return count;
}

/// In which dtype mean and var compute for results of `dtype`.
DType mean_accumulator(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

DType mean_dtype(const Array& x, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  return is_float(x.dtype()) ? x.dtype() : DType::f64;
}

Array arg_reduced(Op op, const Operand& x, std::optional<int64_t> axis, bool keepdims,
                  std::string_view name) {
  AtLine line(x);
  const Array array = as_array(x);
  const Array along = axis ? array : ravel(array);
  const int64_t at = normalized_axis(axis.value_or(0), along.rank(), along.type(), name, x.where());
  const Array result = apply(op, {along}, {{Attr::axis, at}}, x.where());
  if (!keepdims) return result;
  if (!axis) return reshaped(result, Shape(array.shape().size(), 1), x.where());
  const int64_t kept[] = {at};
  return reshaped(result, with_ones_at(array.shape(), kept), x.where());
}

/// What keeps its shape, and goes along one axis.
Array running(Op op, const Operand& x, std::optional<int64_t> axis, std::optional<DType> dtype,
              std::string_view name) {
  AtLine line(x);
  const Array array = axis ? as_array(x) : ravel(x);
  const int64_t at = normalized_axis(axis.value_or(0), array.rank(), array.type(), name, x.where());
  return apply(op, {dtype ? astype(array, *dtype) : array}, {{Attr::axis, at}}, x.where());
}

}  // namespace

Array sum(const Operand& x, Axes axes, bool keepdims, std::optional<DType> dtype) {
  AtLine line(x);
  const Array array = as_array(x);
  const DType wanted = dtype.value_or(sum_dtype(array.dtype()));
  if (wanted == DType::boolean) return any(array, axes, keepdims);
  return reduced(Op::reduce_sum, astype(array, wanted), axes, keepdims, "sum", x.where());
}

Array prod(const Operand& x, Axes axes, bool keepdims, std::optional<DType> dtype) {
  AtLine line(x);
  const Array array = as_array(x);
  const DType wanted = dtype.value_or(sum_dtype(array.dtype()));
  if (wanted == DType::boolean) return all(array, axes, keepdims);
  return reduced(Op::reduce_prod, astype(array, wanted), axes, keepdims, "prod", x.where());
}

Array max(const Operand& x, Axes axes, bool keepdims) {
  AtLine line(x);
  return reduced(Op::reduce_max, as_array(x), axes, keepdims, "max", x.where());
}

Array min(const Operand& x, Axes axes, bool keepdims) {
  AtLine line(x);
  return reduced(Op::reduce_min, as_array(x), axes, keepdims, "min", x.where());
}

Array any(const Operand& x, Axes axes, bool keepdims) {
  AtLine line(x);
  return reduced(Op::reduce_any, astype(x, DType::boolean), axes, keepdims, "any", x.where());
}

Array all(const Operand& x, Axes axes, bool keepdims) {
  AtLine line(x);
  return reduced(Op::reduce_all, astype(x, DType::boolean), axes, keepdims, "all", x.where());
}

Array argmax(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_reduced(Op::argmax, x, axis, keepdims, "argmax");
}

Array argmin(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_reduced(Op::argmin, x, axis, keepdims, "argmin");
}

Array mean(const Operand& x, Axes axes, bool keepdims, std::optional<DType> dtype) {
  AtLine line(x);
  const Array array = as_array(x);
  const DType wanted = mean_dtype(array, dtype);
  const Array total = sum(astype(array, mean_accumulator(wanted)), axes, keepdims);
  return astype(total / count_along(array, axes, "mean", x.where()), wanted);
}

Array var(const Operand& x, Axes axes, bool keepdims, int64_t ddof, std::optional<DType> dtype) {
  AtLine line(x);
  const Array array = as_array(x);
  const DType wanted = mean_dtype(array, dtype);
  const Array wide = astype(array, mean_accumulator(wanted));
  const Array centered = wide - mean(wide, axes, true);
  const int64_t freedom = std::max<int64_t>(count_along(array, axes, "var", x.where()) - ddof, 0);
  return astype(sum(centered * centered, axes, keepdims) / freedom, wanted);
}

Array std(const Operand& x, Axes axes, bool keepdims, int64_t ddof, std::optional<DType> dtype) {
  AtLine line(x);
  const DType wanted = mean_dtype(as_array(x), dtype);
  return astype(sqrt(var(x, axes, keepdims, ddof, mean_accumulator(wanted))), wanted);
}

Array cumsum(const Operand& x, std::optional<int64_t> axis, std::optional<DType> dtype) {
  return running(Op::cumsum, x, axis, dtype.value_or(sum_dtype(as_array(x).dtype())), "cumsum");
}

Array cumprod(const Operand& x, std::optional<int64_t> axis, std::optional<DType> dtype) {
  return running(Op::cumprod, x, axis, dtype.value_or(sum_dtype(as_array(x).dtype())), "cumprod");
}

Array cummax(const Operand& x, std::optional<int64_t> axis) {
  return running(Op::cummax, x, axis, {}, "cummax");
}

Array cummin(const Operand& x, std::optional<int64_t> axis) {
  return running(Op::cummin, x, axis, {}, "cummin");
}

Array sort(const Operand& x, std::optional<int64_t> axis) { return running(Op::sort, x, axis, {}, "sort"); }

Array argsort(const Operand& x, std::optional<int64_t> axis) {
  return running(Op::argsort, x, axis, {}, "argsort");
}

}  // namespace tokamak
