// Measures the error of every function in ULP: against double (f32), long double (f64, many samples) and MPFR
// (f64, fewer, with the hard places). Each test prints its row of the table.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "math/column_builder.h"
#include "math/reference.h"
#include "math/samples.h"
#include "math/ulp.h"

namespace tokamak::test {

namespace {

template <typename T>
constexpr Lane kLane = sizeof(T) == 4 ? Lane::f32 : Lane::f64;

/// TOKAMAK_ULP_SAMPLES multiplies the number of samples, for a deeper look.
size_t scaled(size_t samples) {
  const char* factor = std::getenv("TOKAMAK_ULP_SAMPLES");
  return factor ? static_cast<size_t>(samples * std::atof(factor)) : samples;
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
  std::vector<float> narrow =
      unary_samples<float>(scaled(200000), scaled(100000), scaled(100000), c.f32_range, c.center);
  std::vector<double> wanted(narrow.size());
  std::transform(narrow.begin(), narrow.end(), wanted.begin(), [&](float x) { return c.in_double(x); });
  evaluate(narrow, {}, build, [&](int variant, size_t i, float result) {
    f32[variant].see(ulp_error(result, wanted[i]), narrow[i], 0, result);
  });

  Worst<double> f64[2];
  std::vector<double> wide =
      unary_samples<double>(scaled(20000), scaled(40000), scaled(40000), c.f64_range, c.center);
  std::vector<long double> wanted_wide(wide.size());
  std::transform(wide.begin(), wide.end(), wanted_wide.begin(),
                 [&](double x) { return c.in_long_double(x); });
  evaluate(wide, {}, build, [&](int variant, size_t i, double result) {
    f64[variant].see(ulp_error(result, wanted_wide[i]), wide[i], 0, result);
  });

  std::vector<double> hard =
      unary_samples<double>(scaled(2000), scaled(4000), scaled(4000), c.f64_range, c.center);
  std::vector<long double> exact(hard.size());
  std::transform(hard.begin(), hard.end(), exact.begin(), c.exact);
  evaluate(hard, {}, build, [&](int variant, size_t i, double result) {
    f64[variant].see(ulp_error(result, exact[i]), hard[i], 0, result);
  });

  print_row(c.name, f32, f64, count_operations<float>(build), count_operations<double>(build));
  expect_within(c.name, f32, c.f32_bound);
  expect_within(c.name, f64, c.f64_bound);
}

template <typename T>
void expect_same_bits_with_scale(const UnaryCase& c, const std::vector<T>& xs) {
  ColumnBuilder with(true, /*scale=*/true);
  ColumnBuilder without(true);
  for (size_t start = 0; start + kBlock <= xs.size(); start += kBlock) {
    with.reset();
    without.reset();
    const std::span<const T> block(xs.data() + start, kBlock);
    std::span<const T> scaled = with.output<T>(c.build(with, with.input<T>(kLane<T>, block)));
    std::span<const T> halves = without.output<T>(c.build(without, without.input<T>(kLane<T>, block)));
    ASSERT_EQ(std::memcmp(scaled.data(), halves.data(), kBlock * sizeof(T)), 0)
        << c.name << " from " << block[0] << " on";
  }
}

TEST_P(UnaryUlp, IsTheSameWhereOneInstructionScalesByPowersOfTwo) {
  const UnaryCase& c = kUnaryCases[GetParam()];
  expect_same_bits_with_scale(
      c, unary_samples<float>(scaled(50000), scaled(50000), scaled(50000), c.f32_range, c.center));
  expect_same_bits_with_scale(
      c, unary_samples<double>(scaled(20000), scaled(20000), scaled(20000), c.f64_range, c.center));
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
