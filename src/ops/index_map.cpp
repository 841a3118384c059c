#include "ops/index_map.h"

#include <algorithm>

namespace tokamak {
namespace {

/// NumPy's broadcasting: axes align on the right, extent 1 reads element 0.
std::vector<Index> broadcast_index(const Shape& operand, const std::vector<Index>& at) {
  std::vector<Index> index(operand.size());
  const size_t offset = at.size() - operand.size();
  for (size_t axis = 0; axis < operand.size(); ++axis) {
    if (operand[axis] != 1) index[axis] = at[axis + offset];
  }
  return index;
}

/// Reshape, group by group: where a run of axes on one side has the same product as a run on the other, only
/// that run is linearised, so that [8,3,4] to [8,12] keeps the first axis as it is. Nothing of an empty
/// operand is read, as long as the read is in the loop that has no steps: its empty axis has the index of the
/// result's.
std::vector<Index> reshape_index(const Shape& from, const Shape& to, const std::vector<Index>& at,
                                 const Extents& extents) {
  std::vector<Index> index(from.size());
  if (element_count(from) == 0) {
    const auto empty_axis = [](const Shape& shape) {
      return std::find(shape.begin(), shape.end(), 0) - shape.begin();
    };
    index[static_cast<size_t>(empty_axis(from))] = at[static_cast<size_t>(empty_axis(to))];
    return index;
  }
  size_t i = 0;
  size_t o = 0;
  while (i < from.size() || o < to.size()) {
    const size_t i0 = i;
    const size_t o0 = o;
    int64_t in = 1;
    int64_t out = 1;
    if (i < from.size()) in = from[i++];
    if (o < to.size()) out = to[o++];
    while (in != out) {
      if (in < out) {
        in *= from[i++];
      } else {
        out *= to[o++];
      }
    }
    const Shape in_run(from.begin() + static_cast<int64_t>(i0), from.begin() + static_cast<int64_t>(i));
    const Shape out_run(to.begin() + static_cast<int64_t>(o0), to.begin() + static_cast<int64_t>(o));
    const std::vector<Index> run(at.begin() + static_cast<int64_t>(o0), at.begin() + static_cast<int64_t>(o));
    const std::vector<Index> part = delinearise(linearise(run, out_run), in_run, extents);
    std::copy(part.begin(), part.end(), index.begin() + static_cast<int64_t>(i0));
  }
  return index;
}

std::vector<Index> view_index(const Node& node, const Shape& operand, const std::vector<Index>& at,
                              const Extents& extents) {
  std::vector<Index> index(operand.size());
  switch (node.op) {
    case Op::broadcast:
      return broadcast_index(operand, at);
    case Op::reshape:
      return reshape_index(operand, node.type.shape, at, extents);
    case Op::transpose: {
      const Ints& permutation = node.attributes.ints(Attr::permutation);
      for (size_t axis = 0; axis < at.size(); ++axis)
        index[static_cast<size_t>(permutation[axis])] = at[axis];
      return index;
    }
    case Op::slice: {
      const Ints& starts = node.attributes.ints(Attr::starts);
      const Ints& steps = node.attributes.ints(Attr::steps);
      for (size_t axis = 0; axis < at.size(); ++axis)
        index[axis] = at[axis] * steps[axis] + Index(starts[axis]);
      return index;
    }
    case Op::reverse: {
      index = at;
      for (int64_t axis : node.attributes.ints(Attr::axes)) {
        const auto a = static_cast<size_t>(axis);
        index[a] = Index(operand[a] - 1) - at[a];
      }
      return index;
    }
    case Op::window: {
      std::copy_n(at.begin(), operand.size(), index.begin());
      const Ints& axes = node.attributes.ints(Attr::axes);
      for (size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<size_t>(axes[i]);
        index[axis] = at[axis] * node.attributes.ints(Attr::steps)[i] +
                      at[operand.size() + i] * node.attributes.ints(Attr::dilations)[i];
      }
      return index;
    }
    default:
      throw InternalError(std::string(name_of(node.op)) + " is not a view", node.where);
  }
}

std::vector<ElementRead> pad_reads(const Node& node, const Shape& operand, const std::vector<Index>& at,
                                   const Extents& extents) {
  const Ints& low = node.attributes.ints(Attr::low);
  const Ints& high = node.attributes.ints(Attr::high);
  const bool has_interior = node.attributes.has(Attr::interior);
  ElementRead inside{0, {}, {}};
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const int64_t step = has_interior ? node.attributes.ints(Attr::interior)[axis] + 1 : 1;
    const Index shifted = at[axis] - Index(low[axis]);
    if (low[axis] != 0 || high[axis] != 0 || operand[axis] == 0) {
      inside.guard.push_back({shifted, 0, (operand[axis] - 1) * step + 1});
    }
    if (step != 1) inside.guard.push_back({modulo(shifted, step, extents), 0, 1});
    inside.index.push_back(divide(shifted, step, extents));
  }
  return {inside, {1, {}, {}}};
}

std::vector<ElementRead> concatenate_reads(const Graph& graph, const Node& node,
                                           const std::vector<Index>& at) {
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  std::vector<ElementRead> reads;
  int64_t start = 0;
  for (size_t operand = 0; operand < node.inputs.size(); ++operand) {
    const int64_t extent = graph.type_of(node.inputs[operand]).shape[axis];
    ElementRead read{operand, at, {{at[axis], start, start + extent}}};
    read.index[axis] = at[axis] - Index(start);
    reads.push_back(std::move(read));
    start += extent;
  }
  return reads;
}

std::vector<ElementRead> gather_reads(const Graph& graph, const Node& node, const std::vector<Index>& at,
                                      const DataIndex& data) {
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const Shape& operand = graph.type_of(node.inputs[0]).shape;
  const size_t index_rank = graph.type_of(node.inputs[1]).shape.size();
  const auto first = at.begin() + static_cast<int64_t>(axis);
  const auto last = first + static_cast<int64_t>(index_rank);
  std::vector<Index> index(at.begin(), first);
  index.push_back(Index::of(data(1, std::vector<Index>(first, last), operand[axis])));
  index.insert(index.end(), last, at.end());
  const Guard never{{Index(0), 1, 1}};  // an empty operand has nothing to read
  return {{0, std::move(index), operand[axis] == 0 ? never : Guard{}}};
}

/// The start of a dynamic window along each axis. Operands `first`, `first + 1`, ... are the scalar starts.
std::vector<Index> window_starts(const Shape& operand, const Shape& window, size_t first,
                                 const DataIndex& data) {
  std::vector<Index> starts;
  for (size_t axis = 0; axis < operand.size(); ++axis) {
    starts.push_back(Index::of(data(first + axis, {}, operand[axis] - window[axis] + 1)));
  }
  return starts;
}

std::vector<ElementRead> dynamic_update_reads(const Graph& graph, const Node& node,
                                              const std::vector<Index>& at, const DataIndex& data) {
  const Shape& window = graph.type_of(node.inputs[1]).shape;
  const std::vector<Index> starts = window_starts(node.type.shape, window, 2, data);
  ElementRead update{1, {}, {}};
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const Index inside = at[axis] - starts[axis];
    update.guard.push_back({inside, 0, window[axis]});
    update.index.push_back(inside);
  }
  return {update, {0, at, {}}};
}

}  // namespace

bool is_pointwise(Op op) {
  switch (family_of(op)) {
    case OpFamily::Elementwise:
    case OpFamily::View:
      return true;
    case OpFamily::Source:
      return op == Op::iota;
    case OpFamily::Index:
      return op != Op::scatter;
    case OpFamily::Reduce:
    case OpFamily::Cumulative:
    case OpFamily::Sort:
    case OpFamily::Contract:
      return false;
  }
  return false;
}

Index linearise(const std::vector<Index>& index, const Shape& shape) {
  Index position;
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1) position = position + index[axis] * stride;
    stride *= shape[axis];
  }
  return position;
}

std::vector<Index> delinearise(const Index& position, const Shape& shape, const Extents& extents) {
  std::vector<Index> index(shape.size());
  int64_t stride = 1;
  const int64_t total = element_count(shape);
  for (size_t axis = shape.size(); axis-- > 0;) {
    const int64_t extent = shape[axis];
    if (extent == 1) continue;
    const Index quotient = divide(position, stride, extents);
    // The outermost axis that matters needs no modulo: the position is inside the shape.
    index[axis] = stride * extent == total ? quotient : modulo(quotient, extent, extents);
    stride *= extent;
  }
  return index;
}

std::vector<ElementRead> reads_of(const Graph& graph, Value value, const std::vector<Index>& at,
                                  const Extents& extents, const DataIndex& data) {
  const Node& node = graph[value];
  auto operand_shape = [&](size_t operand) -> const Shape& {
    return graph.type_of(node.inputs[operand]).shape;
  };
  switch (family_of(node.op)) {
    case OpFamily::Source:
      return {};
    case OpFamily::Elementwise: {
      std::vector<ElementRead> reads;
      for (size_t i = 0; i < node.inputs.size(); ++i)
        reads.push_back({i, broadcast_index(operand_shape(i), at), {}});
      return reads;
    }
    case OpFamily::View:
      return {{0, view_index(node, operand_shape(0), at, extents), {}}};
    case OpFamily::Index:
      break;
    case OpFamily::Reduce:
    case OpFamily::Cumulative:
    case OpFamily::Sort:
    case OpFamily::Contract:
      throw InternalError(std::string(name_of(node.op)) + " is not pointwise", node.where);
  }
  switch (node.op) {
    case Op::pad:
      return pad_reads(node, operand_shape(0), at, extents);
    case Op::concatenate:
      return concatenate_reads(graph, node, at);
    case Op::gather:
      return gather_reads(graph, node, at, data);
    case Op::dynamic_slice: {
      std::vector<Index> index = window_starts(operand_shape(0), node.attributes.ints(Attr::sizes), 1, data);
      for (size_t axis = 0; axis < at.size(); ++axis) index[axis] = index[axis] + at[axis];
      return {{0, std::move(index), {}}};
    }
    case Op::dynamic_update_slice:
      return dynamic_update_reads(graph, node, at, data);
    default:
      throw InternalError(std::string(name_of(node.op)) + " is not pointwise", node.where);
  }
}

std::vector<ElementRead> reads_of(const Graph& graph, Value value, const std::vector<Index>& at,
                                  const Guard& where, const Extents& extents, const DataIndex& data) {
  std::vector<ElementRead> reads = reads_of(graph, value, at, extents, data);
  if (family_of(graph[value].op) == OpFamily::Elementwise) return reads;  // all of them count
  std::vector<ElementRead> possible;
  for (ElementRead& read : reads) {
    Guard open;
    bool may_hold = true;
    for (Condition& condition : read.guard) {
      const std::optional<bool> holds = decided(condition, where, extents);
      may_hold = may_hold && holds != false;
      if (holds != true) open.push_back(std::move(condition));
    }
    const bool is_only_one = possible.empty() && &read == &reads.back();
    if (!may_hold && !is_only_one) continue;
    const bool is_certain = open.empty();
    const Guard inside = both(where, open);
    for (Index& index : read.index) index = where_holds(index, inside);
    possible.push_back({read.operand, std::move(read.index), std::move(open)});
    if (is_certain) break;
  }
  return possible;
}

}  // namespace tokamak
