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

}  // namespace tokamak::rules
