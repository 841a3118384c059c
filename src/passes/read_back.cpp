#include "passes/read_back.h"

#include <algorithm>

#include "ops/record.h"
#include "passes/views/context.h"

namespace tokamak {
namespace {

/// Where a result lies in an array that is kept.
struct Place {
  Value array;
  std::vector<AxisRange> ranges;
};

class Places {
 public:
  explicit Places(const Graph& graph)
      : graph_(graph), users_(graph.size(), 0), slices_(graph.size(), 0), is_output_(graph.size(), false) {
    for (const Node& node : graph.nodes()) {
      for (Value input : node.inputs) {
        ++users_[index_of(input)];
        slices_[index_of(input)] += node.op == Op::slice ? 1 : 0;
      }
    }
    for (Value output : graph.outputs()) is_output_[index_of(output)] = true;
  }

  /// What `array`, a select, has in it that others read too.
  std::optional<std::pair<Value, Place>> written(Value array) const {
    const Node& select = graph_[array];
    if (select.op != Op::select || !is_kept(array)) return std::nullopt;
    for (size_t i : {1, 2}) {
      const Node& pad = graph_[select.inputs[i]];
      if (pad.op != Op::pad || users_[index_of(select.inputs[i])] != 1) continue;
      const Value result = pad.inputs[0];
      if (users_[index_of(result)] < 2 || is_output_[index_of(result)] || !takes_work(result)) continue;
      const std::optional<std::vector<AxisRange>> ranges = ranges_inside(pad);
      if (ranges && chosen_for(graph_, array, *ranges) == select.inputs[i])
        return std::pair(result, Place{array, *ranges});
    }
    return std::nullopt;
  }

 private:
  /// An array of which several parts are read, or all of it by the caller, lies in memory.
  bool is_kept(Value array) const { return is_output_[index_of(array)] || slices_[index_of(array)] >= 2; }

  /// Whether computing it again is more than reading it is.
  bool takes_work(Value value) const {
    constexpr int64_t kReads = 2;
    const Node& node = graph_[value];
    if (family_of(node.op) != OpFamily::Elementwise) return false;
    return std::count_if(node.inputs.begin(), node.inputs.end(), [&](Value input) {
             return graph_.type_of(input).shape.size() > 0 && graph_.constant_value(input) == nullptr;
           }) >= kReads;
  }

  /// The elements of what is padded; nullopt where others lie between them, or some are cut off.
  std::optional<std::vector<AxisRange>> ranges_inside(const Node& pad) const {
    const Shape& shape = graph_.type_of(pad.inputs[0]).shape;
    std::vector<AxisRange> ranges;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t low = pad.attributes.ints(Attr::low)[axis];
      const int64_t high = pad.attributes.ints(Attr::high)[axis];
      if (low < 0 || high < 0 || pad.attributes.ints(Attr::interior)[axis] != 0) return std::nullopt;
      ranges.push_back({low, 1, shape[axis]});
    }
    return ranges;
  }

  const Graph& graph_;
  std::vector<int> users_;
  std::vector<int> slices_;
  std::vector<bool> is_output_;
};

}  // namespace

Graph read_back(const Graph& graph) {
  const Places places(graph);
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    if (!rewriter.is_mapped(value)) rewriter.copy(value);
    const auto written = places.written(value);
    if (!written) continue;
    const auto& [result, place] = *written;
    rewriter.map(result, rewriter.graph().add(Op::slice, {rewriter(place.array)},
                                              slice_attributes(place.ranges), graph[result].where));
  }
  return rewriter.finish();
}

}  // namespace tokamak
