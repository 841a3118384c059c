#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tokamak::testing {

/// What elements are: around zero, and ...
enum class Numbers : uint8_t {
  special,   ///< NaN, infinities, signed zeros and extremes among them
  ordinary,  ///< nothing of that
  whole,     ///< only whole numbers, also of floats: their sums are exact
};

struct RandomGraphOptions {
  int nodes = 20;
  /// Leaves out what may differ in the last place when rewritten: sums and products of floats, and pow.
  bool exact_only = false;
  /// Shapes of parameters and constants; a few small ones when empty.
  std::vector<Shape> shapes = {};
  /// Of 100 steps, how many add one of the patterns that the compiler looks for (softmax, convolution,
  /// attention, part of a sorted array, ...) instead of one op.
  int idioms = 0;
  /// Indices that are checked at run time, some of them out of range: then running the graph is an error.
  bool checks = false;
  Numbers numbers = Numbers::special;  ///< what constants are made of
  bool large = false;                  ///< patterns of the sizes that blocks, threads and caches are for
};

/// A graph of all kinds of ops over small shapes, the same for the same seed.
Graph random_graph(uint32_t seed, const RandomGraphOptions& options = {});

Tensor random_tensor(const TensorType& type, std::mt19937& random, Numbers numbers = Numbers::special);
std::vector<Tensor> random_arguments(const Graph& graph, std::mt19937& random,
                                     Numbers numbers = Numbers::special);

/// Where the tensors differ, or nothing. A NaN equals any NaN. Floats may be `ulps` apart.
std::string difference(const Tensor& a, const Tensor& b, int64_t ulps = 0);

}  // namespace tokamak::testing
