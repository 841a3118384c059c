#pragma once

// What this machine can do at most, for comparison with what kernels do.

#include <cstdint>
#include <string>
#include <vector>

#include "support/cpu.h"

namespace tokamak {

struct Roofline {
  /// Reading an array of some size again and again.
  struct Level {
    std::string name;  ///< the smallest of "L2", "L3" and "memory" that holds it
    int64_t bytes;     ///< of the array, all threads together
    double bytes_per_second;
  };

  int threads = 1;
  double f32_flops = 0;  ///< per second: multiplications and additions in registers, two for a fused one
  double f64_flops = 0;
  std::vector<Level> levels;  ///< from small to large, each twice the one before it
};

/// What to expect of a processor that nobody has measured, by its instructions and caches.
Roofline expected_roofline(const Cpu& cpu, int threads);

/// Measured with the threads that the pool has now, the best of several tries, which takes some tenths of a
/// second the first time; kept for the life of the process. `again` measures once more, for when something
/// else kept the machine busy, and keeps what is better.
Roofline measure_roofline(bool again = false);

}  // namespace tokamak
