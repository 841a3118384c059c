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
  for (size_t i = 0; i < graph.size(); ++i) {
    const Value value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (rule_of(node.op) == nullptr) {
      rewriter.copy(value);
      continue;
    }
    Pending pending{node.op, rewriter(std::span<const Value>(node.inputs)), node.attributes};
    rewriter.map(value, context.make(std::move(pending), node.where));
  }
  return rewriter.finish();
}

}  // namespace tokamak
