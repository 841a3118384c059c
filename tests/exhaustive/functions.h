#pragma once

// Every operation of one float operand, with what says how its results should be.

#include <span>
#include <string>
#include <vector>

#include "exhaustive/reference.h"
#include "ir/attributes.h"
#include "ir/op.h"
#include "math/reference.h"

namespace tokamak::exhaustive {

/// What an operation without roundings gives for elements of `from` as elements of `to`.
using Exact = void (*)(DType from, DType to, std::span<const double> x, std::span<double> wanted);

/// Either the true value is known, and results may be near it, or all bits of the result are.
struct Function {
  std::string name;  ///< that of the op; a conversion has that of the dtype behind it
  Op op;
  DType operand;
  Attributes attributes = {};
  const test::UnaryCase* truth = nullptr;
  const Reference* reference = nullptr;  ///< of the same, quicker
  Exact exact = nullptr;

  /// ULP that results may be away from the true value.
  double bound() const;
};

/// All of them for a dtype, as listed in ops.def, but for the bitcast, which is about bits and no numbers.
/// Throws for an op that nothing here judges.
std::vector<Function> functions_of(DType operand);

}  // namespace tokamak::exhaustive
