#pragma once

// How far a result is from the true value.

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokamak::test {

/// A float format; the exponents are those of std::numeric_limits, one above those of IEEE 754.
struct FloatShape {
  int digits;
  int min_exponent;
  int max_exponent;
};
template <typename T>
inline constexpr FloatShape kShapeOf = {std::numeric_limits<T>::digits, std::numeric_limits<T>::min_exponent,
                                        std::numeric_limits<T>::max_exponent};

/// The distance of `result` from `wanted`, in units of the last place of `wanted`. Infinity counts as the
/// number after the largest; a NaN or zero of the wrong kind is infinitely far away.
inline double ulp_error(long double result, long double wanted, const FloatShape& shape) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (std::isnan(result) || std::isnan(wanted)) return std::isnan(result) && std::isnan(wanted) ? 0 : kFar;
  const bool other_sign = std::signbit(result) != std::signbit(wanted);
  if (other_sign && (result == 0 || std::abs(wanted) >= std::ldexp(1.0L, shape.min_exponent - 1)))
    return kFar;
  const long double limit = std::ldexp(1.0L, shape.max_exponent);
  const long double got = std::clamp(result, -limit, limit);
  wanted = std::clamp(wanted, -limit, limit);
  const int exponent = wanted == 0 ? shape.min_exponent : std::ilogb(wanted) + 1;
  const int place = shape.digits - std::clamp(exponent, shape.min_exponent, shape.max_exponent);
  return static_cast<double>(std::abs(std::ldexp(got - wanted, place)));
}

template <typename T>
double ulp_error(T result, long double wanted) {
  return ulp_error(result, wanted, kShapeOf<T>);
}

}  // namespace tokamak::test
