// Convolution and pooling: windows, which are views, under a dot or a reduction.

#include <algorithm>
#include <limits>
#include <numeric>

#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

constexpr size_t kMostSpatialAxes = 3;

/// `first`, `first` + 1, ...
Ints axes_from(int64_t first, size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// A function over images, for its messages and for what its options say per spatial axis.
class Images {
 public:
  Images(std::string_view op, const Array& x, const Where& where) : op_(op), x_(x), where_(where) {
    if (x.rank() < 3 || x.rank() > 2 + static_cast<int64_t>(kMostSpatialAxes)) {
      error(to_string(x.type()) + " is not [N, C, spatial...] with one to " +
            std::to_string(kMostSpatialAxes) + " spatial axes");
    }
  }

  size_t spatial() const { return x_.shape().size() - 2; }
  Shape extents() const { return Shape(x_.shape().begin() + 2, x_.shape().end()); }
  std::string text() const { return "images " + to_string(x_.type()); }
  [[noreturn]] void error(const std::string& message) const { fail(op_, message, where_); }
  /// Of what is wrong whatever the images are.
  [[noreturn]] void option_error(const std::string& message) const { error(message + ", for " + text()); }

  /// One entry per spatial axis, none below `least`.
  Ints per_axis(const Ints& given, const char* what, int64_t least) const {
    Ints list = given.size() == 1 ? Ints(spatial(), given[0]) : given;
    if (list.size() != spatial()) {
      error(std::string(what) + " " + to_string(given) + " has " + std::to_string(given.size()) +
            " entries for the " + std::to_string(spatial()) + " spatial axes of " + to_string(x_.type()));
    }
    for (int64_t entry : list) {
      if (entry < least)
        option_error(std::string(what) + " must be at least " + std::to_string(least) + ", not " +
                     to_string(given));
    }
    return list;
  }

 private:
  std::string_view op_;
  const Array& x_;
  const Where& where_;
};

/// Options with one entry per spatial axis, and the windows they make.
struct Placement {
  Ints size, stride, dilation, low, high;

  /// The distance from the first to the last element of a window, and one.
  int64_t reach(size_t axis) const { return (size[axis] - 1) * dilation[axis] + 1; }
};

Placement placement(const Images& images, Ints size, const WindowOptions& options) {
  Placement made;
  made.size = std::move(size);
  made.stride = images.per_axis(options.stride, "stride", 1);
  made.dilation = images.per_axis(options.dilation, "dilation", 1);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < made.size.size(); ++i) {  // so that nothing below overflows
    if (std::max({made.size[i], made.stride[i], made.dilation[i]}) > kMost)
      images.option_error("the size, stride or dilation of the windows is too large");
  }
  if (!options.padding.is_same()) {
    made.low = images.per_axis(options.padding.low(), "padding", 0);
    made.high = images.per_axis(options.padding.high(), "padding", 0);
    for (size_t i = 0; i < made.low.size(); ++i) {
      if (std::max(made.low[i], made.high[i]) > kMost) images.option_error("the padding is too large");
    }
    return made;
  }
  const Shape extents = images.extents();
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t wanted = (extents[i] + made.stride[i] - 1) / made.stride[i];
    const int64_t total = std::max<int64_t>((wanted - 1) * made.stride[i] + made.reach(i) - extents[i], 0);
    made.low.push_back(total / 2);
    made.high.push_back(total - total / 2);
  }
  return made;
}

void require_fit(const Images& images, const Placement& at, const char* what) {
  const Shape extents = images.extents();
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t padded = extents[i] + at.low[i] + at.high[i];
    if (at.reach(i) <= padded) continue;
    images.error(
        "a " + std::string(what) + " of " + to_string(at.size) +
        (at.reach(i) == at.size[i] ? "" : " with dilation " + to_string(at.dilation)) +
        " does not fit into the " + images.text() + ": spatial axis " + std::to_string(i) + " is " +
        std::to_string(extents[i]) +
        (padded == extents[i] ? " and has no padding" : ", with its padding " + std::to_string(padded)));
  }
}

/// The spatial axes, which are the last ones, with `value` around them.
Array padded(const Array& x, const Ints& low, const Ints& high, const Operand& value,
             const Ints& interior = {}) {
  auto none = [](const Ints& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t n) { return n == 0; });
  };
  if (none(low) && none(high) && none(interior)) return x;
  auto all_axes = [&](const Ints& spatial) {
    Ints list(x.shape().size(), 0);
    std::copy(spatial.rbegin(), spatial.rend(), list.rbegin());
    return list;
  };
  return pad(x, all_axes(low), all_axes(high), value, all_axes(interior));
}

Array windows_of(const Array& x, const Placement& at) {
  const size_t spatial = at.size.size();
  return window(x, axes_from(x.rank() - static_cast<int64_t>(spatial), spatial), at.size, at.stride,
                at.dilation);
}

/// [N, G, ...] from [N, G * C, ...]; as it is when there is one group.
Array with_groups(const Array& x, int64_t axis, int64_t groups, const Where& where) {
  if (groups == 1) return x;
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] /= groups;
  shape.insert(shape.begin() + axis, groups);
  return reshaped(x, std::move(shape), where);
}

/// The dot of kernels ([G,] with the input's channels at `channels` and those of the result at the other one
/// of the next two axes, then the window) with windows ([N, [G,] C, spatial..., window...]). N is a batch
/// axis, so that the result comes out as [N, [G,] O, spatial...] without a transpose.
Array kernel_products(const Array& kernels, const Array& windows, int64_t groups, int64_t channels,
                      size_t spatial, const Where& where) {
  Shape wide = kernels.shape();
  wide.insert(wide.begin(), windows.shape()[0]);
  const int64_t batches = groups == 1 ? 1 : 2;
  Ints lhs_contract = {batches + channels};
  Ints rhs_contract = {batches};
  for (int64_t axis : axes_from(batches + 2, spatial)) lhs_contract.push_back(axis);
  for (int64_t axis : axes_from(batches + 1 + static_cast<int64_t>(spatial), spatial))
    rhs_contract.push_back(axis);
  const Ints batch = axes_from(0, static_cast<size_t>(batches));
  const Array products = apply(Op::dot, {broadcasted(kernels, std::move(wide), where), windows},
                               {{Attr::lhs_batch, batch},
                                {Attr::rhs_batch, batch},
                                {Attr::lhs_contract, std::move(lhs_contract)},
                                {Attr::rhs_contract, std::move(rhs_contract)}},
                               where);
  if (groups == 1) return products;
  Shape shape = products.shape();
  shape[2] *= groups;
  shape.erase(shape.begin() + 1);
  return reshaped(products, std::move(shape), where);
}

Array with_bias(const Images& images, const Array& x, const std::optional<Array>& bias) {
  if (!bias) return x;
  if (bias->shape() != Shape{x.shape()[1]}) {
    images.error("the bias " + to_string(bias->type()) + " does not have one element for each of the " +
                 std::to_string(x.shape()[1]) + " channels");
  }
  Shape shape(x.shape().size() - 1, 1);
  shape[0] = x.shape()[1];
  return x + reshape(*bias, std::move(shape));
}

void require_kernels(const Images& images, const Array& x, const Array& w, int64_t groups) {
  if (w.rank() != x.rank()) {
    images.error("the kernels " + to_string(w.type()) + " do not have the rank of " + to_string(x.type()));
  }
  if (groups < 1) images.option_error("groups must be at least 1, not " + std::to_string(groups));
}

void require_divides(const Images& images, int64_t groups, int64_t channels, const std::string& of) {
  if (channels % groups != 0) {
    images.error(std::to_string(groups) + " groups do not divide the " + std::to_string(channels) + " " + of);
  }
}

[[noreturn]] void refuse_channels(const Images& images, const Array& x, const std::string& kernels,
                                  int64_t wanted) {
  images.error(kernels + " take " + std::to_string(wanted) + " channels, but the " + images.text() +
               ", which are [N, C, spatial...], have " + std::to_string(x.shape()[1]) +
               (x.shape().back() == wanted ? ": move their channels from the last axis to axis 1" : ""));
}

Shape kernel_extents(const Images& images, const Array& w) {
  Shape extents(w.shape().begin() + 2, w.shape().end());
  for (int64_t extent : extents) {
    if (extent < 1) images.error("the kernels " + to_string(w.type()) + " are empty");
  }
  return extents;
}

std::pair<Array, Array> promoted(const Operand& x, const Operand& w) {
  const Array left = as_array(x);
  const Array right = as_array(w);
  const DType dtype = promote(left.dtype(), right.dtype());
  return {astype(left, dtype), astype(right, dtype)};
}

}  // namespace

Array window(const Operand& x, std::vector<int64_t> axes, std::vector<int64_t> sizes,
             std::vector<int64_t> steps, std::vector<int64_t> dilations) {
  AtLine line(x);
  Array array = as_array(x);
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (dilations.empty()) dilations.assign(axes.size(), 1);
  if (sizes.size() != axes.size() || steps.size() != axes.size() || dilations.size() != axes.size())
    fail("window", "sizes, steps and dilations need one entry for each of the axes", x.where());
  for (int64_t& axis : axes) axis = normalized_axis(axis, array.rank(), array.type(), "window", x.where());
  auto windows = [&](Ints along, Ints size, Ints step, Ints dilation) {
    return apply(Op::window, {array},
                 {{Attr::axes, std::move(along)},
                  {Attr::sizes, std::move(size)},
                  {Attr::steps, std::move(step)},
                  {Attr::dilations, std::move(dilation)}},
                 x.where());
  };
  if (axes.empty()) return array;
  const bool ascends =
      std::is_sorted(axes.begin(), axes.end()) && std::adjacent_find(axes.begin(), axes.end()) == axes.end();
  if (ascends) return windows(std::move(axes), std::move(sizes), std::move(steps), std::move(dilations));
  // One after the other: the new axes come in the given order, and an axis can have windows of windows.
  for (size_t i = 0; i < axes.size(); ++i) array = windows({axes[i]}, {sizes[i]}, {steps[i]}, {dilations[i]});
  return array;
}

Array conv(const Operand& x, const Operand& w, const WindowOptions& options, int64_t groups,
           const std::optional<Array>& bias) {
  AtLine line(x);
  const auto [image, kernels] = promoted(x, w);
  const Images images("conv", image, x.where());
  require_kernels(images, image, kernels, groups);
  const std::string given = "kernels " + to_string(kernels.type());
  const int64_t wanted = kernels.shape()[1] * groups;
  require_divides(images, groups, image.shape()[1], "channels (axis 1) of the " + images.text());
  if (wanted != image.shape()[1]) {
    const char* in = groups == 1 ? " group" : " groups";
    refuse_channels(images, image, given + " in " + std::to_string(groups) + in, wanted);
  }
  require_divides(images, groups, kernels.shape()[0], "output channels (axis 0) of the " + given);
  const Placement at = placement(images, kernel_extents(images, kernels), options);
  require_fit(images, at, "kernel");
  const Array around = padded(with_groups(image, 1, groups, x.where()), at.low, at.high, 0);
  const Array result = kernel_products(with_groups(kernels, 0, groups, x.where()), windows_of(around, at),
                                       groups, 1, images.spatial(), x.where());
  return with_bias(images, result, bias);
}

namespace {

/// The part of `x` that is left when the last axes lose `low` elements in front and `high` behind.
Array cropped(const Array& x, const Ints& low, const Ints& high) {
  Ints starts(x.shape().size(), 0);
  Ints limits = x.shape();
  const size_t first = x.shape().size() - low.size();
  for (size_t i = 0; i < low.size(); ++i) {
    starts[first + i] = low[i];
    limits[first + i] -= high[i];
  }
  return slice(x, std::move(starts), std::move(limits));
}

}  // namespace

Array conv_transpose(const Operand& x, const Operand& w, const WindowOptions& options, int64_t groups,
                     std::vector<int64_t> output_padding, const std::optional<Array>& bias) {
  AtLine line(x);
  const auto [image, kernels] = promoted(x, w);
  const Images images("conv_transpose", image, x.where());
  require_kernels(images, image, kernels, groups);
  require_divides(images, groups, image.shape()[1], "channels (axis 1) of the " + images.text());
  if (kernels.shape()[0] != image.shape()[1])
    refuse_channels(images, image, "kernels " + to_string(kernels.type()), kernels.shape()[0]);
  if (options.padding.is_same()) images.error("padding \"same\" is for conv; give numbers");
  Placement at = placement(images, kernel_extents(images, kernels), options);
  const Ints behind = images.per_axis(output_padding, "output_padding", 0);
  const Shape extents = images.extents();
  Ints low, high, interior, crop_low, crop_high;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (behind[i] >= std::max(at.stride[i], at.dilation[i]))
      images.error("output_padding " + to_string(behind) + " must be below the stride or the dilation");
    const int64_t result = (extents[i] - 1) * at.stride[i] + at.reach(i) + behind[i] - at.low[i] - at.high[i];
    if (extents[i] < 1 || result < 1) {
      images.error("the result would be empty: spatial axis " + std::to_string(i) + " of " +
                   to_string(image.type()) + " gives " + std::to_string(result));
    }
    // Every element reaches this far; padding takes away from it, first what is added here.
    const int64_t front = at.reach(i) - 1 - at.low[i];
    const int64_t back = at.reach(i) - 1 - at.high[i] + behind[i];
    low.push_back(std::max<int64_t>(front, 0));
    high.push_back(std::max<int64_t>(back, 0));
    crop_low.push_back(std::max<int64_t>(-front, 0));
    crop_high.push_back(std::max<int64_t>(-back, 0));
    interior.push_back(at.stride[i] - 1);
  }
  const Array spread =
      cropped(padded(with_groups(image, 1, groups, x.where()), low, high, 0, interior), crop_low, crop_high);
  const Array flipped = flip(kernels, axes_from(2, images.spatial()));
  at.stride.assign(at.stride.size(), 1);
  const Array result = kernel_products(with_groups(flipped, 0, groups, x.where()), windows_of(spread, at),
                                       groups, 0, images.spatial(), x.where());
  return with_bias(images, result, bias);
}

namespace {

/// The windows of a pooling, and where they lie.
Placement pooling(const Images& images, const Ints& size, WindowOptions& options) {
  if (options.stride.empty()) options.stride = size;
  Placement at = placement(images, images.per_axis(size, "size", 1), options);
  for (size_t i = 0; i < at.size.size(); ++i) {
    if (at.low[i] < at.reach(i) && at.high[i] < at.reach(i)) continue;
    images.error("padding " + to_string(at.low) + " is as wide as a window of " + to_string(at.size));
  }
  require_fit(images, at, "window");
  return at;
}

Ints last_axes(const Array& x, size_t count) {
  return axes_from(x.rank() - static_cast<int64_t>(count), count);
}

/// What loses against every element: -inf, the least integer, false.
Operand lowest(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  if (!is_signed_integer(dtype)) return dtype == DType::boolean ? Operand(false) : Operand(0);
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * static_cast<int>(size_of(dtype)));
}

/// How many elements of the image the windows along one axis see.
std::vector<double> seen_along(const Placement& at, size_t axis, int64_t extent) {
  std::vector<double> counts;
  const int64_t last = extent + at.low[axis] + at.high[axis] - at.reach(axis);
  for (int64_t start = -at.low[axis]; start <= last - at.low[axis]; start += at.stride[axis]) {
    int64_t count = 0;
    for (int64_t i = 0; i < at.size[axis]; ++i) {
      const int64_t place = start + i * at.dilation[axis];
      count += place >= 0 && place < extent;
    }
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

/// How many elements of the image every window sees, with extents that broadcast.
Array seen(const Images& images, const Placement& at, DType dtype) {
  std::optional<Array> product;
  for (size_t i = 0; i < images.spatial(); ++i) {
    const std::vector<double> counts = seen_along(at, i, images.extents()[i]);
    Shape shape(images.spatial(), 1);
    shape[i] = static_cast<int64_t>(counts.size());
    const Array along = astype(Array::from(counts, std::move(shape)), dtype);
    product = product ? *product * along : along;
  }
  return *product;
}

}  // namespace

Array max_pool(const Operand& x, std::vector<int64_t> size, WindowOptions options) {
  AtLine line(x);
  const Array image = as_array(x);
  const Images images("max_pool", image, x.where());
  const Placement at = pooling(images, size, options);
  const Array windows = windows_of(padded(image, at.low, at.high, lowest(image.dtype())), at);
  return max(windows, last_axes(windows, images.spatial()));
}

Array avg_pool(const Operand& x, std::vector<int64_t> size, WindowOptions options, bool count_include_pad) {
  AtLine line(x);
  const Array given = as_array(x);
  const DType dtype = is_float(given.dtype()) ? given.dtype() : DType::f64;
  const Array image = astype(given, size_of(dtype) < 4 ? DType::f32 : dtype);
  const Images images("avg_pool", image, x.where());
  const Placement at = pooling(images, size, options);
  const Array windows = windows_of(padded(image, at.low, at.high, 0), at);
  const Array sums = sum(windows, last_axes(windows, images.spatial()));
  if (!count_include_pad) return astype(sums / seen(images, at, image.dtype()), dtype);
  const int64_t count = std::accumulate(at.size.begin(), at.size.end(), int64_t{1}, std::multiplies<>());
  return astype(sums / static_cast<double>(count), dtype);
}

}  // namespace tokamak
