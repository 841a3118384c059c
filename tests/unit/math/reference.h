#pragma once

// What the functions of ops/math should give, to far more digits than a double has.

#include <cmath>

#include "ops/math/math.h"

namespace tokamak::test {

using Unary = Scalar (*)(ScalarBuilder&, Scalar);
using Binary = Scalar (*)(ScalarBuilder&, Scalar, Scalar);

/// An interval that deserves more than its share of samples.
struct Interval {
  double low;
  double high;
};

struct UnaryCase {
  const char* name;
  Unary build;
  double (*in_double)(double);                 ///< good enough to judge f32
  long double (*in_long_double)(long double);  ///< good enough to judge f64, and quick
  long double (*exact)(double);                ///< by MPFR
  double f32_bound;                            ///< in ULP
  double f64_bound;
  Interval f32_range;  ///< where the function does something; the whole line is sampled too
  Interval f64_range;
  Interval center;  ///< the most delicate part of it
};

struct BinaryCase {
  const char* name;
  Binary build;
  double (*in_double)(double, double);
  long double (*in_long_double)(long double, long double);
  long double (*exact)(double, double);
  double bound;
};

extern const UnaryCase kUnaryCases[];
extern const size_t kUnaryCaseCount;
extern const BinaryCase kBinaryCases[];
extern const size_t kBinaryCaseCount;

}  // namespace tokamak::test
