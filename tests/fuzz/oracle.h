#pragma once

// What a program may answer: the interpreter's values, and how far native code may be from them.
//
// Most operations are bit-equal. A few are not: sums and products of floats are associated in another way,
// the sign of a NaN and of a zero that is the largest of several is left open. How such a difference goes on
// through the rest of a program is sampled: the interpreter runs the program again and again, each time with
// every such result moved at random, as far as docs/numerics.md allows. An element that is the same in all
// samples must have those bits; another must lie where the samples lie.

#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tokamak::testing {

/// What else may differ in the last places.
struct Looseness {
  bool contracted = false;  ///< fast_math: products that are added to something
  bool functions = false;   ///< elementary functions are those of the C library

  friend bool operator==(const Looseness&, const Looseness&) = default;
};

class Oracle {
 public:
  /// Throws UserError where running the program is an error.
  Oracle(const Graph& graph, const std::vector<Tensor>& arguments, bool fma, Looseness looseness);

  /// Where the results of native code are not what they may be, or nothing.
  std::string compare(const std::vector<Tensor>& found);

  const std::vector<Tensor>& values() const { return samples_[0]; }

 private:
  std::vector<Tensor> sample(bool moved);
  bool agrees(const Tensor& found, size_t output, int64_t element) const;

  const Graph& graph_;
  const std::vector<Tensor>& arguments_;
  bool fma_;
  Looseness looseness_;
  std::mt19937 random_{1};
  std::vector<std::vector<Tensor>> samples_;  ///< the first one as the interpreter computes it
};

}  // namespace tokamak::testing
