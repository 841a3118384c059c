#pragma once

#include <optional>
#include <vector>

#include "fusion/kernel.h"

namespace tokamak {

struct FusionOptions {
  bool fuse = true;        ///< false: one kernel per op; views are still free
  bool keep_dead = false;  ///< compute also what no output needs
  /// By value, of one that was made only in order to compute another: that one. Together they count as one
  /// op.
  std::vector<std::optional<Value>> made_for = {};
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 16 << 20;
};

struct FusionResult {
  std::vector<FusedKernel> kernels;  ///< in an order in which they can run
  std::vector<RefusedFusion> refused;
};

/// Groups the operations of a graph into kernels.
///   %0 = mul %w, %x;  %1 = add %0, %b;  %2 = max %1, 0.0;  %3 = reduce_sum %2 {axes=[0]}
///   =>  kernel @mul_add_max_sum(%w, %x, %b) -> %3
///
/// Operations are visited in order. Each joins the latest kernel among its producers when it iterates over
/// the same space (or is one value per row of it), or else a kernel that reads the same data over the same
/// space, or else starts its own. A kernel's order of making is its order of running; joining only the latest
/// producer keeps that true without searching the graph. What a kernel needs from another one is read from
/// memory, or computed again where that is cheaper (fusion/cost.h).
///
/// Outputs that are reshapes of a computed value are not kernels: see `stored_value`.
FusionResult fuse(const Graph& graph, const FusionOptions& options);

/// The value whose bytes an output holds: a reshape of a computed value is the same bytes in the same order.
Value stored_value(const Graph& graph, Value output);

}  // namespace tokamak
