#include "passes/expand_sums.h"

#include <algorithm>

#include "ops/record.h"

namespace tokamak {
namespace {

constexpr int64_t kMostTerms = 8;
/// So many are added in pairs, and pairs of these, as NumPy does; fewer one after the other.
constexpr size_t kTermsInPairs = 8;
/// Fewer sums are in a cache anyway.
constexpr int64_t kManySums = 1 << 18;
/// What all pairs are made of is so much smaller than they are.
constexpr int64_t kMuchSmaller = 16;

bool is_computed_on_the_way(const Node& node) {
  const OpFamily family = family_of(node.op);
  return family == OpFamily::Elementwise || family == OpFamily::View;
}

class Expansion {
 public:
  explicit Expansion(const Graph& graph)
      : graph_(graph), origin_elements_(graph.size()), leads_to_reductions_(graph.size()) {
    find_origins();
    find_readers();
  }

  Graph run() {
    GraphRewriter rewriter(graph_);
    for (size_t i = 0; i < graph_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (is_expanded(value)) {
        rewriter.map(value, additions(rewriter, graph_[value]));
      } else {
        rewriter.copy(value);
      }
    }
    return rewriter.finish();
  }

 private:
  bool is_expanded(Value value) const {
    const Node& node = graph_[value];
    if (node.op != Op::reduce_sum || node.attributes.ints(Attr::axes).size() != 1) return false;
    const TensorType& operand = graph_.type_of(node.inputs[0]);
    if (operand.dtype != DType::f32 && operand.dtype != DType::f64) return false;
    const int64_t terms = operand.shape[static_cast<size_t>(node.attributes.ints(Attr::axes)[0])];
    return terms >= 2 && terms <= kMostTerms && node.type.elements() >= kManySums &&
           is_of_pairs(node.inputs[0], operand.elements()) && leads_to_reductions_[index_of(value)];
  }

  /// Whether the value is computed from what is much smaller.
  bool is_of_pairs(Value value, int64_t pairs) const {
    return origin_elements_[index_of(value)] * kMuchSmaller <= pairs;
  }

  void find_origins() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.nodes()[i];
      int64_t& origin = origin_elements_[i];
      origin = node.type.elements();
      if (!is_computed_on_the_way(node) || node.inputs.empty()) continue;
      int64_t largest = 0;
      for (Value input : node.inputs) largest = std::max(largest, origin_elements_[index_of(input)]);
      origin = std::min(origin, largest);
    }
  }

  /// Backwards: what a reader leads to is known when its operands are looked at.
  void find_readers() {
    std::vector<bool> is_read(graph_.size(), false);
    leads_to_reductions_.assign(graph_.size(), true);
    for (Value output : graph_.outputs()) leads_to_reductions_[index_of(output)] = false;
    for (size_t i = graph_.size(); i-- > 0;) {
      const Node& node = graph_.nodes()[i];
      if (!is_read[i]) leads_to_reductions_[i] = false;
      const bool is_good_reader = family_of(node.op) == OpFamily::Reduce
                                      ? leaves_rows(node)
                                      : is_computed_on_the_way(node) && leads_to_reductions_[i];
      for (Value input : node.inputs) {
        is_read[index_of(input)] = true;
        if (!is_good_reader) leads_to_reductions_[index_of(input)] = false;
      }
    }
  }

  /// Whether so many sums remain that they can lie side by side in lanes, each for one of the smaller things:
  /// in lanes along what is summed those would be read from far apart.
  bool leaves_rows(const Node& reduction) const {
    return reduction.type.elements() >= kMuchSmaller &&
           reduction.type.elements() * kMuchSmaller <= graph_.type_of(reduction.inputs[0]).elements();
  }

  static Value additions(GraphRewriter& rewriter, const Node& sum) {
    Graph& graph = rewriter.graph();
    const Value operand = rewriter(sum.inputs[0]);
    const Shape shape = graph.type_of(operand).shape;
    const auto axis = static_cast<size_t>(sum.attributes.ints(Attr::axes)[0]);
    std::vector<Value> terms;
    for (int64_t i = 0; i < shape[axis]; ++i) {
      Ints starts(shape.size(), 0);
      Ints limits(shape.begin(), shape.end());
      starts[axis] = i;
      limits[axis] = i + 1;
      Attributes part;
      part.set(Attr::starts, std::move(starts));
      part.set(Attr::limits, std::move(limits));
      part.set(Attr::steps, Ints(shape.size(), 1));
      Attributes without_axis;
      without_axis.set(Attr::shape, Ints(sum.type.shape.begin(), sum.type.shape.end()));
      terms.push_back(graph.add(Op::reshape, {graph.add(Op::slice, {operand}, std::move(part), sum.where)},
                                std::move(without_axis), sum.where));
    }
    return added(graph, std::move(terms), sum.where);
  }

  static Value added(Graph& graph, std::vector<Value> terms, const SourceLocation& where) {
    auto sum = [&](Value a, Value b) { return graph.add(Op::add, {a, b}, {}, where); };
    if (terms.size() < kTermsInPairs) {
      Value total = terms[0];
      for (size_t i = 1; i < terms.size(); ++i) total = sum(total, terms[i]);
      return total;
    }
    for (; terms.size() > 1; terms.resize(terms.size() / 2)) {
      for (size_t i = 0; i < terms.size() / 2; ++i) terms[i] = sum(terms[2 * i], terms[2 * i + 1]);
    }
    return terms[0];
  }

  const Graph& graph_;
  std::vector<int64_t> origin_elements_;  ///< of the largest array that a value is computed from on the way
  std::vector<bool> leads_to_reductions_;
};

}  // namespace

Graph expand_sums(const Graph& graph) { return Expansion(graph).run(); }

}  // namespace tokamak
