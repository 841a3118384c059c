#pragma once

#include <cstdint>

namespace tokamak {

/// The first multiple of `unit` from `value` on, which is not negative.
constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace tokamak
