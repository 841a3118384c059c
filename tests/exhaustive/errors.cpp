#include "exhaustive/errors.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tokamak::exhaustive {
namespace {

// What chooses a clone runs before the thread sanitizer does, which would have its part in it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define TOKAMAK_FOR_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define TOKAMAK_FOR_AVX2
#endif

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr int64_t kBias = 1023;
constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;

/// A format as the loop below wants it.
struct Places {
  double limit;     ///< what infinity counts as
  double smallest;  ///< normal number
  double largest;   ///< power of two
  uint64_t turned;  ///< the bits of a power of two taken from it are those of the number of its units in 1

  explicit Places(const test::FloatShape& shape)
      : limit(std::ldexp(1.0, shape.max_exponent)),
        smallest(std::ldexp(1.0, shape.min_exponent - 1)),
        largest(std::ldexp(1.0, shape.max_exponent - 1)),
        turned(static_cast<uint64_t>(2 * kBias + shape.digits - 1) << 52) {}
};

/// x where it is NaN.
inline double lesser(double limit, double x) { return limit < x ? limit : x; }
inline double greater(double limit, double x) { return limit > x ? limit : x; }

/// Without branches, for vectors.
inline double error_in_ulp(const Places& places, double result, double wanted) {
  const double got = greater(-places.limit, lesser(places.limit, result));
  const double truth = greater(-places.limit, lesser(places.limit, wanted));
  const double size = lesser(places.largest, greater(places.smallest, std::fabs(truth)));
  const double scale = std::bit_cast<double>(places.turned - (std::bit_cast<uint64_t>(size) & kExponent));
  const double distance = std::fabs(got - truth) * scale;
  const bool other_sign = (std::bit_cast<int64_t>(result) ^ std::bit_cast<int64_t>(wanted)) < 0;
  const double error = (result == 0) & other_sign ? kFar : distance;
  const bool is_nan = result != result;
  const bool should_be_nan = wanted != wanted;
  return is_nan | should_be_nan ? (is_nan & should_be_nan ? 0.0 : kFar) : error;
}

}  // namespace

TOKAMAK_FOR_AVX2
double errors_in_ulp(const test::FloatShape& shape, std::span<const double> results,
                     std::span<const double> wanted, std::span<double> errors) {
  const Places places(shape);
  const double* got = results.data();
  const double* truth = wanted.data();
  double* error = errors.data();
  const size_t count = results.size();
  // Errors are not negative, so that their bits are in the order of their values.
  int64_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    error[i] = error_in_ulp(places, got[i], truth[i]);
    const auto bits = std::bit_cast<int64_t>(error[i]);
    largest = bits > largest ? bits : largest;
  }
  return std::bit_cast<double>(largest);
}

bool is_different(double result, double wanted) {
  const bool both_nan = (result != result) & (wanted != wanted);
  return (std::bit_cast<int64_t>(result) != std::bit_cast<int64_t>(wanted)) & !both_nan;
}

TOKAMAK_FOR_AVX2
size_t count_different(std::span<const double> results, std::span<const double> wanted) {
  const double* got = results.data();
  const double* truth = wanted.data();
  size_t different = 0;
  for (size_t i = 0; i < results.size(); ++i) different += is_different(got[i], truth[i]) ? 1 : 0;
  return different;
}

}  // namespace tokamak::exhaustive
