#include "passes/narrow_sorts.h"

#include <algorithm>

#include "ops/sort.h"

namespace tokamak {
namespace {

bool sorts(const Node& node) { return family_of(node.op) == OpFamily::Sort; }

/// For every value the range along a sorted axis that is read of it.
class RangesRead {
 public:
  explicit RangesRead(const Graph& graph) : graph_(graph), ranges_(graph.size(), SortRange{INT64_MAX, 0}) {
    for (Value output : graph.outputs()) read_all(output);
    for (const Node& node : graph.nodes()) {
      for (Value input : node.inputs) {
        if (!sorts(graph[input])) continue;
        if (node.op == Op::slice) {
          const auto axis = static_cast<size_t>(graph[input].attributes.integer(Attr::axis));
          read(input, {node.attributes.ints(Attr::starts)[axis], node.attributes.ints(Attr::limits)[axis]});
        } else {
          read_all(input);
        }
      }
    }
  }

  /// The range that is read of a sort, where that is not all of it.
  std::optional<SortRange> of(Value sort) const {
    const SortRange& range = ranges_[index_of(sort)];
    const bool is_all = range.first == 0 && range.last == extent(sort);
    return is_all || range.first >= range.last ? std::nullopt : std::optional(range);
  }

 private:
  int64_t extent(Value sort) const {
    return graph_.type_of(sort).shape[static_cast<size_t>(graph_[sort].attributes.integer(Attr::axis))];
  }
  void read(Value sort, const SortRange& part) {
    SortRange& range = ranges_[index_of(sort)];
    range = {std::min(range.first, part.first), std::max(range.last, part.last)};
  }
  void read_all(Value value) {
    if (sorts(graph_[value])) read(value, {0, extent(value)});
  }

  const Graph& graph_;
  std::vector<SortRange> ranges_;
};

Attributes with_range(const Node& sort, const SortRange& range) {
  const int64_t before = range_of_sort(sort.attributes, 0).first;
  Attributes attributes = sort.attributes;
  attributes.set(Attr::starts, Ints{before + range.first});
  attributes.set(Attr::limits, Ints{before + range.last});
  return attributes;
}

/// The attributes of a slice of what begins `by` elements later along the axis.
Attributes shifted(const Node& slice, size_t axis, int64_t by) {
  Attributes attributes = slice.attributes;
  for (Attr name : {Attr::starts, Attr::limits}) {
    Ints bounds = slice.attributes.ints(name);
    bounds[axis] -= by;
    attributes.set(name, std::move(bounds));
  }
  return attributes;
}

}  // namespace

Graph narrow_sorts(const Graph& graph) {
  const RangesRead read(graph);
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = graph[value];
    const std::optional<SortRange> range = sorts(node) ? read.of(value) : std::nullopt;
    const std::optional<SortRange> of_input =
        node.op == Op::slice && sorts(graph[node.inputs[0]]) ? read.of(node.inputs[0]) : std::nullopt;
    if (range) {
      rewriter.map(
          value, rewriter.graph().add(node.op, rewriter(node.inputs), with_range(node, *range), node.where));
    } else if (of_input) {
      const auto axis = static_cast<size_t>(graph[node.inputs[0]].attributes.integer(Attr::axis));
      rewriter.map(value, rewriter.graph().add(Op::slice, rewriter(node.inputs),
                                               shifted(node, axis, of_input->first), node.where));
    } else {
      rewriter.copy(value);
    }
  }
  return rewriter.finish();
}

}  // namespace tokamak
