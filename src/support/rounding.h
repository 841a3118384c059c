#pragma once

#include <cstdint>

namespace tokamak {

/// The first multiple of `unit` from `value` on, which is not negative.
constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// The last multiple of `unit` up to `value`, but at least one of them.
constexpr int64_t round_down(int64_t value, int64_t unit) {
  return value < unit ? unit : value / unit * unit;
}

/// The parts of that size that `value` takes, the last of which may be smaller.
constexpr int64_t parts_of(int64_t value, int64_t part) { return (value + part - 1) / part; }

}  // namespace tokamak
