#pragma once

// What a program may answer: the interpreter's values, and how far native code may be from them.
//
// Most operations are bit-equal. A few are not: sums and products of floats are associated in another way,
// the sign of a NaN and of a zero that is the largest of several is left open. How such a difference goes on
// through the rest of a program is sampled: the interpreter runs the program again and again, each time with
// every such result moved at random, as far as docs/numerics.md allows. An element that is the same in all
// samples must have those bits; another must lie where the samples lie.

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tokamak {

/// What else may differ in the last places.
struct Looseness {
  bool contracted = false;  ///< fast_math: products that are added to something
  bool functions = false;   ///< elementary functions are those of the C library

  friend bool operator==(const Looseness&, const Looseness&) = default;
};

/// A result that is not what it may be.
struct Difference {
  size_t output;
  std::string text;  ///< "element 5 of f32[8] is 1 (0x3f800000), not 2 (0x40000000)"
};

class Oracle {
 public:
  /// Throws UserError where running the program is an error.
  Oracle(const Graph& graph, const std::vector<Tensor>& arguments, bool fma, Looseness looseness);

  /// The first result of native code that is not what it may be.
  std::optional<Difference> first_difference(const std::vector<Tensor>& found);
  /// The same as text, empty where there is none.
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

}  // namespace tokamak
