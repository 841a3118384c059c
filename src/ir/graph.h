#pragma once

// The graph: a function from arrays to arrays, in single-assignment form.
//
// Meaning
//   Every node makes one value from the values before it. Nodes are kept in an order in which operands come
//   first; the order means nothing else. There are no side effects, and no node depends on the number of
//   threads.
//   - Element-wise operands broadcast by NumPy's rule (aligned on the right, extent 1 stretches) and share a
//   dtype;
//     conversions are explicit. `select` takes a bool first operand, `clamp` is (low, x, high).
//   - Integer arithmetic wraps. Integer division, floor_div, mod and fmod by zero give 0, as NumPy does;
//     the most negative number divided by -1 wraps. Shifts by the width or more, or by a negative amount,
//     give 0 (or the sign). Integer pow wraps; a negative exponent gives 1 for base 1, 1 or -1 for base -1,
//     and 0 for any other. popcount counts the bits of the absolute value, and gives u8.
//   - Float arithmetic is IEEE-754, each op rounded once. max, min, reduce_max, reduce_min, argmax and argmin
//     propagate NaN. f16 and bf16 compute in f32 and round the result of each op; their sums accumulate in
//     f32. Of operands that compare equal (+0 and -0), max, min and clamp give the second (for f16 the
//     first), as NumPy does on x86-64; clamp is min(max(x, low), high). Which zero reduce_max and reduce_min
//     give is not specified, nor is the payload of any NaN. A sum of negative zeros is +0. floor_div and mod
//     are Python's, as in NumPy.
//   - convert from float to integer truncates; what does not fit becomes what x86 makes of it in NumPy
//     (the "integer indefinite" pattern narrowed), never undefined: i8, i16, u8 and u16 go through i32, u32
//     through i64. convert to a float rounds once. convert to bool is "not zero", true for NaN.
//   - bitcast reads the bits of integers and of f32 and f64 as another dtype of the same size.
//   - Sums are associated in a fixed way that depends on types, shapes and layouts only, not on threads.
//   - argmax and argmin give the first index, as i64. Empty max, min, argmax, argmin are type errors.
//   - sort {axis} rises along the axis, with -0 before +0 and NaNs last. argsort {axis} gives the positions
//   of the
//     elements in that order, as i64; elements that compare equal (+0 and -0, and all NaNs) keep their order.
//   - gather {axis}: operand[:axis] + indices.shape + operand[axis+1:], the indices an integer tensor.
//   - scatter {axis}(operand, indices, updates): the operand with updates combined in at those places, in
//   order.
//   - dynamic_slice(operand, start...) {sizes} and dynamic_update_slice(operand, update, start...) take one
//   scalar
//     integer start per axis and clamp it so that the window lies inside.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/attributes.h"
#include "ir/op.h"
#include "tokamak/errors.h"
#include "tokamak/types.h"

namespace tokamak {

/// Names a node of one graph, and the value it makes.
enum class Value : uint32_t {};
inline constexpr size_t index_of(Value value) { return static_cast<size_t>(value); }

/// One operation. Made only by Graph, which checks its type rule.
struct Node {
  Op op;
  TensorType type;
  std::vector<Value> inputs;
  Attributes attributes;
  SourceLocation where;  ///< the user's line, for errors, dumps and reports
};

class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void rename(std::string name) { name_ = std::move(name); }

  Value add_parameter(std::string name, TensorType type, SourceLocation where = {});
  Value add_constant(Tensor value, SourceLocation where = {});
  /// Derives the type by the op's rule; throws UserError naming op, types and line when it does not hold.
  Value add(Op op, std::vector<Value> inputs, Attributes attributes = {}, SourceLocation where = {});
  /// A node of another graph again. Its type is known where the inputs have the types that they have there.
  Value add_copy(const Graph& other, const Node& node, std::vector<Value> inputs);
  void set_outputs(std::vector<Value> outputs) { outputs_ = std::move(outputs); }
  /// Makes room for so many nodes at once.
  void reserve(size_t nodes) { nodes_.reserve(nodes); }

  size_t size() const { return nodes_.size(); }
  const Node& operator[](Value value) const { return nodes_[index_of(value)]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const TensorType& type_of(Value value) const { return nodes_[index_of(value)].type; }

  const std::vector<Value>& parameters() const { return parameters_; }
  const std::string& parameter_name(size_t position) const { return parameter_names_[position]; }
  const std::vector<Value>& outputs() const { return outputs_; }

  /// The constant's tensor, when `value` is one.
  const Tensor* constant_value(Value value) const;

  /// The value that is the same as one of the graph that rewriting began with; nullopt where the passes found
  /// a way around it, or nothing needs it. In a graph that was not rewritten, every value is its own.
  std::optional<Value> successor_of(Value first) const;
  /// What a value is known by while the graph is rewritten: the position in the graph that rewriting began
  /// with of the first value that it is the same as; for one that is new since then, a number beyond those,
  /// which no other has had.
  uint32_t origin_of(Value value) const;
  /// Of the graph that rewriting began with.
  size_t size_at_first() const { return successors_.empty() ? size() : successors_.size(); }
  /// From now on, this is the graph that rewriting began with.
  void forget_rewriting();

 private:
  friend class GraphRewriter;
  Value append(Node node);

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> parameters_;
  std::vector<std::string> parameter_names_;
  std::vector<Value> outputs_;
  std::vector<std::optional<Value>> successors_;  ///< of the first graph's values; empty: not rewritten
  std::vector<uint32_t> origins_;                 ///< by value; those behind its end are new
  uint32_t next_origin_ = 0;                      ///< of those that are new
};

/// For each node the number of operand slots (and outputs of the graph) that read it.
std::vector<uint32_t> count_uses(const Graph& graph);

/// The op's type rule. Declared here because Graph::add must hold to it; defined by src/ops, which has the
/// rules. Throws UserError located at `where`.
TensorType infer_type(Op op, std::span<const TensorType> inputs, const Attributes& attributes,
                      const SourceLocation& where);

/// Rebuilds graphs: passes copy nodes from an old graph to a new one, replacing what they improve.
///
///   GraphRewriter rewriter(old);
///   for each value of old:  if (better) rewriter.map(v, rewriter.graph().add(...)); else rewriter.copy(v);
///   return rewriter.finish();
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& old);

  const Graph& old() const { return old_; }
  Graph& graph() { return new_; }

  /// The new value standing for `old_value`; it must have been mapped.
  Value operator()(Value old_value) const { return mapping_[index_of(old_value)]; }
  std::vector<Value> operator()(std::span<const Value> old_values) const;
  bool is_mapped(Value old_value) const { return mapped_[index_of(old_value)]; }

  void map(Value old_value, Value new_value);
  /// Adds the same node to the new graph, its inputs mapped; maps and returns it. Parameters are there
  /// already.
  Value copy(Value old_value);
  /// Sets the outputs and hands the graph over.
  Graph finish();

 private:
  std::vector<std::optional<Value>> successors() const;
  void pass_origins_on();

  const Graph& old_;
  Graph new_;
  std::vector<Value> mapping_;
  std::vector<bool> mapped_;
};

}  // namespace tokamak
