#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/index.h"
#include "tokamak/explanation.h"

namespace tokamak {

/// What a node does along the axes of its kernel: reductions and scans go through them in order, everything
/// else does not.
inline bool reduces(const Node& node) { return family_of(node.op) == OpFamily::Reduce; }
inline bool scans(const Node& node) { return family_of(node.op) == OpFamily::Cumulative; }
inline bool sorts(const Node& node) { return family_of(node.op) == OpFamily::Sort; }
inline bool sweeps(const Node& node) { return reduces(node) || scans(node); }

/// The iteration space of a kernel. Axes of extent 1 are left out everywhere, so [N,1,M] and [N,M] are the
/// same space. Axis k is LoopVar k.
struct Domain {
  Shape extents;
  /// Axes that are reduced or scanned. The others are the rows: a row sweeps these, once or several times.
  std::vector<bool> swept;
  bool has_sweep = false;  ///< there are reductions or scans, though all their axes may have extent 1

  Shape row_extents() const;
  /// Whether all axes that are swept are among the last `count`, and none that is not comes after them.
  bool sweeps_within_last(size_t count) const;
  Extents extents_function() const {
    return [this](LoopVar var) { return extents[static_cast<size_t>(var)]; };
  }
};

/// `shape` without its extents of 1.
Shape without_ones(const Shape& shape);

/// The index of the element of a value of shape `shape` that belongs to a point of the domain: the value has
/// an element for every point (full), or for every row.
std::vector<Index> full_index(const Domain& domain, const Shape& shape);
std::vector<Index> row_index(const Domain& domain, const Shape& shape);
bool is_full(const Domain& domain, const Shape& shape);
bool is_row(const Domain& domain, const Shape& shape);

/// Which axes of the domain a reduction or scan over an operand of this shape sweeps.
std::vector<bool> swept_axes(const Node& node, const Shape& operand);

/// The axes a reduction, arg-reduction or scan works along, as axes of its operand.
Ints axes_of(const Node& node);

/// Operations that run as one kernel: values come in from memory, results go out to memory, everything
/// between stays in registers and cache.
struct FusedKernel {
  std::string name;            ///< "mul_add_max_sum"
  Graph body;                  ///< parameters are what it reads, outputs what it writes
  std::vector<Value> inputs;   ///< of the whole graph, one per parameter of the body
  std::vector<bool> constant;  ///< which inputs are known when the program is compiled
  /// By input: how many bytes after its first element it is read from; empty when all are read from there.
  std::vector<int64_t> offsets;
  /// A constant of the body, and the one of the whole graph that it is.
  struct Number {
    Value constant;
    Value source;
  };
  std::vector<Number> numbers;  ///< in the order of the body
  std::vector<Value> outputs;   ///< of the whole graph, one per output of the body
  std::vector<Value> members;   ///< of the whole graph: what the body computes, views and numbers included
  Domain domain;
  /// Outputs (by position) that are transposes of a value computed at every point: stored where the transpose
  /// has the element, without a loop over the result.
  std::vector<bool> permuted;
  /// Gathers, of the body, whose indices are checked by nests before all others. Their operands follow from
  /// what the kernel reads, and nothing is swept.
  std::vector<Value> checked_first;
  std::optional<Value> product;  ///< the one dot, of the body; see fusion/product.h
  size_t columns = 0;            ///< with a product: how many of the last axes of the domain are its columns
  std::optional<Value> sort;     ///< the one sort or argsort, of the body: the kernel does nothing else
  /// Runs before it on each block of rows: one of its outputs is the first operand of the product, and is
  /// never all in memory.
  std::shared_ptr<const FusedKernel> feeder;
  size_t fed = 0;  ///< the input that is the feeder's output
  /// Makes an operand of the product while it is packed, some rows at a time: it is never all in memory.
  struct Maker {
    std::shared_ptr<const FusedKernel> kernel;
    size_t made;          ///< the input that is its output
    bool rows_are_lines;  ///< a row of its domain is a line of the operand; else all lines at a step of k
  };
  std::vector<Maker> makers;
};

/// The kernel and what runs before it on each block of rows, in the order of running.
std::vector<const FusedKernel*> stages_of(const FusedKernel& kernel);
/// The same with what makes operands, before the stage that they are for.
std::vector<const FusedKernel*> parts_of(const FusedKernel& kernel);
/// Whether an input of a part is made by another part of its kernel.
bool is_made_inside(const FusedKernel& part, size_t input);

/// The value of the body that output `i` stores an element of at every point (or row) of the domain.
Value stored_element(const FusedKernel& kernel, size_t i);

/// Names of the computing ops of a kernel's body, in order: {"mul", "add", "max", "sum"}.
std::vector<std::string> op_names(const Graph& body);
/// The same for all stages of a kernel.
std::vector<std::string> op_names(const FusedKernel& kernel);

/// "mul_add_max_sum": those names, without what only says where elements are (masks of slices, indices)
/// unless there is nothing else; long lists are cut. "copy" where nothing is computed.
std::string kernel_name(const FusedKernel& kernel);

/// Operations on elements that the body stands for, each op of an element counted as one.
double count_flops(const Graph& body);
double count_flops(const Graph& body, const Node& node);
double count_flops(const FusedKernel& kernel);

}  // namespace tokamak
