#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tokamak {

/// Evaluates the graph node by node, one array at a time: slow, simple, and the meaning of the IR. It is the
/// oracle of the tests and the constant folder. `fused_multiply_add` says whether scalar code may use fma, as
/// the CPU that compiled code will run on does; with the same setting, native code gives the same bits (sums
/// and products of floats excepted, which are associated differently).
std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> arguments, bool fused_multiply_add);

/// Throws UserError where the arguments are not what the graph takes.
void check_arguments(const Graph& graph, std::span<const Tensor> arguments);

/// One node, given its operands' values. Not for parameters.
Tensor interpret_node(const Node& node, std::span<const Tensor> operands, bool fused_multiply_add);

}  // namespace tokamak
