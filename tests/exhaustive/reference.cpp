#include "exhaustive/reference.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "exhaustive/quarter_turns.h"

// The functions of libmvec, whose error is at most 4 ULP of a double.
#define TOKAMAK_LIBMVEC(F)                                                                                 \
  F(exp)                                                                                                   \
  F(exp2)                                                                                                  \
  F(expm1)                                                                                                 \
  F(log)                                                                                                   \
  F(log2)                                                                                                  \
  F(log10) F(log1p) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) \
      F(atanh) F(erf) F(erfc) F(cbrt)
extern "C" {
#define TOKAMAK_DECLARE(name) __m256d _ZGVdN4v_##name(__m256d);
TOKAMAK_LIBMVEC(TOKAMAK_DECLARE)
}

namespace tokamak::exhaustive {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

/// Each by fours where the machine can, and otherwise one by one with the C library.
#define TOKAMAK_BLOCK(name)                                                                             \
  __attribute__((target("avx2"))) void name##_by_fours(const double* x, double* wanted, size_t count) { \
    for (size_t i = 0; i < count; i += 4)                                                               \
      _mm256_storeu_pd(wanted + i, _ZGVdN4v_##name(_mm256_loadu_pd(x + i)));                            \
  }                                                                                                     \
  void name##_block(std::span<const double> x, std::span<double> wanted) {                              \
    if (has_avx2()) return name##_by_fours(x.data(), wanted.data(), x.size());                          \
    for (size_t i = 0; i < x.size(); ++i) wanted[i] = std::name(x[i]);                                  \
  }
TOKAMAK_LIBMVEC(TOKAMAK_BLOCK)

void sqrt_block(std::span<const double> x, std::span<double> wanted) {
  for (size_t i = 0; i < x.size(); ++i) wanted[i] = std::sqrt(x[i]);
}

void rsqrt_block(std::span<const double> x, std::span<double> wanted) {
  for (size_t i = 0; i < x.size(); ++i) wanted[i] = 1 / std::sqrt(x[i]);
}

void sigmoid_block(std::span<const double> x, std::span<double> wanted) {
  std::vector<double> negated(x.size());
  for (size_t i = 0; i < x.size(); ++i) negated[i] = -x[i];
  exp_block(negated, wanted);
  for (double& value : wanted) value = 1 / (1 + value);
}

/// Angles as quarter turns and what is left; small ones are left as they are.
struct Angles {
  explicit Angles(std::span<const double> x) : turns(x.size()), rest(x.begin(), x.end()) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::abs(x[i]) < 1 || std::isnan(x[i])) continue;
      const QuarterTurns reduced = quarter_turns(std::abs(x[i]));
      // A turn backwards is three forwards.
      turns[i] = x[i] < 0 ? (4 - reduced.count) % 4 : reduced.count;
      rest[i] = x[i] < 0 ? -reduced.rest : reduced.rest;
    }
  }
  std::vector<unsigned> turns;
  std::vector<double> rest;
};

void sine_of_sum(std::span<const double> x, unsigned more_turns, std::span<double> wanted) {
  const Angles angles(x);
  std::vector<double> cosine(x.size());
  sin_block(angles.rest, wanted);
  cos_block(angles.rest, cosine);
  for (size_t i = 0; i < x.size(); ++i) {
    const unsigned turns = (angles.turns[i] + more_turns) % 4;
    const double value = turns % 2 == 0 ? wanted[i] : cosine[i];
    wanted[i] = turns < 2 ? value : -value;
  }
}

void reduced_sin(std::span<const double> x, std::span<double> wanted) { sine_of_sum(x, 0, wanted); }
void reduced_cos(std::span<const double> x, std::span<double> wanted) { sine_of_sum(x, 1, wanted); }
void reduced_tan(std::span<const double> x, std::span<double> wanted) {
  const Angles angles(x);
  tan_block(angles.rest, wanted);
  for (size_t i = 0; i < x.size(); ++i) {
    if (angles.turns[i] % 2 == 1) wanted[i] = -1 / wanted[i];
  }
}

constexpr Limits kAll = {-kInfinity, kInfinity};
constexpr Limits kPositive = {0, kInfinity};
constexpr Limits kUnit = {-1, 1};

// Doubles hold exp(700), and their reciprocals: far beyond all f32.
constexpr Reference kReferences[] = {
    {"sqrt", sqrt_block, kPositive, kAll},
    {"rsqrt", rsqrt_block, kPositive, kAll},
    {"cbrt", cbrt_block, kAll, kAll},
    {"exp", exp_block, kAll, {-700, 700}},
    {"exp2", exp2_block, kAll, {-1000, 1000}},
    {"expm1", expm1_block, kAll, {-700, 700}},
    {"sigmoid", sigmoid_block, kAll, {-700, 700}},
    {"log", log_block, kPositive, kAll},
    {"log2", log2_block, kPositive, kAll},
    {"log10", log10_block, kPositive, kAll},
    {"log1p", log1p_block, {-1, kInfinity}, kAll},
    {"sin", reduced_sin, kAll, kAll},
    {"cos", reduced_cos, kAll, kAll},
    {"tan", reduced_tan, kAll, kAll},
    {"asin", asin_block, kUnit, kAll},
    {"acos", acos_block, kUnit, kAll},
    {"atan", atan_block, kAll, kAll},
    {"sinh", sinh_block, kAll, {-700, 700}},
    {"cosh", cosh_block, kAll, {-700, 700}},
    {"tanh", tanh_block, kAll, {-100, 100}},
    {"asinh", asinh_block, kAll, kAll},
    {"acosh", acosh_block, {1, kInfinity}, kAll},
    {"atanh", atanh_block, kUnit, kAll},
    {"erf", erf_block, kAll, {-25, 25}},
    {"erfc", erfc_block, kAll, {-25, 25}},
};

}  // namespace

void Reference::operator()(std::span<const double> x, std::span<double> wanted) const {
  const bool any = std::ranges::any_of(x, [&](double v) { return v >= domain.low && v <= domain.high; });
  if (!any) {
    std::ranges::fill(wanted, kNaN);
    return;
  }
  if (meaningful.high == kInfinity) return block(x, wanted);
  std::vector<double> limited(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double below = x[i] > meaningful.high ? meaningful.high : x[i];  // NaN stays
    limited[i] = below < meaningful.low ? meaningful.low : below;
  }
  block(limited, wanted);
}

const Reference* reference_named(std::string_view name) {
  const auto* found = std::ranges::find(kReferences, name, &Reference::name);
  return found == std::end(kReferences) ? nullptr : found;
}

}  // namespace tokamak::exhaustive
