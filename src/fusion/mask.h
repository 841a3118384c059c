#pragma once

// What finding masks and reading them have in common: see hidden.h.

#include "fusion/kernel.h"
#include "fusion/product.h"

namespace tokamak {

/// A number that is meant to hide what it is put in the place of, or added to.
inline constexpr double kFarBelow = -1e4;

inline bool is_number(const Graph& body, Value value) {
  return body[value].op == Op::constant && body[value].type.elements() == 1;
}

inline double number(const Graph& body, Value value) {
  return element_as_double(*body.constant_value(value), 0);
}

/// Whether a view keeps the axes that are longer than 1 in their order.
inline bool keeps_order(const Graph& body, const Node& view) {
  const Shape& from = body.type_of(view.inputs[0]).shape;
  if (view.op == Op::reshape || view.op == Op::broadcast)
    return without_ones(from) == without_ones(view.type.shape);
  if (view.op != Op::transpose) return false;
  int64_t last = -1;
  for (int64_t axis : view.attributes.ints(Attr::permutation)) {
    if (from[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace tokamak
