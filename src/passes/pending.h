#pragma once

#include <vector>

#include "ir/graph.h"

namespace tokamak {

/// An operation that a pass is about to add to its new graph: its inputs are values of that graph.
struct Pending {
  Op op;
  std::vector<Value> inputs;
  Attributes attributes;
};

}  // namespace tokamak
