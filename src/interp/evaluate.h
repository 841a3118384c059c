#pragma once

// The families of ops, each evaluated by a function of its own. Operands and attributes obey the op's type
// rule.

#include <span>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tokamak::interp {

Tensor iota(const Node& node);
Tensor elementwise(const Node& node, std::span<const Tensor> operands, bool fused_multiply_add);
Tensor view(const Node& node, const Tensor& operand);
Tensor index(const Node& node, std::span<const Tensor> operands);
Tensor reduce(const Node& node, const Tensor& operand);
Tensor arg_reduce(const Node& node, const Tensor& operand);
Tensor cumulative(const Node& node, const Tensor& operand);
Tensor sorted(const Node& node, const Tensor& operand);
Tensor dot(const Node& node, const Tensor& lhs, const Tensor& rhs);

}  // namespace tokamak::interp
