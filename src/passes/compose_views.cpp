#include "passes/compose_views.h"

#include <utility>

#include "passes/views/context.h"

namespace tokamak {
namespace {

/// Bounds on the rewriting of one node, so that the pass stays linear: steps in a row, and nodes within
/// nodes.
constexpr int kMaxSteps = 32;
constexpr int kMaxDepth = 8;

ViewRule rule_of(Op op) {
  switch (op) {
    case Op::transpose:
      return rewrite_transpose;
    case Op::reverse:
      return rewrite_reverse;
    case Op::reshape:
      return rewrite_reshape;
    case Op::broadcast:
      return rewrite_broadcast;
    case Op::slice:
      return rewrite_slice;
    case Op::dynamic_slice:
      return rewrite_dynamic_slice;
    case Op::concatenate:
      return rewrite_concatenate;
    case Op::pad:
      return rewrite_pad;
    default:
      break;
  }
  if (family_of(op) == OpFamily::Elementwise) return rewrite_elementwise;
  if (family_of(op) == OpFamily::Reduce) return rewrite_reduction;
  return nullptr;
}

/// The concatenations that are read by others along the same axis, through slices too, and by slices of one
/// piece of theirs, which look past them.
class Nests {
 public:
  explicit Nests(const Graph& graph) : graph_(graph), inner_(graph.size(), true) {
    for (Value output : graph.outputs()) inner_[index_of(output)] = false;
    std::vector<int64_t> joined_along(graph.size(), kNobody);  // slices: the axis that all readers join along
    for (size_t i = graph.size(); i-- > 0;) {                  // readers come after what they read
      const Node& node = graph.nodes()[i];
      if (node.op == Op::concatenate) {
        for (Value input : node.inputs) read_by(input, node.attributes.integer(Attr::axis), joined_along);
      } else if (node.op == Op::slice) {
        if (!inner_[i]) joined_along[i] = kSeveral;
        read_by_slice(static_cast<Value>(i), joined_along[i]);
      } else {
        for (Value input : node.inputs) inner_[index_of(input)] = false;
      }
    }
  }

  bool is_inner(Value concatenation) const { return inner_[index_of(concatenation)]; }

 private:
  static constexpr int64_t kNobody = -1;
  static constexpr int64_t kSeveral = -2;

  void read_by(Value value, int64_t axis, std::vector<int64_t>& joined_along) {
    int64_t& known = joined_along[index_of(value)];
    known = known == kNobody || known == axis ? axis : kSeveral;
    const Node& node = graph_[value];
    if (node.op == Op::concatenate && node.attributes.integer(Attr::axis) != axis)
      inner_[index_of(value)] = false;
  }

  void read_by_slice(Value slice, int64_t joined_along) {
    const Value whole = graph_[slice].inputs[0];
    const Node& node = graph_[whole];
    if (node.op != Op::concatenate) {
      inner_[index_of(whole)] = false;
      return;
    }
    const int64_t axis = node.attributes.integer(Attr::axis);
    if (joined_along != axis && !is_within_one_piece(slice, node, static_cast<size_t>(axis)))
      inner_[index_of(whole)] = false;
  }

  bool is_within_one_piece(Value slice, const Node& concatenation, size_t axis) const {
    const AxisRange range = ranges_of(graph_[slice].attributes, concatenation.type.shape)[axis];
    int64_t begin = 0;
    for (Value piece : concatenation.inputs) {
      const int64_t end = begin + graph_.type_of(piece).shape[axis];
      if (range.start < end) return range.count > 0 && range.last() < end;
      begin = end;
    }
    return false;
  }

  const Graph& graph_;
  std::vector<bool> inner_;
};

}  // namespace

Value ViewContext::make(Pending pending, const SourceLocation& where) {
  const SourceLocation* outer = std::exchange(where_, &where);
  ++depth_;
  std::optional<Value> found;
  for (int step = 0; step < kMaxSteps && depth_ <= kMaxDepth && !found; ++step) {
    const ViewRule rule = rule_of(pending.op);
    std::optional<Rewrite> rewrite = rule == nullptr ? std::nullopt : rule(*this, pending);
    if (!rewrite) break;
    if (const Value* value = std::get_if<Value>(&*rewrite)) {
      found = *value;
    } else {
      pending = std::get<Pending>(std::move(*rewrite));
    }
  }
  --depth_;
  where_ = outer;
  if (found) return *found;
  return made_.add(pending.op, std::move(pending.inputs), std::move(pending.attributes), where);
}

const std::vector<int64_t>& ViewContext::offsets_of(Value concatenation) {
  const auto [place, is_new] = offsets_.try_emplace(index_of(concatenation));
  if (is_new) {
    const Node& node = made_[concatenation];
    const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
    place->second.push_back(0);
    for (Value piece : node.inputs) place->second.push_back(place->second.back() + shape_of(piece)[axis]);
  }
  return place->second;
}

Graph compose_views(const Graph& graph) {
  GraphRewriter rewriter(graph);
  ViewContext context(rewriter.graph());
  const Nests nests(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const Value value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (rule_of(node.op) == nullptr) {
      rewriter.copy(value);
      continue;
    }
    Pending pending{node.op, rewriter(std::span<const Value>(node.inputs)), node.attributes};
    context.want_flat(!nests.is_inner(value));
    const Value made = context.make(std::move(pending), node.where);
    if (context.is_wanted_flat()) context.note_flat(made);
    rewriter.map(value, made);
  }
  return rewriter.finish();
}

}  // namespace tokamak
