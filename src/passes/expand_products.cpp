#include "passes/expand_products.h"

#include <algorithm>
#include <numeric>

#include "ops/contract.h"

namespace tokamak {
namespace {

Value converted(Graph& graph, Value value, DType dtype, const SourceLocation& where) {
  if (graph.type_of(value).dtype == dtype) return value;
  return graph.add(Op::convert, {value}, {{Attr::dtype, dtype}}, where);
}

/// Up to this, in all three sizes, element-wise code is faster than the loops for small products, when there
/// are many to do; and up to the other, than those for any.
constexpr int64_t kTiny = 8;
constexpr int64_t kTinyElsewhere = 16;
constexpr int64_t kMany = 64;
/// A matrix of this many elements is worth the loops made for products of a vector and a matrix, unless one
/// of its sides is short: then they start over too often, or leave threads without work.
constexpr int64_t kLargeMatrix = 4096;
constexpr int64_t kShortSide = 64;

struct Sizes {
  int64_t batch, rows, columns, depth;

  Sizes(const Shape& lhs, const Shape& rhs, const DotAxes& axes)
      : batch(extent_of(lhs, axes.lhs_batch)),
        rows(extent_of(lhs, axes.lhs_free)),
        columns(extent_of(rhs, axes.rhs_free)),
        depth(extent_of(lhs, axes.lhs_contract)) {}
  bool has_vector() const { return rows == 1 || columns == 1; }
};

/// Whether the loops for small products take these: see choose_small_method.
bool are_read_in_place(const Shape& rhs, const DotAxes& axes, DType dtype) {
  const bool is_computed_in =
      dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
  return is_computed_in && !axes.rhs_free.empty() &&
         axes.rhs_free.back() + 1 == static_cast<int64_t>(rhs.size());
}

bool is_worth_expanding(const Sizes& sizes, DType dtype, bool in_place) {
  if (sizes.rows == 0 || sizes.columns == 0 || sizes.depth <= 1 || sizes.batch == 0) return true;
  if (sizes.has_vector()) {
    const int64_t lines = std::max(sizes.rows, sizes.columns);
    return !is_float(dtype) || lines * sizes.depth < kLargeMatrix ||
           std::min(lines, sizes.depth) <= kShortSide;
  }
  return sizes.batch >= kMany &&
         std::max({sizes.rows, sizes.columns, sizes.depth}) <= (in_place ? kTiny : kTinyElsewhere);
}

DotAxes axes_of_dot(const Graph& graph, const Node& dot) {
  return dot_axes(dot.attributes, graph.type_of(dot.inputs[0]).rank(), graph.type_of(dot.inputs[1]).rank());
}

class Expansion {
 public:
  Expansion(Graph& made, const Node& node, const DotAxes& axes) : made_(made), node_(node), axes_(axes) {}

  Value run(Value lhs, Value rhs) {
    const Value left = arranged(lhs, axes_.lhs_batch, axes_.lhs_free, axes_.lhs_contract, 0);
    const Value right =
        arranged(rhs, axes_.rhs_batch, axes_.rhs_free, axes_.rhs_contract, axes_.lhs_free.size());
    const DType dtype = node_.type.dtype;
    const bool is_bool = dtype == DType::boolean;
    const Value products = made_.add(is_bool ? Op::bit_and : Op::mul, {left, right}, {}, node_.where);
    Ints summed(axes_.lhs_contract.size());
    std::iota(summed.begin(), summed.end(), node_.type.rank());
    Value sums = products;
    const TensorType& all = made_.type_of(products);
    if (all.elements() == node_.type.elements() && node_.type.elements() > 0) {  // nothing to add
      sums = made_.add(Op::reshape, {products}, {{Attr::shape, node_.type.shape}}, node_.where);
    } else if (!summed.empty()) {
      sums = made_.add(is_bool ? Op::reduce_any : Op::reduce_sum, {products}, {{Attr::axes, summed}},
                       node_.where);
    }
    return converted(made_, sums, dtype, node_.where);
  }

 private:
  /// The operand as [batch, free axes of both, contracted], with extents of 1 for the other one's free axes.
  Value arranged(Value operand, const Ints& batch, const Ints& free, const Ints& contract,
                 size_t ones_before) {
    Ints permutation = batch;
    permutation.insert(permutation.end(), free.begin(), free.end());
    permutation.insert(permutation.end(), contract.begin(), contract.end());
    const Shape from = made_.type_of(operand).shape;
    auto extent = [&](int64_t axis) { return from[static_cast<size_t>(axis)]; };
    const size_t both = axes_.lhs_free.size() + axes_.rhs_free.size();
    Shape shape;
    for (int64_t axis : batch) shape.push_back(extent(axis));
    shape.insert(shape.end(), ones_before, 1);
    for (int64_t axis : free) shape.push_back(extent(axis));
    shape.insert(shape.end(), both - ones_before - free.size(), 1);
    for (int64_t axis : contract) shape.push_back(extent(axis));
    const Value turned =
        made_.add(Op::transpose, {operand}, {{Attr::permutation, std::move(permutation)}}, node_.where);
    const Value spread = made_.add(Op::reshape, {turned}, {{Attr::shape, std::move(shape)}}, node_.where);
    const bool narrow = node_.type.dtype == DType::f16 || node_.type.dtype == DType::bf16;
    return converted(made_, spread, narrow ? DType::f32 : node_.type.dtype, node_.where);
  }

  Graph& made_;
  const Node& node_;
  const DotAxes& axes_;
};

/// Whether a transpose of a dot's result only swaps what comes from the one operand and what from the other.
bool swaps_operands(const Node& transpose, const Node& dot, const DotAxes& axes) {
  const size_t batch = axes.lhs_batch.size();
  const size_t rows = axes.lhs_free.size();
  const size_t columns = axes.rhs_free.size();
  Ints swapped(static_cast<size_t>(dot.type.rank()));
  for (size_t i = 0; i < swapped.size(); ++i) {
    const size_t from = i < batch ? i : i < batch + columns ? i + rows : i - columns;
    swapped[i] = static_cast<int64_t>(from);
  }
  return rows > 0 && columns > 0 && transpose.attributes.ints(Attr::permutation) == swapped;
}

/// The same product with the operands in the other order, in the shape given.
Value swapped(GraphRewriter& rewriter, const Node& dot, const Shape& shape) {
  Graph& made = rewriter.graph();
  const Attributes& old = dot.attributes;
  Attributes attributes{{Attr::lhs_batch, old.ints(Attr::rhs_batch)},
                        {Attr::rhs_batch, old.ints(Attr::lhs_batch)},
                        {Attr::lhs_contract, old.ints(Attr::rhs_contract)},
                        {Attr::rhs_contract, old.ints(Attr::lhs_contract)}};
  const Value product =
      made.add(Op::dot, {rewriter(dot.inputs[1]), rewriter(dot.inputs[0])}, std::move(attributes), dot.where);
  if (made.type_of(product).shape == shape) return product;
  return made.add(Op::reshape, {product}, {{Attr::shape, shape}}, dot.where);
}

/// A small result of a long sum, such as x.T @ x of many samples, is made in parts that stay in the cache and
/// that threads share: products of pieces of the contracted axis, then their sum.
class Pieces {
 public:
  static constexpr int64_t kPiece = 4096;
  static constexpr int64_t kSmall = 64;

  static bool are_worth_it(const Sizes& sizes, const DotAxes& axes, DType dtype) {
    return std::max(sizes.rows, sizes.columns) <= kSmall && sizes.depth >= 2 * kPiece &&
           axes.lhs_contract.size() == 1 && dtype != DType::boolean;
  }

  Pieces(Graph& made, const Node& dot, const DotAxes& axes) : made_(made), dot_(dot), axes_(axes) {}

  Value run(Value lhs, Value rhs) {
    const int64_t depth = made_.type_of(lhs).shape[static_cast<size_t>(axes_.lhs_contract[0])];
    const int64_t whole = depth / kPiece * kPiece;
    const DType dtype = dot_.type.dtype;
    const bool narrow = dtype == DType::f16 || dtype == DType::bf16;
    const Value left = converted(made_, lhs, narrow ? DType::f32 : dtype, dot_.where);
    const Value right = converted(made_, rhs, narrow ? DType::f32 : dtype, dot_.where);
    Value sum = in_pieces(range(left, axes_.lhs_contract[0], 0, whole),
                          range(right, axes_.rhs_contract[0], 0, whole));
    if (whole < depth) {
      const Value rest = made_.add(Op::dot,
                                   {range(left, axes_.lhs_contract[0], whole, depth),
                                    range(right, axes_.rhs_contract[0], whole, depth)},
                                   dot_.attributes, dot_.where);
      sum = made_.add(Op::add, {sum, rest}, {}, dot_.where);
    }
    return converted(made_, sum, dtype, dot_.where);
  }

 private:
  Value range(Value value, int64_t axis, int64_t first, int64_t last) {
    const Shape shape = made_.type_of(value).shape;
    Ints starts(shape.size(), 0);
    Ints limits = shape;
    starts[static_cast<size_t>(axis)] = first;
    limits[static_cast<size_t>(axis)] = last;
    return made_.add(Op::slice, {value},
                     {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, Ints(shape.size(), 1)}},
                     dot_.where);
  }

  Value cut(Value value, int64_t axis) {
    Shape shape = made_.type_of(value).shape;
    const auto at = static_cast<size_t>(axis);
    shape.insert(shape.begin() + axis, shape[at] / kPiece);
    shape[at + 1] = kPiece;
    return made_.add(Op::reshape, {value}, {{Attr::shape, std::move(shape)}}, dot_.where);
  }

  Value in_pieces(Value lhs, Value rhs) {
    auto batch = [](const Ints& old, int64_t cut_axis) {
      Ints axes{cut_axis};
      for (int64_t axis : old) axes.push_back(axis < cut_axis ? axis : axis + 1);
      return axes;
    };
    const int64_t left = axes_.lhs_contract[0];
    const int64_t right = axes_.rhs_contract[0];
    const Value products = made_.add(Op::dot, {cut(lhs, left), cut(rhs, right)},
                                     {{Attr::lhs_batch, batch(axes_.lhs_batch, left)},
                                      {Attr::rhs_batch, batch(axes_.rhs_batch, right)},
                                      {Attr::lhs_contract, Ints{left + 1}},
                                      {Attr::rhs_contract, Ints{right + 1}}},
                                     dot_.where);
    return made_.add(Op::reduce_sum, {products}, {{Attr::axes, Ints{0}}}, dot_.where);
  }

  Graph& made_;
  const Node& dot_;
  const DotAxes& axes_;
};

/// Whether a value is made of windows: the loops for vectors read lines of a matrix, not overlapping pieces
/// of one.
bool is_windowed(const Graph& graph, Value value) {
  while (family_of(graph[value].op) == OpFamily::View) {
    if (graph[value].op == Op::window) return true;
    value = graph[value].inputs[0];
  }
  return false;
}

Value improved(GraphRewriter& rewriter, const Node& dot) {
  const Graph& graph = rewriter.old();
  const DotAxes axes = axes_of_dot(graph, dot);
  const Sizes sizes(graph.type_of(dot.inputs[0]).shape, graph.type_of(dot.inputs[1]).shape, axes);
  const std::vector<Value> inputs = rewriter(std::span<const Value>(dot.inputs));
  const bool has_windows = is_windowed(graph, dot.inputs[0]) || is_windowed(graph, dot.inputs[1]);
  const bool in_place = are_read_in_place(graph.type_of(dot.inputs[1]).shape, axes, dot.type.dtype);
  if (is_worth_expanding(sizes, dot.type.dtype, in_place) || (sizes.has_vector() && has_windows))
    return Expansion(rewriter.graph(), dot, axes).run(inputs[0], inputs[1]);
  if (!sizes.has_vector() && Pieces::are_worth_it(sizes, axes, dot.type.dtype))
    return Pieces(rewriter.graph(), dot, axes).run(inputs[0], inputs[1]);
  // Of a matrix and a vector, the vector goes first.
  if (sizes.columns == 1) return swapped(rewriter, dot, dot.type.shape);
  return rewriter.graph().add(Op::dot, inputs, dot.attributes, dot.where);
}

class Orientation {
 public:
  explicit Orientation(const Graph& graph) : graph_(graph), readers_(count_uses(graph)) {}

  /// The dot that a transpose can become by taking its operands in the other order.
  const Node* swapped_dot(const Node& node) const {
    if (node.op != Op::transpose || readers_[index_of(node.inputs[0])] != 1) return nullptr;
    const Node& dot = graph_[node.inputs[0]];
    if (dot.op != Op::dot) return nullptr;
    const DotAxes axes = axes_of_dot(graph_, dot);
    return swaps_operands(node, dot, axes) ? &dot : nullptr;
  }

 private:
  const Graph& graph_;
  std::vector<uint32_t> readers_;
};

}  // namespace

Graph expand_products(const Graph& graph) {
  GraphRewriter rewriter(graph);
  const Orientation orientation(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (const Node* dot = orientation.swapped_dot(node)) {
      rewriter.map(value, swapped(rewriter, *dot, node.type.shape));
    } else if (node.op == Op::dot) {
      rewriter.map(value, improved(rewriter, node));
    } else {
      rewriter.copy(value);
    }
  }
  return rewriter.finish();
}

}  // namespace tokamak
