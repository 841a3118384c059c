#pragma once

// What this machine can do at most, for comparison with what kernels do.

#include <cstdint>
#include <string>
#include <vector>

namespace tokamak {

struct Roofline {
  /// Reading arrays that fit into a cache, or none.
  struct Level {
    std::string name;  ///< "L2", "L3", "memory"
    int64_t bytes;     ///< of the arrays that were read, all threads together
    double bytes_per_second;
  };

  int threads = 1;
  double f32_flops = 0;  ///< per second: multiplications and additions in registers, two for a fused one
  double f64_flops = 0;
  std::vector<Level> levels;  ///< from small to large
};

/// Measured with the threads that the pool has now, the best of several tries, which takes some tenths of a
/// second the first time; kept for the life of the process.
Roofline measure_roofline();

}  // namespace tokamak
