#pragma once

// What comparisons of numbers mean, whoever asks.

#include <cstdint>
#include <optional>

#include "ir/op.h"

namespace tokamak {

/// a op b == b mirrored(op) a.
Op mirrored(Op op);

/// low <= x < high. The least and the greatest number of all stand for no limit.
struct Limits {
  int64_t low;
  int64_t high;

  /// Whether all of first ... last lie within; nullopt when only some do.
  std::optional<bool> hold(int64_t first, int64_t last) const;
};
inline constexpr int64_t kNoLowerLimit = INT64_MIN;
inline constexpr int64_t kNoUpperLimit = INT64_MAX;

/// The integers x for which `x op number` holds; nullopt where they are not one range.
std::optional<Limits> limits_of(Op op, int64_t number);

}  // namespace tokamak
