#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tokamak/tokamak.h"

namespace tokamak::testing {

/// Whether programs are interpreted graphs (interpreted_driver.cpp) or compiled (native_driver.cpp).
extern const bool kInterpreted;
/// How often compile() was called; -1 when nobody counts.
int compile_count();
/// Makes the next compile() throw, where the driver of the test can.
bool fail_next_compile();

/// What a function of one float64 array gives, eagerly and inside jit, which must agree to the bit.
inline std::vector<double> both_ways(const std::function<Array(Array)>& function, const Array& x) {
  const Array eager = function(x);
  const Array jitted = jit([&](Array a) { return function(a); })(x);
  EXPECT_EQ(eager.type(), jitted.type());
  const auto a = astype(eager, DType::f64).to_vector<double>();
  const auto b = astype(jitted, DType::f64).to_vector<double>();
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
        << "element " << i << ": " << a[i] << ", " << b[i];
  }
  return b;
}

inline void expect_close(const std::vector<double>& got, const std::vector<double>& wanted,
                         double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i;
    } else if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << "element " << i;
    }
  }
}

/// 0, 1, 2, ... as f64.
inline Array counting(Shape shape) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return Array::from(values, std::move(shape));
}

inline std::vector<double> doubles(const Array& x) { return astype(x, DType::f64).to_vector<double>(); }

/// The error `function` throws must be an E that contains `text` and, when `line` is not 0, names that line.
template <class E>
void expect_error(const std::function<void()>& function, const std::string& text, uint32_t line = 0) {
  try {
    function();
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    if (line != 0) {  // a statement may end on a later line than it begins
      EXPECT_LE(error.where().line, line) << error.what();
      EXPECT_GE(error.where().line + 2, line) << error.what();
    }
    EXPECT_TRUE(error.where().known()) << error.what();
    return;
  } catch (const std::exception& error) {
    FAIL() << "another error: " << error.what();
  }
  FAIL() << "no error; expected: " << text;
}

}  // namespace tokamak::testing
