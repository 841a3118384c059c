#pragma once

#include <span>

#include "ir/graph.h"
#include "passes/rules/rules.h"

namespace tokamak {

/// Algebra that keeps every bit, by the rules of rules/.
///   %0 = neg %y;  %1 = sub %x, %0;  %2 = div %1, 4.0
///   =>  %0 = neg %y;  %1 = add %x, %y;  %2 = mul %1, 0.25
/// What becomes unused stays for eliminate_dead.
Graph simplify(const Graph& graph);

/// The same with these rules only.
Graph simplify_by(const Graph& graph, std::span<const Rule> rules);

}  // namespace tokamak
