#include "passes/expand_products.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ops/contract.h"
#include "ops/index_map.h"
#include "passes/attention.h"
#include "passes/swapped_dot.h"

namespace tokamak {
namespace {

Value converted(Graph& graph, Value value, DType dtype, const SourceLocation& where) {
  if (graph.type_of(value).dtype == dtype) return value;
  return graph.add(Op::convert, {value}, {{Attr::dtype, dtype}}, where);
}

/// Up to this, in all three sizes, element-wise code is faster than the loops for small products, when there
/// are many to do, unless their columns fill a register; and up to the other, than those for any.
constexpr int64_t kTiny = 8;
constexpr int64_t kRegisterBytes = 32;
constexpr int64_t kTinyElsewhere = 16;
constexpr int64_t kMany = 64;
/// Many rows times a tiny matrix: up to these, element-wise code reads and writes the rows as fast as memory
/// delivers them. Where columns are many, rows of them would be read again for every row of the result.
constexpr int64_t kTinyDepth = 4;
constexpr int64_t kTinyColumns = 16;
constexpr int64_t kTiniest = 3;
/// Results up to which a sum of products of lines that lie along k reads them from the caches.
constexpr int64_t kFewSums = 16;
/// A matrix of this many elements is worth the loops made for products of a vector and a matrix, unless one
/// of its sides is short: then they start over too often, or leave threads without work.
constexpr int64_t kLargeMatrix = 4096;
constexpr int64_t kShortSide = 64;

struct Sizes {
  int64_t batch, rows, columns, depth;
  int64_t row_bytes;  ///< of the result
  bool lhs_lies_along_k, rhs_lies_along_k;

  Sizes(const Shape& lhs, const Shape& rhs, const DotAxes& axes, DType dtype)
      : batch(extent_of(lhs, axes.lhs_batch)),
        rows(extent_of(lhs, axes.lhs_free)),
        columns(extent_of(rhs, axes.rhs_free)),
        depth(extent_of(lhs, axes.lhs_contract)),
        row_bytes(columns * static_cast<int64_t>(size_of(dtype))),
        lhs_lies_along_k(is_last(axes.lhs_contract, lhs)),
        rhs_lies_along_k(is_last(axes.rhs_contract, rhs)) {}
  bool has_vector() const { return rows == 1 || columns == 1; }
  bool are_many_tiny(bool in_place) const {
    if (in_place && row_bytes >= kRegisterBytes) return false;
    return batch >= kMany && std::max({rows, columns, depth}) <= (in_place ? kTiny : kTinyElsewhere);
  }
  bool has_tiny_matrix() const {
    if (batch != 1) return false;
    if (columns >= kMany) return std::max(rows, depth) <= kTiniest;
    return rows >= kMany && lhs_lies_along_k &&
           ((depth <= kTinyDepth && columns <= kTinyColumns) || (depth <= columns && columns <= kTiny));
  }
  bool are_few_sums() const {
    return batch == 1 && lhs_lies_along_k && rhs_lies_along_k && rows * columns <= kFewSums;
  }

 private:
  static bool is_last(const Ints& axes, const Shape& shape) {
    return !axes.empty() && axes.back() + 1 == static_cast<int64_t>(shape.size());
  }
};

/// Whether products are summed in the type that they have.
bool is_computed_in(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
}

/// Whether the loops for small products take these: see choose_small_method.
bool are_read_in_place(const Shape& rhs, const DotAxes& axes, DType dtype) {
  return is_computed_in(dtype) && !axes.rhs_free.empty() &&
         axes.rhs_free.back() + 1 == static_cast<int64_t>(rhs.size());
}

bool is_worth_expanding(const Sizes& sizes, DType dtype, bool in_place, bool only_needed) {
  if (sizes.rows == 0 || sizes.columns == 0 || sizes.depth <= 1 || sizes.batch == 0) return true;
  if (only_needed && !sizes.has_vector()) return false;
  if (sizes.has_vector()) {
    const int64_t lines = std::max(sizes.rows, sizes.columns);
    return !is_float(dtype) || lines * sizes.depth < kLargeMatrix ||
           std::min(lines, sizes.depth) <= kShortSide;
  }
  return sizes.are_many_tiny(in_place) || sizes.has_tiny_matrix() || sizes.are_few_sums();
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
bool swaps_operands(const Node& transpose, const DotAxes& axes) {
  return !axes.lhs_free.empty() && !axes.rhs_free.empty() &&
         transpose.attributes.ints(Attr::permutation) == to_swapped(axes);
}

/// The same product with the operands in the other order, in the shape given.
Value swapped(GraphRewriter& rewriter, const Node& dot, const Shape& shape) {
  Graph& made = rewriter.graph();
  const Value product =
      add_swapped_dot(made, rewriter(dot.inputs[0]), rewriter(dot.inputs[1]), dot.attributes, dot.where);
  if (made.type_of(product).shape == shape) return product;
  return made.add(Op::reshape, {product}, {{Attr::shape, shape}}, dot.where);
}

/// A small result of a long sum, such as x.T @ x of many samples, is made in parts that stay in the cache and
/// that threads share: products of pieces of the contracted axis, then their sum. The operands are in memory:
/// of one that is computed the kernel of the product makes a part at a time, as that cuts such sums, too.
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

/// Whether an operand is computed element by element for this product alone: the loops for vectors read a
/// matrix that is in memory, and it would have to be written first.
bool is_computed_for_it(const Graph& graph, const std::vector<uint32_t>& readers, Value value) {
  auto is_passed = [&](const Node& node) {
    return is_view(node.op) || (node.op == Op::convert &&
                                is_read_by_products(graph.type_of(node.inputs[0]).dtype, node.type.dtype));
  };
  while (is_passed(graph[value]) && readers[index_of(value)] == 1) value = graph[value].inputs[0];
  return family_of(graph[value].op) == OpFamily::Elementwise && readers[index_of(value)] == 1;
}

/// Whether an operand, which is computed for a product alone, is so element by element from arrays and from
/// reductions that have a value for every step of k: each step can then be made without the others.
bool is_made_in_steps(const Graph& graph, Value operand, int64_t depth) {
  constexpr size_t kFarEnough = 64;
  std::set<Value> seen;
  std::vector<Value> pending{operand};
  while (!pending.empty() && seen.size() < kFarEnough) {
    const Value next = pending.back();
    pending.pop_back();
    const Node& node = graph[next];
    const OpFamily family = family_of(node.op);
    if (family == OpFamily::Source || (family == OpFamily::Reduce && node.type.elements() >= depth)) continue;
    if (family != OpFamily::Elementwise && family != OpFamily::View) return false;
    if (seen.insert(next).second) pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
  }
  return pending.empty();
}

/// `alone`: no other product may share its kernel.
Value improved(GraphRewriter& rewriter, const Node& dot, const std::vector<uint32_t>& readers, bool alone,
               bool only_needed) {
  const Graph& graph = rewriter.old();
  const DotAxes axes = axes_of_dot(graph, dot);
  const Sizes sizes(graph.type_of(dot.inputs[0]).shape, graph.type_of(dot.inputs[1]).shape, axes,
                    dot.type.dtype);
  const std::vector<Value> inputs = rewriter(std::span<const Value>(dot.inputs));
  const bool has_windows = is_windowed(graph, dot.inputs[0]) || is_windowed(graph, dot.inputs[1]);
  const bool is_computed =
      !only_needed && is_computed_for_it(graph, readers, dot.inputs[sizes.rows == 1 ? 1 : 0]);
  const bool in_place = alone && are_read_in_place(graph.type_of(dot.inputs[1]).shape, axes, dot.type.dtype);
  if (is_worth_expanding(sizes, dot.type.dtype, in_place, only_needed) ||
      (sizes.has_vector() && (has_windows || is_computed)))
    return Expansion(rewriter.graph(), dot, axes).run(inputs[0], inputs[1]);
  auto is_made = [&](Value operand) {
    return is_computed_in(dot.type.dtype) && is_computed_for_it(graph, readers, operand) &&
           is_made_in_steps(graph, operand, sizes.depth);
  };
  if (!only_needed && !sizes.has_vector() && !is_made(dot.inputs[0]) && !is_made(dot.inputs[1]) &&
      Pieces::are_worth_it(sizes, axes, dot.type.dtype))
    return Pieces(rewriter.graph(), dot, axes).run(inputs[0], inputs[1]);
  // Of a matrix and a vector, the vector goes first.
  if (sizes.columns == 1) return swapped(rewriter, dot, dot.type.shape);
  return rewriter.graph().add(Op::dot, inputs, dot.attributes, dot.where);
}

class Orientation {
 public:
  Orientation(const Graph& graph, const std::vector<uint32_t>& readers) : graph_(graph), readers_(readers) {}

  /// The dot that a transpose can become by taking its operands in the other order.
  const Node* swapped_dot(const Node& node) const {
    if (node.op != Op::transpose || readers_[index_of(node.inputs[0])] != 1) return nullptr;
    const Node& dot = graph_[node.inputs[0]];
    if (dot.op != Op::dot) return nullptr;
    const DotAxes axes = axes_of_dot(graph_, dot);
    return swaps_operands(node, axes) ? &dot : nullptr;
  }

 private:
  const Graph& graph_;
  const std::vector<uint32_t>& readers_;
};

/// Whether a product of attention, with a row for every query, is better off in one kernel with the other
/// one: its threads share the queries.
bool is_worth_keeping(const Graph& graph, const std::vector<uint32_t>& readers, const Node& dot) {
  const Sizes sizes(graph.type_of(dot.inputs[0]).shape, graph.type_of(dot.inputs[1]).shape,
                    axes_of_dot(graph, dot), dot.type.dtype);
  const bool has_windows = is_windowed(graph, dot.inputs[0]) || is_windowed(graph, dot.inputs[1]);
  if (sizes.has_vector() ? is_computed_for_it(graph, readers, dot.inputs[1]) : sizes.are_many_tiny(false))
    return false;
  return is_float(dot.type.dtype) && sizes.depth > 1 && dot.type.elements() > 0 && !has_windows &&
         leaves_rows_to_threads(sizes.batch * sizes.rows, dot.type.elements() * sizes.depth);
}

/// The products of attention that are as they should be.
class KeptProducts {
 public:
  KeptProducts(const Graph& graph, const std::vector<uint32_t>& readers)
      : in_order_(graph.size(), false), whole_(graph.size(), false) {
    for (const Attention& attention : find_attention(graph)) {
      if (attention.keys_are_rows || attention.weights != 0) continue;  // orient-attention sees to it first
      in_order_[index_of(attention.scores)] = true;
      in_order_[index_of(attention.mixed)] = true;
      if (!is_worth_keeping(graph, readers, graph[attention.scores]) ||
          !is_worth_keeping(graph, readers, graph[attention.mixed]))
        continue;
      whole_[index_of(attention.scores)] = true;
      whole_[index_of(attention.mixed)] = true;
    }
  }

  /// Whether a node is the transpose of a product whose operands must stay in their order.
  bool in_order(const Node& transpose) const {
    return transpose.op == Op::transpose && in_order_[index_of(transpose.inputs[0])];
  }
  bool is_of_attention(Value dot) const { return in_order_[index_of(dot)]; }
  /// Whether it must stay a product.
  bool whole(Value dot) const { return whole_[index_of(dot)]; }

 private:
  std::vector<bool> in_order_;
  std::vector<bool> whole_;
};

}  // namespace

Graph expand_products(const Graph& graph, bool only_needed) {
  GraphRewriter rewriter(graph);
  const std::vector<uint32_t> readers = count_uses(graph);
  const Orientation orientation(graph, readers);
  const KeptProducts kept(graph, readers);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (const Node* dot = only_needed || kept.in_order(node) ? nullptr : orientation.swapped_dot(node)) {
      rewriter.map(value, swapped(rewriter, *dot, node.type.shape));
    } else if (node.op == Op::dot && !kept.whole(value)) {
      rewriter.map(value, improved(rewriter, node, readers, !kept.is_of_attention(value), only_needed));
    } else {
      rewriter.copy(value);
    }
  }
  return rewriter.finish();
}

}  // namespace tokamak
