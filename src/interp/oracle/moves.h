#pragma once

// Results moved at random, as far as native code may be from the interpreter.

#include <random>
#include <span>

#include "interp/oracle/oracle.h"
#include "ir/graph.h"

namespace tokamak {

/// One of the values that native code may give for a node of the graph instead of `value`, which the
/// interpreter gave.
Tensor moved_result(const Graph& graph, const Node& node, std::span<const Tensor> operands,
                    const Tensor& value, Looseness looseness, std::mt19937& random);

/// What an addition may read instead of `value`, which is that of its operand `read`, if it becomes part of a
/// multiply-add: other readers of the product may read another value.
Tensor moved_factor(const Graph& graph, Value read, const Tensor& value, std::mt19937& random);

}  // namespace tokamak
