#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tokamak::testing {

struct RandomGraphOptions {
  int nodes = 20;
  /// Leaves out what may differ in the last place when rewritten: sums and products of floats, and pow.
  bool exact_only = false;
  /// Shapes of parameters and constants; a few small ones when empty.
  std::vector<Shape> shapes = {};
};

/// A graph of all kinds of ops over small shapes, the same for the same seed.
Graph random_graph(uint32_t seed, const RandomGraphOptions& options = {});

/// Elements around zero, with special values among them (NaN, infinities, signed zeros, extremes).
Tensor random_tensor(const TensorType& type, std::mt19937& random);
std::vector<Tensor> random_arguments(const Graph& graph, std::mt19937& random);

/// Where the tensors differ, or nothing. A NaN equals any NaN. Floats may be `ulps` apart.
std::string difference(const Tensor& a, const Tensor& b, int64_t ulps = 0);

}  // namespace tokamak::testing
