#include "passes/attention.h"

#include <algorithm>
#include <optional>

#include "ops/contract.h"

namespace tokamak {
namespace {

/// The way from one product to the other is a softmax and a mask or two: what is longer is something else.
constexpr int kMaxSteps = 64;

/// The axes of a shape that are longer than 1.
Ints long_axes(const Shape& shape) {
  Ints axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) axes.push_back(static_cast<int64_t>(axis));
  }
  return axes;
}

bool contains(const Ints& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph), is_reduced_(graph.size(), false) {
    for (size_t i = graph.size(); i-- > 0;) {  // readers come after what they read
      const Node& node = graph.nodes()[i];
      if (family_of(node.op) == OpFamily::Reduce) is_reduced_[index_of(node.inputs[0])] = true;
      if (!is_reduced_[i]) continue;
      for (Value input : node.inputs) {
        if (node.op == Op::transpose || is_in_place(node, input)) is_reduced_[index_of(input)] = true;
      }
    }
  }

  std::vector<Attention> run() const {
    std::vector<Attention> found;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (graph_[value].op != Op::dot) continue;
      std::optional<Attention> attention = attention_at(value, 0);
      if (!attention) attention = attention_at(value, 1);
      if (attention) found.push_back(*attention);
    }
    return found;
  }

 private:
  /// A value on the way back to the scores.
  struct Place {
    Value value;
    std::vector<bool> is_key;  ///< by axis that is longer than 1: whether it is one of the keys
    bool is_exponential = false;
    bool is_reduced = false;
  };

  std::optional<Attention> attention_at(Value mixed, size_t operand) const {
    const Node& dot = graph_[mixed];
    const Ints& contracted = dot.attributes.ints(operand == 0 ? Attr::lhs_contract : Attr::rhs_contract);
    Place start{dot.inputs[operand], {}};
    for (int64_t axis : long_axes(graph_.type_of(start.value).shape))
      start.is_key.push_back(contains(contracted, axis));
    std::vector<Place> work{std::move(start)};
    for (int step = 0; step < kMaxSteps && !work.empty(); ++step) {
      Place place = std::move(work.back());
      work.pop_back();
      const Node& node = graph_[place.value];
      place.is_reduced = place.is_reduced || is_reduced_[index_of(place.value)];
      place.is_exponential = place.is_exponential || node.op == Op::exp || node.op == Op::exp2;
      if (node.op != Op::dot) {
        go_back(place, work);
      } else if (place.is_exponential && place.is_reduced) {
        const std::optional<bool> rows = keys_are_rows(node, place.is_key);
        if (rows) return Attention{place.value, mixed, operand, *rows};
      }
    }
    return std::nullopt;
  }

  /// To what an element of the place is made from, element by element.
  void go_back(const Place& place, std::vector<Place>& work) const {
    const Node& node = graph_[place.value];
    for (Value input : node.inputs) {
      if (is_in_place(node, input)) {
        work.push_back(place);
        work.back().value = input;
      } else if (node.op == Op::transpose) {
        work.push_back(before_transpose(place));
      }
    }
  }

  /// Whether each element of a node is made from that of an input in the same place, but for axes of
  /// extent 1.
  bool is_in_place(const Node& node, Value input) const {
    const bool keeps_places = family_of(node.op) == OpFamily::Elementwise || node.op == Op::reshape;
    return keeps_places && lengths(graph_.type_of(input).shape) == lengths(node.type.shape);
  }

  static Shape lengths(const Shape& shape) {
    Shape found;
    for (int64_t axis : long_axes(shape)) found.push_back(shape[static_cast<size_t>(axis)]);
    return found;
  }

  Place before_transpose(const Place& place) const {
    const Node& node = graph_[place.value];
    const Ints after = long_axes(node.type.shape);
    const Ints& permutation = node.attributes.ints(Attr::permutation);
    Place before = place;
    before.value = node.inputs[0];
    const Ints axes = long_axes(graph_.type_of(before.value).shape);
    for (size_t i = 0; i < after.size(); ++i) {
      const auto from = std::find(axes.begin(), axes.end(), permutation[static_cast<size_t>(after[i])]);
      before.is_key[static_cast<size_t>(from - axes.begin())] = place.is_key[i];
    }
    return before;
  }

  /// Whether the keys are all of a product's rows, or all of its columns; nothing otherwise.
  std::optional<bool> keys_are_rows(const Node& dot, const std::vector<bool>& is_key) const {
    const DotAxes axes =
        dot_axes(dot.attributes, graph_.type_of(dot.inputs[0]).rank(), graph_.type_of(dot.inputs[1]).rank());
    const auto rows = static_cast<int64_t>(axes.lhs_batch.size());
    const int64_t columns = rows + static_cast<int64_t>(axes.lhs_free.size());
    auto are = [&](int64_t first, int64_t end) {
      size_t i = 0;
      for (int64_t axis : long_axes(dot.type.shape)) {
        if (is_key[i++] != (first <= axis && axis < end)) return false;
      }
      return true;
    };
    if (are(columns, dot.type.rank())) return false;
    return are(rows, columns) ? std::optional(true) : std::nullopt;
  }

  const Graph& graph_;
  std::vector<bool> is_reduced_;  ///< by value: it, or what is made of it element by element
};

}  // namespace

std::vector<Attention> find_attention(const Graph& graph) { return Search(graph).run(); }

}  // namespace tokamak
