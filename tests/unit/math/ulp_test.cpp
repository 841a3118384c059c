// Measures the error of every function in ULP: against double (f32), long double (f64, many samples) and MPFR
// (f64, fewer, with the hard places). Each test prints its row of the table.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "math/column_builder.h"
#include "math/reference.h"

namespace tokamak::test {

namespace {

template <typename T>
constexpr Lane kLane = sizeof(T) == 4 ? Lane::f32 : Lane::f64;
template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// TOKAMAK_ULP_SAMPLES multiplies the number of samples, for a deeper look.
size_t scaled(size_t samples) {
  const char* factor = std::getenv("TOKAMAK_ULP_SAMPLES");
  return factor ? static_cast<size_t>(samples * std::atof(factor)) : samples;
}

/// The distance of `result` from `wanted`, in units of the last place of `wanted`. Infinity counts as the
/// number after the largest; a NaN or zero of the wrong kind is infinitely far away.
template <typename T>
double ulp_error(T result, long double wanted) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (std::isnan(result) || std::isnan(wanted)) return std::isnan(result) && std::isnan(wanted) ? 0 : kFar;
  if (std::signbit(result) != std::signbit(wanted) && result == 0 && wanted == 0) return kFar;
  if (std::signbit(result) != std::signbit(wanted) && std::abs(wanted) >= std::numeric_limits<T>::min())
    return kFar;
  const long double limit = std::ldexp(1.0L, std::numeric_limits<T>::max_exponent);
  long double got = std::clamp<long double>(result, -limit, limit);
  wanted = std::clamp(wanted, -limit, limit);
  int exponent = wanted == 0 ? std::numeric_limits<T>::min_exponent : std::ilogb(wanted) + 1;
  exponent = std::clamp(exponent, std::numeric_limits<T>::min_exponent, std::numeric_limits<T>::max_exponent);
  return static_cast<double>(std::abs(std::ldexp(got - wanted, std::numeric_limits<T>::digits - exponent)));
}

template <typename T>
struct Worst {
  double ulp = 0;
  T x = 0;
  T y = 0;
  T got = 0;
  void see(double error, T at_x, T at_y, T result) {
    if (error > ulp) *this = {error, at_x, at_y, result};
  }
};

template <typename T>
void append_neighbours(std::vector<T>& samples, T x, int count = 4) {
  T up = x;
  T down = x;
  samples.push_back(x);
  samples.push_back(-x);
  for (int i = 0; i < count; ++i) {
    up = std::nextafter(up, std::numeric_limits<T>::infinity());
    down = std::nextafter(down, -std::numeric_limits<T>::infinity());
    for (T value : {up, down, -up, -down}) samples.push_back(value);
  }
}

template <typename T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> samples = {Limits::quiet_NaN(), -Limits::quiet_NaN()};
  for (T x :
       {T(0), Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), T(1), T(2), T(0.5),
        T(10), T(100), T(1000), Limits::epsilon(), T(1) / Limits::epsilon(), T(3), T(27), T(1e10), T(1e30)}) {
    append_neighbours(samples, x);
  }
  // Where exp and its relatives overflow, underflow or reach their limit.
  for (double x : {88.722839,
                   89.4159851,
                   87.336544,
                   103.278929,
                   103.972076,
                   709.782712893384,
                   710.4758600739439,
                   708.3964185322641,
                   744.4400719213812,
                   745.1332191019411,
                   127.0,
                   128.0,
                   126.0,
                   149.0,
                   150.0,
                   1023.0,
                   1024.0,
                   1022.0,
                   1074.0,
                   1075.0,
                   17.328679,
                   36.7368005696771,
                   9.010913,
                   19.061547465398498,
                   3.9192059,
                   5.921587195794507,
                   10.05,
                   9.19455,
                   26.543258,
                   27.2263,
                   0.34657359,
                   1.03972077,
                   0.6931471805599453,
                   0.70710678118654752,
                   1.41421356237309505,
                   0.7071067,
                   0.41421356,
                   2.41421356,
                   4096.0,
                   131072.0,
                   1048576.0,
                   134217728.0}) {
    append_neighbours(samples, static_cast<T>(x), 20);
  }
  // Near multiples of pi/2, and powers of two.
  for (int k = 1; k < 2000; ++k) append_neighbours(samples, static_cast<T>(k * 1.57079632679489661923L), 1);
  for (double k = 2000; k < 1e9; k = std::floor(k * 1.3))
    append_neighbours(samples, static_cast<T>(k * 1.57079632679489661923L), 2);
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e)
    append_neighbours(samples, std::ldexp(T(1), e), 1);
  return samples;
}

template <typename T>
T random_bits(std::mt19937_64& random) {
  return std::bit_cast<T>(static_cast<Bits<T>>(random()));
}

template <typename T>
T random_in(std::mt19937_64& random, Interval interval) {
  return static_cast<T>(std::uniform_real_distribution<double>(interval.low, interval.high)(random));
}

/// Runs `build` over all samples with and without fma, and gives every result to `judge(variant, index,
/// result)`.
template <typename T, typename Build, typename Judge>
void evaluate(const std::vector<T>& xs, const std::vector<T>& ys, Build build, Judge judge) {
  for (int variant = 0; variant < 2; ++variant) {
    ColumnBuilder builder(variant == 0);
    for (size_t start = 0; start < xs.size(); start += kBlock) {
      builder.reset();
      std::vector<T> x(kBlock, T(0.5));
      std::vector<T> y(kBlock, T(0.5));
      size_t count = std::min(kBlock, xs.size() - start);
      std::copy_n(xs.begin() + start, count, x.begin());
      if (!ys.empty()) std::copy_n(ys.begin() + start, count, y.begin());
      Scalar result = build(builder, builder.input<T>(kLane<T>, x), builder.input<T>(kLane<T>, y));
      std::span<const T> results = builder.output<T>(result);
      for (size_t i = 0; i < count; ++i) judge(variant, start + i, results[i]);
    }
  }
}

template <typename T, typename Build>
size_t count_operations(Build build) {
  ColumnBuilder builder(true);
  std::vector<T> x(kBlock, T(0.5));
  Scalar a = builder.input<T>(kLane<T>, x);
  Scalar b = builder.input<T>(kLane<T>, x);
  build(builder, a, b);
  return builder.operations();
}

template <typename T>
void expect_within(const char* name, const Worst<T> (&worst)[2], double bound) {
  for (int variant = 0; variant < 2; ++variant) {
    const Worst<T>& w = worst[variant];
    EXPECT_LE(w.ulp, bound) << name << (sizeof(T) == 4 ? " f32" : " f64")
                            << (variant == 0 ? " with fma" : " without fma") << " at " << std::hexfloat << w.x
                            << ", " << w.y << " (" << std::defaultfloat << w.x << ", " << w.y << ") gave "
                            << w.got;
  }
}

template <typename T>
std::vector<T> unary_samples(size_t any, size_t in_range, size_t in_center, Interval range, Interval center) {
  std::vector<T> samples = special_values<T>();
  std::mt19937_64 random(7);
  for (size_t i = 0; i < scaled(any); ++i) samples.push_back(random_bits<T>(random));
  for (size_t i = 0; i < scaled(in_range); ++i) samples.push_back(random_in<T>(random, range));
  for (size_t i = 0; i < scaled(in_center); ++i) samples.push_back(random_in<T>(random, center));
  // Either side of the center, at distances of every order of magnitude.
  for (size_t i = 0; i < scaled(in_center) / 4; ++i) {
    double distance = std::exp2(random_in<double>(random, {-60, 1}));
    for (double base : {0.0, 1.0}) {
      samples.push_back(static_cast<T>(base + distance));
      samples.push_back(static_cast<T>(base - distance));
    }
  }
  return samples;
}

/// The largest errors and where they are, and how many operations the function takes.
void print_row(const char* name, const Worst<float> (&f32)[2], const Worst<double> (&f64)[2],
               size_t f32_operations, size_t f64_operations) {
  std::printf(
      "ULP  %-8s f32 %5.3f at %-12.9g no fma %5.3f  f64 %5.3f at %-20.17g no fma %5.3f  operations %zu, "
      "%zu\n",
      name, f32[0].ulp, f32[0].x, f32[1].ulp, f64[0].ulp, f64[0].x, f64[1].ulp, f32_operations,
      f64_operations);
}

}  // namespace

class UnaryUlp : public testing::TestWithParam<size_t> {};

TEST_P(UnaryUlp, StaysWithinItsBound) {
  const UnaryCase& c = kUnaryCases[GetParam()];
  auto build = [&](ScalarBuilder& s, Scalar x, Scalar) { return c.build(s, x); };

  Worst<float> f32[2];
  std::vector<float> narrow = unary_samples<float>(200000, 100000, 100000, c.f32_range, c.center);
  std::vector<double> wanted(narrow.size());
  std::transform(narrow.begin(), narrow.end(), wanted.begin(), [&](float x) { return c.in_double(x); });
  evaluate(narrow, {}, build, [&](int variant, size_t i, float result) {
    f32[variant].see(ulp_error(result, wanted[i]), narrow[i], 0, result);
  });

  Worst<double> f64[2];
  std::vector<double> wide = unary_samples<double>(20000, 40000, 40000, c.f64_range, c.center);
  std::vector<long double> wanted_wide(wide.size());
  std::transform(wide.begin(), wide.end(), wanted_wide.begin(),
                 [&](double x) { return c.in_long_double(x); });
  evaluate(wide, {}, build, [&](int variant, size_t i, double result) {
    f64[variant].see(ulp_error(result, wanted_wide[i]), wide[i], 0, result);
  });

  std::vector<double> hard = unary_samples<double>(2000, 4000, 4000, c.f64_range, c.center);
  std::vector<long double> exact(hard.size());
  std::transform(hard.begin(), hard.end(), exact.begin(), c.exact);
  evaluate(hard, {}, build, [&](int variant, size_t i, double result) {
    f64[variant].see(ulp_error(result, exact[i]), hard[i], 0, result);
  });

  print_row(c.name, f32, f64, count_operations<float>(build), count_operations<double>(build));
  expect_within(c.name, f32, c.f32_bound);
  expect_within(c.name, f64, c.f64_bound);
}

INSTANTIATE_TEST_SUITE_P(Math, UnaryUlp, testing::Range<size_t>(0, kUnaryCaseCount),
                         [](const auto& info) { return kUnaryCases[info.param].name; });

class BinaryUlp : public testing::TestWithParam<size_t> {
 protected:
  /// Pairs: of special values, of arbitrary numbers, and such that neither pow nor atan2 leaves its range.
  template <typename T>
  static std::pair<std::vector<T>, std::vector<T>> samples(size_t count) {
    std::pair<std::vector<T>, std::vector<T>> pairs;
    auto append = [&](T x, T y) {
      pairs.first.push_back(x);
      pairs.second.push_back(y);
    };
    using Limits = std::numeric_limits<T>;
    std::vector<T> specials = {Limits::quiet_NaN()};
    for (T x : {T(0),
                Limits::denorm_min(),
                Limits::min(),
                T(0.5),
                T(1),
                T(1) - Limits::epsilon() / 2,
                T(1) + Limits::epsilon(),
                T(1.5),
                T(2),
                T(3),
                T(10),
                T(127),
                T(128),
                T(8388607),
                T(8388608),
                T(16777215),
                T(16777217),
                T(1e15),
                T(4503599627370497),
                T(9007199254740991),
                T(9007199254740992),
                T(1e30),
                Limits::max(),
                Limits::infinity()}) {
      specials.push_back(x);
      specials.push_back(-x);
    }
    for (T x : specials) {
      for (T y : specials) append(x, y);
    }
    std::mt19937_64 random(11);
    for (size_t i = 0; i < scaled(count); ++i) {
      append(random_bits<T>(random), random_bits<T>(random));
      append(random_in<T>(random, {-5, 5}), random_in<T>(random, {-5, 5}));
      append(random_in<T>(random, {0, 20}), random_in<T>(random, {-40, 40}));
      // A power whose logarithm is in range, from any base.
      T base = std::abs(random_bits<T>(random));
      double reach = Limits::max_exponent * 0.7 * 1.5;
      append(base, static_cast<T>(random_in<double>(random, {-reach, reach}) /
                                  std::log2(static_cast<double>(base))));
      T near_one = static_cast<T>(1 + std::copysign(std::exp2(random_in<double>(random, {-50, -1})),
                                                    random_in<double>(random, {-1, 1})));
      append(near_one, static_cast<T>(random_in<double>(random, {-reach, reach}) /
                                      std::log2(static_cast<double>(near_one))));
      append(-random_in<T>(random, {0, 20}), std::round(random_in<T>(random, {-40, 40})));
    }
    return pairs;
  }
};

TEST_P(BinaryUlp, StaysWithinItsBound) {
  const BinaryCase& c = kBinaryCases[GetParam()];
  auto build = [&](ScalarBuilder& s, Scalar x, Scalar y) { return c.build(s, x, y); };

  Worst<float> f32[2];
  auto [x32, y32] = samples<float>(40000);
  std::vector<double> wanted(x32.size());
  for (size_t i = 0; i < x32.size(); ++i) wanted[i] = c.in_double(x32[i], y32[i]);
  evaluate(x32, y32, build, [&](int variant, size_t i, float result) {
    f32[variant].see(ulp_error(result, wanted[i]), x32[i], y32[i], result);
  });

  Worst<double> f64[2];
  auto [x64, y64] = samples<double>(10000);
  std::vector<long double> wanted_wide(x64.size());
  for (size_t i = 0; i < x64.size(); ++i) {
    wanted_wide[i] = i % 20 == 0 ? c.exact(x64[i], y64[i]) : c.in_long_double(x64[i], y64[i]);
  }
  evaluate(x64, y64, build, [&](int variant, size_t i, double result) {
    f64[variant].see(ulp_error(result, wanted_wide[i]), x64[i], y64[i], result);
  });

  print_row(c.name, f32, f64, count_operations<float>(build), count_operations<double>(build));
  expect_within(c.name, f32, c.bound);
  expect_within(c.name, f64, c.bound);
}

INSTANTIATE_TEST_SUITE_P(Math, BinaryUlp, testing::Range<size_t>(0, kBinaryCaseCount),
                         [](const auto& info) { return kBinaryCases[info.param].name; });

}  // namespace tokamak::test
