// What neural networks need and NumPy lacks: plain compositions, so that fusion sees through them.

#include <numbers>

#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

/// The operand as floats, as functions of floats take it.
Array as_floats(const Operand& x) {
  const Array array = as_array(x);
  return astype(array, float_for(array.dtype()));
}

/// Normalisation computes in f32 for f16 and bf16: their sums of squares overflow or lose everything.
DType wide_enough(DType dtype) { return size_of(dtype) < 4 ? DType::f32 : dtype; }

}  // namespace

Array relu(const Operand& x) {
  AtLine line(x);
  return maximum(as_array(x), 0);
}

Array gelu(const Operand& x, bool approximate) {
  AtLine line(x);
  const Array array = as_floats(x);
  if (!approximate) return array * 0.5 * (erf(array * (std::numbers::sqrt2 / 2)) + 1);
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  const Array cubic = array + array * array * array * 0.044715;
  return array * 0.5 * (tanh(cubic * scale) + 1);
}

Array silu(const Operand& x) {
  AtLine line(x);
  const Array array = as_floats(x);
  return array * sigmoid(array);
}

Array softmax(const Operand& x, Axes axes) {
  AtLine line(x);
  const Array array = as_floats(x);
  const Array weights = exp(array - max(array, axes, true));
  return weights / sum(weights, axes, true);
}

Array log_softmax(const Operand& x, Axes axes) {
  AtLine line(x);
  const Array array = as_floats(x);
  const Array shifted = array - max(array, axes, true);
  return shifted - log(sum(exp(shifted), axes, true));
}

Array logsumexp(const Operand& x, Axes axes, bool keepdims) {
  AtLine line(x);
  const Array array = as_floats(x);
  const Array greatest = max(array, axes, true);
  // Subtracting an infinite maximum would make NaN of inf - inf; then there is nothing to scale either.
  const Array offset = where(is_finite(greatest), greatest, 0);
  const Array result = log(sum(exp(array - offset), axes, true)) + offset;
  if (keepdims) return result;
  return squeeze(result, normalized_axes(axes, array.rank(), array.type(), "logsumexp", x.where()));
}

Array layer_norm(const Operand& x, const std::optional<Array>& scale, const std::optional<Array>& shift,
                 double epsilon, Axes axes) {
  AtLine line(x);
  const Array array = as_floats(x);
  const Array wide = astype(array, wide_enough(array.dtype()));
  const Array centered = wide - mean(wide, axes, true);
  Array result = centered * rsqrt(mean(centered * centered, axes, true) + epsilon);
  if (scale) result = result * *scale;
  if (shift) result = result + *shift;
  return astype(result, array.dtype());
}

Array rms_norm(const Operand& x, const std::optional<Array>& scale, double epsilon, Axes axes) {
  AtLine line(x);
  const Array array = as_floats(x);
  const Array wide = astype(array, wide_enough(array.dtype()));
  Array result = wide * rsqrt(mean(wide * wide, axes, true) + epsilon);
  if (scale) result = result * *scale;
  return astype(result, array.dtype());
}

}  // namespace tokamak
