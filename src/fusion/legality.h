#pragma once

// Whether an operation may join a kernel. Whether it should is in cost.h.

#include <string>
#include <vector>

#include "fusion/groups.h"

namespace tokamak {

/// What joining would mean; `refusal` says why not when it may not (or does not pay).
struct Joining {
  std::string refusal;
  bool is_row = false;
  bool is_permuted = false;  ///< it stores a member's elements in another order
  int sweep = 0;
  Domain domain;                    ///< the group's, with the sweep the operation adds
  std::vector<Value> recomputed;    ///< values to compute again inside the group
  std::vector<Value> stored;        ///< computed values of other groups to read from memory
  std::vector<Value> arrays;        ///< everything read from memory
  std::vector<Value> read_in_step;  ///< arrays read at exactly the points of the domain
  std::vector<int> merged;          ///< groups that become part of this one
  double cost = 0;                  ///< added to the group
  double expression_cost = 0;

  bool allowed() const { return refusal.empty(); }
};

/// Follows everything `value` needs, at the points of the group's domain, through views and recomputed values
/// down to memory and to values the group has in registers.
Joining examine_joining(const Groups& state, Value value, const Group& group);

/// The domain of a kernel that starts with this value.
Domain own_domain(const Graph& graph, Value value);

}  // namespace tokamak
