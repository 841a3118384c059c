// Whether what judges all values of a function would notice a wrong one.

#include "exhaustive/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "exhaustive/reference.h"
#include "math/reference.h"

namespace tokamak::exhaustive {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr test::FloatShape kShapes[] = {{11, -13, 16}, {8, -125, 128}, test::kShapeOf<float>};

/// Numbers of all sizes that formats of up to 32 bits have, and of more.
std::vector<double> all_kinds() {
  std::vector<double> numbers = {0,       1,        1.5,       65504,          65520,
                                 0x1p-24, 0x1p-149, 0x1p-150,  0x1.fffffep127, 0x1p128,
                                 1e300,   1e-300,   kInfinity, std::nan("")};
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i)
    numbers.push_back(
        std::ldexp(1 + static_cast<double>(random() % 4096) / 4096, static_cast<int>(random() % 280) - 150));
  const size_t count = numbers.size();
  for (size_t i = 0; i < count; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

TEST(Errors, OfBlocksAreThoseOfSingleResults) {
  const std::vector<double> numbers = all_kinds();
  for (const test::FloatShape& shape : kShapes) {
    for (const double wanted : numbers) {
      const std::vector<double> truths(numbers.size(), wanted);
      std::vector<double> errors(numbers.size());
      const double largest = errors_in_ulp(shape, numbers, truths, errors);
      double expected_largest = 0;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const double expected = test::ulp_error(numbers[i], wanted, shape);
        // Those of the wrong sign are counted in units there, which are many.
        if (!std::isinf(expected) || std::isinf(errors[i]))
          ASSERT_EQ(errors[i], expected) << numbers[i] << " for " << wanted;
        else
          ASSERT_GE(errors[i], 1) << numbers[i] << " for " << wanted;
        expected_largest = std::max(expected_largest, errors[i]);
      }
      EXPECT_EQ(largest, expected_largest);
    }
  }
}

TEST(Errors, DifferencesAreCounted) {
  const std::vector<double> numbers = all_kinds();
  EXPECT_EQ(count_different(numbers, numbers), 0U);
  std::vector<double> others = numbers;
  others[0] = -0.0;
  others[3] = std::nan("");
  others[13] = 1;  // instead of NaN
  others[40] = std::nextafter(others[40], kInfinity);
  EXPECT_EQ(count_different(others, numbers), 4U);
}

TEST(References, AgreeWithMpfr) {
  std::mt19937 random(5);
  std::vector<double> x(4000);
  for (double& value : x) value = std::bit_cast<float>(static_cast<uint32_t>(random()));
  for (size_t k = 0; k < test::kUnaryCaseCount; ++k) {
    const test::UnaryCase& c = test::kUnaryCases[k];
    const Reference* reference = reference_named(c.name);
    ASSERT_NE(reference, nullptr) << c.name;
    std::vector<double> wanted(x.size());
    (*reference)(x, wanted);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double truth = c.exact(x[i]);
      if (truth == 0 || wanted[i] == 0) continue;
      EXPECT_LE(test::ulp_error(wanted[i], truth, test::kShapeOf<float>), 1e-6) << c.name << " of " << x[i];
    }
  }
}

}  // namespace
}  // namespace tokamak::exhaustive
