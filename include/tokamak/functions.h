#pragma once

// Operations on arrays. Each works on memory at once, and inside a function given to `jit` it is recorded.
//
// dtypes, shapes and values are NumPy's: operands broadcast; dtypes promote as in NumPy 2, where plain
// numbers adopt the dtype of the arrays they meet; axes may be negative. A mistake is a UserError that names
// the operation, the types and the caller's line.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tokamak/array.h"
#include "tokamak/export.h"
#include "tokamak/types.h"

namespace TOKAMAK_API tokamak {

using Where = std::source_location;

/// The dtype two arrays meet in.
DType promote(DType a, DType b);

// Arithmetic. `div` is true division (f64 for integers); floor_div and mod round towards minus infinity, fmod
// towards zero.
Array add(const Operand& a, const Operand& b);
Array sub(const Operand& a, const Operand& b);
Array mul(const Operand& a, const Operand& b);
Array div(const Operand& a, const Operand& b);
Array floor_div(const Operand& a, const Operand& b);
Array mod(const Operand& a, const Operand& b);
Array fmod(const Operand& a, const Operand& b);
Array pow(const Operand& base, const Operand& exponent);
Array maximum(const Operand& a, const Operand& b);  ///< NaN if either is
Array minimum(const Operand& a, const Operand& b);
Array atan2(const Operand& y, const Operand& x);
Array hypot(const Operand& a, const Operand& b);
Array copysign(const Operand& magnitude, const Operand& sign);
Array nextafter(const Operand& a, const Operand& towards);

Array negative(const Operand& x);
Array abs(const Operand& x);
Array sign(const Operand& x);
Array square(const Operand& x);
Array reciprocal(const Operand& x);
Array floor(const Operand& x);
Array ceil(const Operand& x);
Array trunc(const Operand& x);
Array rint(const Operand& x);  ///< to the nearest integer, ties to even

// Functions of floats; integers become floats first.
Array sqrt(const Operand& x);
Array rsqrt(const Operand& x);  ///< 1 / sqrt(x)
Array cbrt(const Operand& x);
Array exp(const Operand& x);
Array exp2(const Operand& x);
Array expm1(const Operand& x);
Array log(const Operand& x);
Array log2(const Operand& x);
Array log10(const Operand& x);
Array log1p(const Operand& x);
Array sin(const Operand& x);
Array cos(const Operand& x);
Array tan(const Operand& x);
Array asin(const Operand& x);
Array acos(const Operand& x);
Array atan(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
Array tanh(const Operand& x);
Array asinh(const Operand& x);
Array acosh(const Operand& x);
Array atanh(const Operand& x);
Array erf(const Operand& x);
Array erfc(const Operand& x);
Array sigmoid(const Operand& x);

// Bits, comparisons, logic.
Array bit_and(const Operand& a, const Operand& b);
Array bit_or(const Operand& a, const Operand& b);
Array bit_xor(const Operand& a, const Operand& b);
Array bit_not(const Operand& x);
Array shift_left(const Operand& x, const Operand& amount);
Array shift_right(const Operand& x, const Operand& amount);
Array popcount(const Operand& x);
Array equal(const Operand& a, const Operand& b);
Array not_equal(const Operand& a, const Operand& b);
Array less(const Operand& a, const Operand& b);
Array less_equal(const Operand& a, const Operand& b);
Array greater(const Operand& a, const Operand& b);
Array greater_equal(const Operand& a, const Operand& b);
Array logical_and(const Operand& a, const Operand& b);
Array logical_or(const Operand& a, const Operand& b);
Array logical_xor(const Operand& a, const Operand& b);
Array logical_not(const Operand& x);
Array is_nan(const Operand& x);
Array is_inf(const Operand& x);
Array is_finite(const Operand& x);
Array sign_bit(const Operand& x);

inline Array operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Array operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Array operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Array operator/(const Operand& a, const Operand& b) { return div(a, b); }
inline Array operator%(const Operand& a, const Operand& b) { return mod(a, b); }
inline Array operator-(const Operand& x) { return negative(x); }
inline Array operator~(const Operand& x) { return bit_not(x); }
inline Array operator&(const Operand& a, const Operand& b) { return bit_and(a, b); }
inline Array operator|(const Operand& a, const Operand& b) { return bit_or(a, b); }
inline Array operator^(const Operand& a, const Operand& b) { return bit_xor(a, b); }
inline Array operator<<(const Operand& x, const Operand& amount) { return shift_left(x, amount); }
inline Array operator>>(const Operand& x, const Operand& amount) { return shift_right(x, amount); }
inline Array operator==(const Operand& a, const Operand& b) { return equal(a, b); }
inline Array operator!=(const Operand& a, const Operand& b) { return not_equal(a, b); }
inline Array operator<(const Operand& a, const Operand& b) { return less(a, b); }
inline Array operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
inline Array operator>(const Operand& a, const Operand& b) { return greater(a, b); }
inline Array operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }

/// `yes` where `condition` holds (is not zero), `no` elsewhere.
Array where(const Operand& condition, const Operand& yes, const Operand& no);
/// minimum(maximum(x, low), high).
Array clip(const Operand& x, const Operand& low, const Operand& high);
Array astype(const Operand& x, DType dtype);

// Making arrays.
Array array(Operand::Number number, std::optional<DType> dtype = {}, Where where = Where::current());
Array full(Shape shape, const Operand& value, std::optional<DType> dtype = {});
Array zeros(Shape shape, DType dtype = DType::f64, Where where = Where::current());
Array ones(Shape shape, DType dtype = DType::f64, Where where = Where::current());
Array iota(Shape shape, int64_t axis, DType dtype = DType::i64, Where where = Where::current());
/// start, start + step, ... up to but without stop.
Array arange(int64_t start, int64_t stop, int64_t step = 1, DType dtype = DType::i64,
             Where where = Where::current());
inline Array arange(int start, int stop, int step = 1, DType dtype = DType::i64,
                    Where where = Where::current()) {
  return arange(int64_t{start}, int64_t{stop}, int64_t{step}, dtype, where);
}
Array arange(double start, double stop, double step, DType dtype = DType::f64,
             Where where = Where::current());
Array linspace(double start, double stop, int64_t count, DType dtype = DType::f64,
               Where where = Where::current());
/// Ones where column - row == diagonal.
Array eye(int64_t rows, int64_t columns, int64_t diagonal = 0, DType dtype = DType::f64,
          Where where = Where::current());

// Views.

/// Axes of an array, negative ones counted from the end. `{}` means all of them.
class Axes {
 public:
  Axes() = default;
  Axes(int64_t axis) : list_(std::vector<int64_t>{axis}) {}    // NOLINT: implicit on purpose
  Axes(int axis) : list_(std::vector<int64_t>{axis}) {}        // NOLINT
  Axes(std::vector<int64_t> axes) : list_(std::move(axes)) {}  // NOLINT
  Axes(std::initializer_list<int64_t> axes) : list_(std::vector<int64_t>(axes)) {}  // NOLINT

  bool all() const { return !list_.has_value(); }
  const std::vector<int64_t>& list() const { return *list_; }

 private:
  std::optional<std::vector<int64_t>> list_;
};

Array broadcast_to(const Operand& x, Shape shape);
/// One extent may be -1: it takes what is left.
Array reshape(const Operand& x, Shape shape);
Array ravel(const Operand& x);
/// Axis i of the result is axis permutation[i]; `{}` reverses the axes.
Array transpose(const Operand& x, std::vector<int64_t> permutation = {});
Array swapaxes(const Operand& x, int64_t a, int64_t b);
Array moveaxis(const Operand& x, std::vector<int64_t> from, std::vector<int64_t> to);
Array squeeze(const Operand& x, Axes axes = {});
Array expand_dims(const Operand& x, Axes axes);
Array flip(const Operand& x, Axes axes = {});
/// Elements starts, starts + steps, ... below limits, per axis. Empty steps are ones.
Array slice(const Operand& x, std::vector<int64_t> starts, std::vector<int64_t> limits,
            std::vector<int64_t> steps = {});

/// A part of one axis, as start:stop:step in Python.
struct Range {
  std::optional<int64_t> start = {};
  std::optional<int64_t> stop = {};
  int64_t step = 1;
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis newaxis;
inline constexpr Ellipsis ellipsis;
/// One position of an index: an integer (drops the axis), a range, a new axis, or "all axes in between".
class IndexItem {
 public:
  IndexItem(int i) : value_(int64_t{i}) {}     // NOLINT: implicit on purpose
  IndexItem(int64_t i) : value_(i) {}          // NOLINT
  IndexItem(Range range) : value_(range) {}    // NOLINT
  IndexItem(NewAxis) : value_(NewAxis{}) {}    // NOLINT
  IndexItem(Ellipsis) : value_(Ellipsis{}) {}  // NOLINT
  const std::variant<int64_t, Range, NewAxis, Ellipsis>& value() const { return value_; }

 private:
  std::variant<int64_t, Range, NewAxis, Ellipsis> value_;
};
/// x[...] with integers and ranges: at(x, {Range{1, -1}, 0}) is Python's x[1:-1, 0].
Array at(const Operand& x, const std::vector<IndexItem>& index);

// Putting together and picking.

/// Surrounds x with `value`: low[i] before, high[i] after and interior[i] between the elements of axis i.
Array pad(const Operand& x, std::vector<int64_t> low, std::vector<int64_t> high, const Operand& value = 0,
          std::vector<int64_t> interior = {});
Array concatenate(const std::vector<Operand>& arrays, int64_t axis = 0, Where where = Where::current());
Array stack(const std::vector<Operand>& arrays, int64_t axis = 0, Where where = Where::current());
/// Equal parts along an axis.
std::vector<Array> split(const Operand& x, int64_t sections, int64_t axis = 0);
/// Parts between the given positions.
std::vector<Array> split(const Operand& x, const std::vector<int64_t>& positions, int64_t axis = 0);
Array roll(const Operand& x, int64_t shift, int64_t axis);
Array repeat(const Operand& x, int64_t count, int64_t axis);
Array tile(const Operand& x, const std::vector<int64_t>& repeats);
Array tril(const Operand& x, int64_t diagonal = 0);
Array triu(const Operand& x, int64_t diagonal = 0);
Array diff(const Operand& x, int64_t axis = -1);

/// What an index out of range does. Negative indices count from the end except with `clip`.
enum class IndexMode : uint8_t { check, clip, wrap };
/// x[:, indices, :] along `axis`; without an axis, of the flattened array.
Array take(const Operand& x, const Operand& indices, std::optional<int64_t> axis = {},
           IndexMode mode = IndexMode::check);
Array take_along_axis(const Operand& x, const Operand& indices, int64_t axis,
                      IndexMode mode = IndexMode::check);
/// x[i, j, ...] with one integer array for each of the first axes; the arrays broadcast.
Array take_points(const Operand& x, const std::vector<Operand>& indices, IndexMode mode = IndexMode::check);
enum class Combine : uint8_t { set, add, mul, min, max };
/// x with `updates` combined in at `indices` along `axis`, in order.
Array scatter(const Operand& x, const Operand& indices, const Operand& updates, int64_t axis = 0,
              Combine combine = Combine::set, IndexMode mode = IndexMode::check);
/// A window that starts where run-time integers say, moved so that it lies inside.
Array dynamic_slice(const Operand& x, const std::vector<Operand>& starts, std::vector<int64_t> sizes);
Array dynamic_update_slice(const Operand& x, const Operand& update, const std::vector<Operand>& starts);

// Reductions. Sums and products of integers and bools are i64 or u64, the rest keeps its dtype unless `dtype`
// says so.

Array sum(const Operand& x, Axes axes = {}, bool keepdims = false, std::optional<DType> dtype = {});
Array prod(const Operand& x, Axes axes = {}, bool keepdims = false, std::optional<DType> dtype = {});
Array max(const Operand& x, Axes axes = {}, bool keepdims = false);
Array min(const Operand& x, Axes axes = {}, bool keepdims = false);
Array any(const Operand& x, Axes axes = {}, bool keepdims = false);
Array all(const Operand& x, Axes axes = {}, bool keepdims = false);
/// The first index of the greatest element; without an axis, in the flattened array.
Array argmax(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Array argmin(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Array mean(const Operand& x, Axes axes = {}, bool keepdims = false, std::optional<DType> dtype = {});
Array var(const Operand& x, Axes axes = {}, bool keepdims = false, int64_t ddof = 0,
          std::optional<DType> dtype = {});
Array std(const Operand& x, Axes axes = {}, bool keepdims = false, int64_t ddof = 0,
          std::optional<DType> dtype = {});
Array cumsum(const Operand& x, std::optional<int64_t> axis = {}, std::optional<DType> dtype = {});
Array cumprod(const Operand& x, std::optional<int64_t> axis = {}, std::optional<DType> dtype = {});
Array cummax(const Operand& x, std::optional<int64_t> axis = {});
Array cummin(const Operand& x, std::optional<int64_t> axis = {});

/// The elements of every line along the axis in rising order, NaNs last; without an axis, of the flattened
/// array.
Array sort(const Operand& x, std::optional<int64_t> axis = -1);
/// Where they were, as i64: stable, so that elements which compare equal keep their order.
Array argsort(const Operand& x, std::optional<int64_t> axis = -1);

// Products of matrices and their kin, with NumPy's shapes. Each is one `dot` of the IR: f16 and bf16 are
// summed in f32 and stay what they are, integers wrap, and bool is "or" of "and". Numbers are arrays here, of
// their default dtype.

/// Which axes of two operands are matched: `batch` axes stay and come first, `contract` axes are summed over.
struct DotGeneral {
  std::vector<int64_t> lhs_contract = {};
  std::vector<int64_t> rhs_contract = {};
  std::vector<int64_t> lhs_batch = {};
  std::vector<int64_t> rhs_batch = {};
};
/// The result has the batch axes, the other axes of the first operand, then those of the second.
Array dot_general(const Operand& a, const Operand& b, const DotGeneral& axes);
/// NumPy's a @ b: the axes before the last two broadcast.
Array matmul(const Operand& a, const Operand& b);
/// Over the last axis of `a` and the last but one of `b`; all other axes stay.
Array dot(const Operand& a, const Operand& b);
/// Over the last axis of both.
Array inner(const Operand& a, const Operand& b);
/// The products of all elements of `a` with all of `b`.
Array outer(const Operand& a, const Operand& b);
/// The dot product of all elements in order.
Array vdot(const Operand& a, const Operand& b);
Array tensordot(const Operand& a, const Operand& b, const std::vector<int64_t>& a_axes,
                const std::vector<int64_t>& b_axes);
/// Over the last `axes` axes of `a` and the first ones of `b`.
Array tensordot(const Operand& a, const Operand& b, int64_t axes = 2);
inline Array tensordot(const Operand& a, const Operand& b, int axes) {
  return tensordot(a, b, int64_t{axes});
}
/// NumPy's einsum: "bij,bjk->bik", "ii", "...i,...i", with any number of operands, multiplied in a good
/// order.
Array einsum(std::string_view subscripts, const std::vector<Operand>& operands,
             Where where = Where::current());

// Windows over images. x is [N, C, spatial...], with one to three spatial axes.

/// What lies around the spatial axes.
class Padding {
 public:
  Padding() = default;
  Padding(int64_t both) : low_{both}, high_{both} {}  // NOLINT: implicit on purpose
  Padding(int both) : Padding(int64_t{both}) {}       // NOLINT
  /// The same on both sides of each axis.
  Padding(std::vector<int64_t> both) : low_(both), high_(std::move(both)) {}  // NOLINT
  Padding(std::vector<int64_t> low, std::vector<int64_t> high)
      : low_(std::move(low)), high_(std::move(high)) {}
  /// As much as makes the result ceil(extent / stride); what does not halve goes behind.
  static Padding same() {
    Padding padding;
    padding.same_ = true;
    return padding;
  }

  bool is_same() const { return same_; }
  const std::vector<int64_t>& low() const { return low_; }
  const std::vector<int64_t>& high() const { return high_; }

 private:
  std::vector<int64_t> low_ = {0};
  std::vector<int64_t> high_ = {0};
  bool same_ = false;
};

/// How windows lie over the spatial axes. A list of one entry holds for all axes.
struct WindowOptions {
  std::vector<int64_t> stride = {1};
  Padding padding = {};
  std::vector<int64_t> dilation = {1};  ///< the distance between the elements of a window
};

/// All windows of `sizes` along `axes`, one every `steps`, of elements `dilations` apart: a view. An axis
/// becomes that of the windows, and the positions inside them are new last axes. Empty lists are ones.
Array window(const Operand& x, std::vector<int64_t> axes, std::vector<int64_t> sizes,
             std::vector<int64_t> steps = {}, std::vector<int64_t> dilations = {});
/// w is [O, C / groups, kernel...], bias [O].
Array conv(const Operand& x, const Operand& w, const WindowOptions& options = {}, int64_t groups = 1,
           const std::optional<Array>& bias = {});
/// The transposed map of `conv`: every element of x places w, scaled by it. w is [C, O / groups, kernel...];
/// output_padding is added behind.
Array conv_transpose(const Operand& x, const Operand& w, const WindowOptions& options = {},
                     int64_t groups = 1, std::vector<int64_t> output_padding = {0},
                     const std::optional<Array>& bias = {});
/// The greatest element of every window. An empty stride is `size`.
Array max_pool(const Operand& x, std::vector<int64_t> size, WindowOptions options = {.stride = {}});
/// The mean of every window; padding counts as zeros, or not at all.
Array avg_pool(const Operand& x, std::vector<int64_t> size, WindowOptions options = {.stride = {}},
               bool count_include_pad = true);

// Of neural networks: plain compositions of the above, so that fusion sees through them.

Array relu(const Operand& x);
/// x * normal_cdf(x): with erf, or the usual tanh approximation.
Array gelu(const Operand& x, bool approximate = false);
Array silu(const Operand& x);
Array softmax(const Operand& x, Axes axes = -1);
Array log_softmax(const Operand& x, Axes axes = -1);
Array logsumexp(const Operand& x, Axes axes = {}, bool keepdims = false);
/// Normalises the last axis to mean 0 and variance 1, then scales and shifts where given.
Array layer_norm(const Operand& x, const std::optional<Array>& scale = {},
                 const std::optional<Array>& shift = {}, double epsilon = 1e-5, Axes axes = -1);
/// x / sqrt(mean(x * x) + epsilon) along the last axis, then scaled where given.
Array rms_norm(const Operand& x, const std::optional<Array>& scale = {}, double epsilon = 1e-6,
               Axes axes = -1);
/// (x - mean) / sqrt(var + epsilon) per channel (axis 1) with given statistics, then scaled and shifted.
Array batch_norm(const Operand& x, const Operand& mean, const Operand& var,
                 const std::optional<Array>& scale = {}, const std::optional<Array>& shift = {},
                 double epsilon = 1e-5);
/// softmax(q @ k^T * scale + mask) @ v over the last two axes; the scale is 1 / sqrt(d) unless given. A bool
/// mask says which positions count; `causal` leaves those out that come later than the query.
Array attention(const Operand& q, const Operand& k, const Operand& v, const std::optional<Array>& mask = {},
                bool causal = false, std::optional<double> scale = {});

}  // namespace tokamak
