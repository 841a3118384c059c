#pragma once

// What the tests of limits know of operator new, which they replace.

#include <cstdint>

namespace tokamak::testing {

/// How often it was called, by any thread.
int64_t allocations();

/// While it lives, `operator new` has no memory when it is called for the time after the next `spared`,
/// counted over all threads, and from then on, or for that time only.
class NoMemory {
 public:
  explicit NoMemory(int64_t spared, bool for_good);
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

  /// Whether anybody has been refused.
  static bool was_noticed();
};

}  // namespace tokamak::testing
