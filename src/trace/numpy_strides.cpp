#include "trace/numpy_strides.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace tokamak {
namespace {

using Strides = std::vector<int64_t>;

/// Whether NumPy, going through these arrays at once, takes axis `outer` inside of axis `inner`, which comes
/// after it in shape: when all of them that tell lie that way. An axis along which elements are repeated
/// tells nothing; nullopt when none does.
std::optional<bool> swapped(const std::vector<Strides>& operands, size_t outer, size_t inner) {
  std::optional<bool> swap;
  for (const Strides& strides : operands) {
    if (strides[outer] == 0 || strides[inner] == 0) continue;
    const bool wants = std::abs(strides[inner]) > std::abs(strides[outer]);
    swap = swap.value_or(true) && wants;
  }
  return swap;
}

/// The order in which NumPy puts arrays of one rank that are joined. It differs from that of going through
/// them where some axes tell nothing.
AxisOrder joined_order(const std::vector<Strides>& operands, size_t rank) {
  AxisOrder order;
  for (size_t axis = 0; axis < rank; ++axis) {
    size_t place = order.size();
    for (size_t at = order.size(); at-- > 0;) {
      const std::optional<bool> swap = swapped(operands, static_cast<size_t>(order[at]), axis);
      if (swap == false) break;
      if (swap == true) place = at;
    }
    order.insert(order.begin() + static_cast<int64_t>(place), static_cast<int64_t>(axis));
  }
  return order;
}

/// Strides of an operand as it takes part in an operation of that rank: 0 where it is stretched.
Strides aligned(const Strides& strides, const Shape& shape, size_t rank) {
  Strides result(rank, 0);
  const size_t added = rank - shape.size();
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1) result[axis + added] = strides[axis];
  return result;
}

/// The strides of the same memory in another shape, without axes of one element; nullopt where it has to be
/// copied. Axes that are split or merged must lie one inside the other without gaps.
std::optional<Strides> reshaped(const Shape& from, const Strides& strides, const Shape& to) {
  if (std::ranges::find(from, 0) != from.end()) return std::nullopt;
  Strides result(to.size(), 0);
  size_t old = 0;
  size_t made = 0;
  while (old < from.size() && made < to.size()) {
    size_t old_end = old + 1;
    size_t made_end = made + 1;
    int64_t old_size = from[old];
    int64_t made_size = to[made];
    while (old_size != made_size) {
      if (made_size < old_size) {
        made_size *= to[made_end++];
      } else {
        old_size *= from[old_end++];
      }
    }
    size_t last = old;  // with more than one element
    for (size_t axis = old; axis < old_end; ++axis) {
      if (from[axis] == 1) continue;
      if (from[last] != 1 && last != axis && strides[last] != strides[axis] * from[axis]) return std::nullopt;
      last = axis;
    }
    int64_t stride = strides[last];
    for (size_t axis = made_end; axis-- > made;) {
      result[axis] = stride;
      stride *= to[axis];
    }
    old = old_end;
    made = made_end;
  }
  return result;
}

/// What is left when axes are dropped.
Strides without(const Strides& strides, const Ints& axes) {
  Strides left;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (std::ranges::find(axes, static_cast<int64_t>(axis)) == axes.end()) left.push_back(strides[axis]);
  return left;
}

/// The strides of an array that is copied as it lies, or joined with others: an axis along which elements are
/// repeated is the innermost one, and only those of one element tell nothing.
Strides telling(const Strides& strides, const Shape& shape, size_t rank) {
  Strides result(rank, 0);
  const size_t added = rank - shape.size();
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1) result[axis + added] = 2 * std::abs(strides[axis]) + 1;
  return result;
}

}  // namespace

AxisOrder common_order(const std::vector<Strides>& operands, size_t rank) {
  AxisOrder order;  // from the innermost to the outermost, until the end
  for (size_t axis = rank; axis-- > 0;) {
    size_t place = order.size();
    for (size_t at = order.size(); at-- > 0;) {
      const std::optional<bool> swap = swapped(operands, axis, static_cast<size_t>(order[at]));
      if (swap == false) break;
      if (swap == true) place = at;
    }
    order.insert(order.begin() + static_cast<int64_t>(place), static_cast<int64_t>(axis));
  }
  std::ranges::reverse(order);
  return order;
}

AxisOrder order_in_memory(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  AxisOrder moved;  // axes of one element stay where they are
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (shape[axis] == 0 || strides[axis] == 0) return {};
    moved.push_back(static_cast<int64_t>(axis));
  }
  const AxisOrder places = moved;
  std::ranges::stable_sort(moved, std::greater<>(),
                           [&](int64_t axis) { return std::abs(strides[static_cast<size_t>(axis)]); });
  if (moved == places) return {};
  AxisOrder order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < places.size(); ++i) order[static_cast<size_t>(places[i])] = moved[i];
  return order;
}

AxisOrder inverse(const AxisOrder& order) {
  AxisOrder result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

std::vector<int64_t> strides_in_order(std::span<const int64_t> shape, const AxisOrder& order) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const size_t axis = order.empty() ? i : static_cast<size_t>(order[i]);
    strides[axis] = step;
    step *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

std::vector<int64_t> NumpyStrides::of(const Graph& graph, Value value) {
  for (; known_ <= index_of(value); ++known_) {
    const Node& node = graph.nodes()[known_];
    if (auto said = said_.find(static_cast<uint32_t>(known_)); said != said_.end()) {
      unusual_.insert(said_.extract(said));
      continue;
    }
    const bool from_usual = std::ranges::none_of(
        node.inputs, [&](Value input) { return unusual_.contains(static_cast<uint32_t>(index_of(input))); });
    if (from_usual && node.op != Op::transpose && node.op != Op::broadcast && node.op != Op::window) continue;
    const Shape& shape = node.type.shape;
    Strides made = made_by(graph, node);
    if (made != strides_in_order(shape, {})) unusual_.emplace(static_cast<uint32_t>(known_), std::move(made));
  }
  return known(graph, value);
}

void NumpyStrides::say(Value value, std::vector<int64_t> strides) {
  auto& list = index_of(value) < known_ ? unusual_ : said_;
  list.insert_or_assign(static_cast<uint32_t>(index_of(value)), std::move(strides));
}

std::vector<int64_t> NumpyStrides::known(const Graph& graph, Value value) const {
  auto found = unusual_.find(static_cast<uint32_t>(index_of(value)));
  return found != unusual_.end() ? found->second : strides_in_order(graph.type_of(value).shape, {});
}

std::vector<int64_t> NumpyStrides::made_by(const Graph& graph, const Node& node) const {
  const Shape& shape = node.type.shape;
  const Strides usual = strides_in_order(shape, {});
  if (node.inputs.empty()) return usual;
  const Shape& from = graph.type_of(node.inputs[0]).shape;
  const Strides first = known(graph, node.inputs[0]);
  auto in_common_order = [&](const std::vector<Strides>& operands) {
    return strides_in_order(shape, common_order(operands, shape.size()));
  };
  auto all_inputs = [&] {
    std::vector<Strides> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      operands.push_back(
          aligned(known(graph, node.inputs[i]), graph.type_of(node.inputs[i]).shape, shape.size()));
    return operands;
  };
  switch (node.op) {
    case Op::transpose:
      return in_order(first, node.attributes.ints(Attr::permutation));
    case Op::broadcast:
      // What is stored as one number is no view, but an array that is the same everywhere.
      if (from.empty() || (graph.nodes()[index_of(node.inputs[0])].op == Op::constant &&
                           std::ranges::all_of(from, [](int64_t n) { return n == 1; })))
        return usual;
      return aligned(first, from, shape.size());
    case Op::slice: {
      Strides strides = first;
      const Ints& steps = node.attributes.ints(Attr::steps);
      for (size_t axis = 0; axis < strides.size(); ++axis) strides[axis] *= steps[axis];
      return strides;
    }
    case Op::window: {
      Strides strides = first;
      const Ints& axes = node.attributes.ints(Attr::axes);
      for (size_t i = 0; i < axes.size(); ++i) {
        int64_t& stride = strides[static_cast<size_t>(axes[i])];
        strides.push_back(stride * node.attributes.ints(Attr::dilations)[i]);
        stride *= node.attributes.ints(Attr::steps)[i];
      }
      return strides;
    }
    case Op::reverse:
      return first;
    case Op::reshape:
      return reshaped(from, first, shape).value_or(usual);
    case Op::concatenate: {
      std::vector<Strides> operands;
      for (Value input : node.inputs)
        operands.push_back(telling(known(graph, input), graph.type_of(input).shape, shape.size()));
      return strides_in_order(shape, joined_order(operands, shape.size()));
    }
    case Op::gather:  // from a table, in the order of the indices
      return from.size() == 1 && shape.size() == graph.type_of(node.inputs[1]).shape.size()
                 ? in_common_order({all_inputs()[1]})
                 : usual;
    case Op::sort:
      return in_common_order({telling(first, from, from.size())});
    case Op::convert:
      // To another dtype it is often none that the program has: NumPy goes through what is converted as it
      // lies.
      return graph.type_of(node.inputs[0]).dtype == node.type.dtype ? usual : first;
    default:
      break;
  }
  if (family_of(node.op) == OpFamily::Cumulative) return in_common_order({aligned(first, from, from.size())});
  if (family_of(node.op) == OpFamily::Elementwise) return in_common_order(all_inputs());
  if (family_of(node.op) == OpFamily::Reduce && node.op != Op::argmax && node.op != Op::argmin)
    return in_common_order({without(aligned(first, from, from.size()), node.attributes.ints(Attr::axes))});
  return usual;
}

}  // namespace tokamak
