#pragma once

// The state of fusion: which kernel-to-be every operation is in.

#include <climits>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "fusion/fuse.h"
#include "fusion/kernel.h"

namespace tokamak {

/// A kernel in the making.
struct Group {
  int order = 0;  ///< of running; reads only from groups with a lower one
  Domain domain;
  std::vector<Value> members;
  /// Values of other groups that it computes itself, and members that it computes at other points, too.
  std::set<Value> recomputed;
  /// Values it reads from memory. What one member reads from there none computes: it would be computed for
  /// all of them, from what that one was never asked about.
  std::set<Value> arrays;
  double cost = 0;           ///< scalar_cost of everything in it
  size_t sweeps = 0;         ///< how many of its members are reductions and scans
  std::set<Value> permuted;  ///< members that are transposes of others, see FusedKernel::permuted
  std::optional<Value> product;  ///< the dot among its members; there is one at most
  size_t columns = 0;            ///< how many of the last axes of the domain are columns of the product
  std::optional<Value> sort;     ///< its only member, a sort
  int first_reader = INT_MAX;    ///< lowest order among the groups that read its members
  bool closed = false;           ///< takes no more members
  bool is_read = false;          ///< some member is in memory: there will be a kernel
  int merged_into = -1;          ///< the group that has its members now
};

/// What fusion knows of every value.
struct ValueState {
  int group = -1;       ///< of computed values
  bool is_row = false;  ///< one element per row of the group's domain, not per point
  /// Full values: the sweep that computes them. Row values: the sweep after which they are known, -1 for
  /// before all.
  int sweep = 0;
  bool stored = false;           ///< in memory: an output, or read by another group
  bool recomputed = false;       ///< by some group that is not its own
  double expression_cost = 0;    ///< scalar_cost of computing one element from what is in memory
  bool has_many_pieces = false;  ///< none of its readers puts it together again
  int writes = 0;  ///< how many slices were written, one after the other, to what is in memory to make it
};

struct Groups {
  const Graph& graph;
  const FusionOptions& options;
  std::vector<Group> groups;
  std::vector<ValueState> values;  ///< by value
  std::unordered_map<uint32_t, int>
      last_reader;  ///< by value: the group that last read all of it in step with its domain

  ValueState& operator[](Value value) { return values[index_of(value)]; }
  const ValueState& operator[](Value value) const { return values[index_of(value)]; }
};

/// Whether the options let a value be in a kernel with the members of a group: with those of its own op
/// always.
bool may_share(const Groups& state, Value value, const Group& group);

/// Whether a node is computed by a kernel: neither a view, nor a source.
bool is_computed(const Node& node);

/// Whether a constant is written into the code rather than read from memory.
bool is_inline_constant(const Node& node);

/// A value's index at the points (rows) of a domain.
std::vector<Index> home_index(const Domain& domain, const Shape& shape, bool is_row);

}  // namespace tokamak
