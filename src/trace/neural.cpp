// What neural networks need and NumPy lacks: plain compositions, so that fusion sees through them.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/record.h"
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

/// `what` is an argument; it meets values of type `met`, which are `as_what`.
void require_broadcast(std::string_view op, const char* what, const Array& argument, const char* as_what,
                       const TensorType& met, const Operand& x) {
  const Shape shapes[] = {argument.shape(), met.shape};
  if (broadcast_shapes(shapes)) return;
  fail(op,
       "the " + std::string(what) + " " + to_string(argument.type()) + " does not broadcast with the " +
           as_what + " " + to_string(met),
       x.where());
}

/// `result` times `scale` plus `shift`, for a normalisation of `x`.
Array scaled(std::string_view op, Array result, const std::optional<Array>& scale,
             const std::optional<Array>& shift, const Operand& x) {
  if (scale) {
    require_broadcast(op, "scale", *scale, "values", result.type(), x);
    result = result * *scale;
  }
  if (shift) {
    require_broadcast(op, "shift", *shift, "values", result.type(), x);
    result = result + *shift;
  }
  return result;
}

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
  const Array result = centered * rsqrt(mean(centered * centered, axes, true) + epsilon);
  return astype(scaled("layer_norm", result, scale, shift, x), array.dtype());
}

Array rms_norm(const Operand& x, const std::optional<Array>& scale, double epsilon, Axes axes) {
  AtLine line(x);
  const Array array = as_floats(x);
  const Array wide = astype(array, wide_enough(array.dtype()));
  const Array result = wide * rsqrt(mean(wide * wide, axes, true) + epsilon);
  return astype(scaled("rms_norm", result, scale, {}, x), array.dtype());
}

namespace {

/// One value per channel, beside [N, C, ...] arrays of `rank` axes.
Array per_channel(const Operand& values, const char* what, const Array& x) {
  const Array array = as_array(values);
  const int64_t channels = x.shape()[1];
  if (array.shape() != Shape{channels}) {
    fail("batch_norm",
         "the " + std::string(what) + " " + to_string(array.type()) +
             " does not have one element for each of the " + std::to_string(channels) + " channels of " +
             to_string(x.type()),
         values.where());
  }
  return astype(array, wide_enough(float_for(promote(array.dtype(), x.dtype()))));
}

}  // namespace

Array batch_norm(const Operand& x, const Operand& mean, const Operand& var, const std::optional<Array>& scale,
                 const std::optional<Array>& shift, double epsilon) {
  AtLine line(x);
  const Array array = as_floats(x);
  if (array.rank() < 2) fail("batch_norm", to_string(array.type()) + " has no channels (axis 1)", x.where());
  // All of these have one element per channel: where they are constants, so are the two that x meets.
  Array factor = rsqrt(per_channel(var, "variance", array) + epsilon);
  if (scale) factor = per_channel(*scale, "scale", array) * factor;
  Array offset = negative(per_channel(mean, "mean", array) * factor);
  if (shift) offset = per_channel(*shift, "shift", array) + offset;
  Shape beside(array.shape().size() - 1, 1);
  beside[0] = array.shape()[1];
  const Array wide = astype(array, wide_enough(array.dtype()));
  return astype(wide * reshape(factor, beside) + reshape(offset, beside), array.dtype());
}

namespace {

/// One of the three arrays that attention takes, as the user gave it.
struct Attended {
  const char* name;
  Array array;

  std::string text() const { return std::string(name) + " " + to_string(array.type()); }
  size_t rank() const { return array.shape().size(); }
  int64_t extent(size_t from_end) const { return array.shape()[rank() - from_end]; }
};

constexpr size_t kHeadsFromEnd = 3;

/// Refuses axes before positions and features that do not broadcast.
void require_same_heads(const Attended& first, const Attended& second, const Where& where) {
  for (size_t from_end = kHeadsFromEnd; from_end <= std::min(first.rank(), second.rank()); ++from_end) {
    const int64_t left = first.extent(from_end);
    const int64_t right = second.extent(from_end);
    if (left == right || left == 1 || right == 1) continue;
    if (from_end != kHeadsFromEnd || right == 0 || left % right != 0) {
      auto extent = [from_end](const Attended& one) {
        return "axis " + std::to_string(one.rank() - from_end) + " of the " + one.name + " is " +
               std::to_string(one.extent(from_end));
      };
      fail("attention",
           first.text() + " and " + second.text() + " do not match: " + extent(first) + ", " + extent(second),
           where);
    }
    Shape grouped = first.array.shape();
    grouped[first.rank() - from_end] = left / right;
    grouped.insert(grouped.end() - from_end, right);
    fail("attention",
         first.text() + " have " + std::to_string(left) + " heads, " + second.text() + " have " +
             std::to_string(right) + ": repeat these " + std::to_string(left / right) +
             " times, or reshape the " + first.name + " to " + to_string(grouped) + " and give the " +
             second.name + " an axis of 1 behind their heads",
         where);
  }
}

void require_attended(const Attended& q, const Attended& k, const Attended& v, const Where& where) {
  for (const Attended* one : {&q, &k, &v}) {
    if (one->rank() < 2) fail("attention", one->text() + " are not [..., positions, features]", where);
  }
  const std::string given = q.text() + ", " + k.text() + " and " + v.text();
  if (q.extent(1) != k.extent(1))
    fail("attention", given + ": queries and keys have different numbers of features", where);
  if (k.extent(2) != v.extent(2))
    fail("attention", given + ": keys and values have different numbers of positions", where);
  if (k.extent(2) == 0) fail("attention", given + ": there is nothing to attend to", where);
  require_same_heads(q, k, where);
  require_same_heads(q, v, where);
  require_same_heads(k, v, where);
}

}  // namespace

Array attention(const Operand& q, const Operand& k, const Operand& v, const std::optional<Array>& mask,
                bool causal, std::optional<double> scale) {
  AtLine line(q);
  require_attended({"queries", as_array(q)}, {"keys", as_array(k)}, {"values", as_array(v)}, q.where());
  const Array queries = as_floats(q);
  const Array keys = as_floats(k);
  const Array values = as_floats(v);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(queries.shape().back())));
  const Array products = matmul(queries, swapaxes(keys, -1, -2));
  Array scores = astype(products, wide_enough(products.dtype())) * factor;
  if (mask) require_broadcast("attention", "mask", *mask, "scores (queries by keys)", scores.type(), q);
  const double never = -std::numeric_limits<double>::infinity();
  if (mask && mask->dtype() == DType::boolean) {
    scores = where(*mask, scores, never);
  } else if (mask) {
    scores = scores + *mask;
  }
  if (causal) {
    const Shape last(scores.shape().end() - 2, scores.shape().end());
    scores =
        where(iota(last, 1, DType::i32, q.where()) <= iota(last, 0, DType::i32, q.where()), scores, never);
  }
  return matmul(astype(softmax(scores), products.dtype()), values);
}

}  // namespace tokamak
