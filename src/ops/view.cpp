#include "ops/view.h"

#include "ops/type_rules.h"

namespace tokamak::rules {

/// broadcast {shape}: aligned on the right, extent 1 stretches.
TensorType broadcast(const TypeContext& context) {
  const TensorType& from = context.inputs[0];
  const Shape& to = context.attributes.ints(Attr::shape);
  const std::string words = to_string(from) + " does not broadcast to " + to_string(to);
  if (to.size() < from.shape.size()) context.fail(words + ", which has fewer axes");
  const size_t added = to.size() - from.shape.size();
  for (size_t axis = 0; axis < from.shape.size(); ++axis) {
    const int64_t extent = from.shape[axis];
    if (extent != 1 && extent != to[axis + added]) {
      context.fail(words + ": axis " + std::to_string(axis + added) + " is " + std::to_string(extent) +
                   " and " + std::to_string(to[axis + added]));
    }
  }
  return {from.dtype, to};
}

/// reshape {shape}: the same elements in row-major order.
TensorType reshape(const TypeContext& context) {
  const TensorType& from = context.inputs[0];
  TensorType to{from.dtype, context.attributes.ints(Attr::shape)};
  require_size(context, to);
  if (to.elements() != from.elements()) {
    context.fail("cannot reshape " + to_string(from) + " to " + to_string(to.shape) + ": " +
                 std::to_string(from.elements()) + " elements do not make " + std::to_string(to.elements()));
  }
  return to;
}

/// transpose {permutation}: axis i of the result is axis permutation[i] of the operand.
TensorType transpose(const TypeContext& context) {
  const TensorType& from = context.inputs[0];
  const Ints& permutation = require_per_axis(context, Attr::permutation, from);
  std::vector<bool> seen(permutation.size(), false);
  TensorType to{from.dtype, {}};
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= from.rank() || seen[static_cast<size_t>(axis)]) {
      context.fail(to_string(permutation) + " is not a permutation of the axes of " + to_string(from));
    }
    seen[static_cast<size_t>(axis)] = true;
    to.shape.push_back(from.shape[static_cast<size_t>(axis)]);
  }
  return to;
}

/// slice {starts, limits, steps}: starts[i], starts[i] + steps[i], ... while below limits[i].
TensorType slice(const TypeContext& context) {
  const TensorType& from = context.inputs[0];
  const Ints& starts = require_per_axis(context, Attr::starts, from);
  const Ints& limits = require_per_axis(context, Attr::limits, from);
  const Ints& steps = require_per_axis(context, Attr::steps, from);
  TensorType to{from.dtype, {}};
  for (size_t i = 0; i < starts.size(); ++i) {
    const std::string range = std::to_string(starts[i]) + ":" + std::to_string(limits[i]) + " of axis " +
                              std::to_string(i) + " of " + to_string(from);
    if (starts[i] < 0 || starts[i] > limits[i] || limits[i] > from.shape[i]) {
      context.fail("range " + range + " is not within 0:" + std::to_string(from.shape[i]));
    }
    if (steps[i] <= 0)
      context.fail("range " + range + " has step " + std::to_string(steps[i]) + "; it must be positive");
    const int64_t length = limits[i] - starts[i];
    to.shape.push_back(length == 0 ? 0 : (length - 1) / steps[i] + 1);
  }
  return to;
}

TensorType reverse(const TypeContext& context) {
  require_axes(context, context.inputs[0]);
  return context.inputs[0];
}

/// window {axes, sizes, steps, dilations}: the windows of sizes[i] elements, dilations[i] apart, that fit
/// along axes[i], one every steps[i]. An axis becomes the axis of windows; the positions inside them are new
/// last axes.
///   f32[5] {axes=[0], sizes=[3], steps=[1], dilations=[1]}  =>  f32[3,3]
TensorType window(const TypeContext& context) {
  const TensorType& from = context.inputs[0];
  const Ints& axes = require_axes(context, from);
  TensorType to = from;
  for (Attr name : {Attr::sizes, Attr::steps, Attr::dilations}) {
    const Ints& list = context.attributes.ints(name);
    if (list.size() != axes.size())
      context.fail(std::string(name_of(name)) + " has " + std::to_string(list.size()) + " entries for " +
                   std::to_string(axes.size()) + " axes");
    for (int64_t entry : list) {
      if (entry <= 0) context.fail(std::string(name_of(name)) + " must be positive, not " + to_string(list));
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& extent = to.shape[static_cast<size_t>(axes[i])];
    const int64_t size = context.attributes.ints(Attr::sizes)[i];
    const int64_t dilation = context.attributes.ints(Attr::dilations)[i];
    if (size > extent || (size - 1) > (extent - 1) / dilation) {
      context.fail("a window of " + std::to_string(size) + " elements" +
                   (dilation == 1 ? "" : ", " + std::to_string(dilation) + " apart,") +
                   " does not fit into axis " + std::to_string(axes[i]) + " of " + to_string(from));
    }
    extent = (extent - 1 - (size - 1) * dilation) / context.attributes.ints(Attr::steps)[i] + 1;
    to.shape.push_back(size);
  }
  return to;
}

}  // namespace tokamak::rules
