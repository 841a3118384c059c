#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tokamak {

/// Whether some element of dense memory is NaN.
bool has_nan(const TensorType& type, const void* elements);

/// Which operation makes the first NaN of a graph, whose arguments and constants have none.
struct NanOrigin {
  Op op;
  std::string text;  ///< "element [3] of f64[4] is NaN: log(-1)"
  SourceLocation where;
};

/// None where the interpreter computes no NaN.
std::optional<NanOrigin> find_nan_origin(const Graph& graph, std::span<const Tensor> arguments,
                                         bool fused_multiply_add);

}  // namespace tokamak
