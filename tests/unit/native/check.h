#pragma once

// One operation: compiled for the layouts of its arguments, run, and compared with the interpreter.

#include <string>
#include <vector>

#include "driver/compile.h"
#include "ir/graph.h"
#include "native/arranged.h"

namespace tokamak::testing {

/// An operation and what it is applied to.
struct Case {
  Op op;
  std::vector<Tensor> operands;
  Attributes attributes = {};
};

Graph graph_of(const Case& c);

/// Lays argument i out as arrangements[i % n].
std::vector<Arranged> arrange_all(const std::vector<Tensor>& arguments,
                                  const std::vector<Arrangement>& arrangements);

/// Runs a program; checks that it wrote nothing behind its outputs.
std::vector<Tensor> run(const Program& program, const std::vector<Arranged>& arguments);
Compiled compile_for(const Graph& graph, const std::vector<Arranged>& arguments,
                     const CompileOptions& options = {});

/// Which zero reduce_max and reduce_min give is left open, so is how a float sum is associated.
enum class Agreement : uint8_t {
  bits,      ///< every bit, but the payload of a NaN
  any_zero,  ///< +0 equals -0
  products,  ///< sums of float products: within a few roundings of the sum of the absolute products
  rounding,  ///< float sums and products: as close to the exact result as a pairwise sum is bound to be
};
Agreement agreement_for(Op op, DType dtype);

/// The first element that differs and how, or nothing.
std::string compare(const Tensor& found, const Tensor& expected, Agreement agreement = Agreement::bits);

/// What is wrong with the native code of `c`, or nothing.
std::string check(const Case& c, const std::vector<Arrangement>& arrangements);

}  // namespace tokamak::testing
