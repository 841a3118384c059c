#include "math/reference.h"

#include <mpfr.h>

#include <iterator>

#include "ops/math/expr.h"

namespace tokamak::test {

namespace {

/// A number of 200 bits, freed at the end of the scope.
struct Wide {
  mpfr_t value;
  explicit Wide(double from) {
    mpfr_init2(value, 200);
    mpfr_set_d(value, from, MPFR_RNDN);
  }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  ~Wide() { mpfr_clear(value); }
  long double narrow() const { return mpfr_get_ld(value, MPFR_RNDN); }
};

template <int (*Function)(mpfr_t, const mpfr_t, mpfr_rnd_t)>
long double exact(double x) {
  Wide wide(x);
  Function(wide.value, wide.value, MPFR_RNDN);
  return wide.narrow();
}

template <int (*Function)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t)>
long double exact2(double x, double y) {
  Wide a(x);
  Wide b(y);
  Function(a.value, a.value, b.value, MPFR_RNDN);
  return a.narrow();
}

int sigmoid_wide(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_neg(result, x, rounding);
  mpfr_exp(result, result, rounding);
  mpfr_add_ui(result, result, 1, rounding);
  return mpfr_ui_div(result, 1, result, rounding);
}

/// MPFR takes 1 / sqrt(-0) to be +infinity; IEEE arithmetic does not.
int rsqrt_wide(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_sqrt(result, x, rounding);
  return mpfr_ui_div(result, 1, result, rounding);
}

template <typename T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

template <typename T>
T rsqrt(T x) {
  return 1 / std::sqrt(x);
}

#define LIBM(name) #name, math::name, std::name, std::name, exact < mpfr_##name>

}  // namespace

const UnaryCase kUnaryCases[] = {
    {LIBM(exp), 1, 1, {-104, 89}, {-746, 710}, {-1, 1}},
    {LIBM(exp2), 2, 2, {-150, 128}, {-1075, 1024}, {-1, 1}},
    {LIBM(expm1), 2, 2, {-20, 89}, {-40, 710}, {-1, 1}},
    {"sigmoid",
     math::sigmoid,
     sigmoid<double>,
     sigmoid<long double>,
     exact<sigmoid_wide>,
     2,
     2,
     {-104, 20},
     {-746, 40},
     {-1, 1}},
    {LIBM(log), 1, 1, {0, 100}, {0, 100}, {0.5, 2}},
    {LIBM(log2), 2, 2, {0, 100}, {0, 100}, {0.5, 2}},
    {LIBM(log10), 2, 2, {0, 100}, {0, 100}, {0.5, 2}},
    {LIBM(log1p), 2, 2, {-1, 100}, {-1, 100}, {-0.5, 1}},
    {LIBM(sin), 1, 1, {-140000, 140000}, {-2e8, 2e8}, {-6, 6}},
    {LIBM(cos), 1, 1, {-140000, 140000}, {-2e8, 2e8}, {-6, 6}},
    {LIBM(tan), 2, 2, {-140000, 140000}, {-2e8, 2e8}, {-6, 6}},
    {LIBM(asin), 2, 2, {-1, 1}, {-1, 1}, {-1, 1}},
    {LIBM(acos), 2, 2, {-1, 1}, {-1, 1}, {-1, 1}},
    {LIBM(atan), 2, 2, {-20, 20}, {-20, 20}, {-2, 2}},
    {LIBM(sinh), 2, 2, {-90, 90}, {-711, 711}, {-2, 2}},
    {LIBM(cosh), 2, 2, {-90, 90}, {-711, 711}, {-2, 2}},
    {LIBM(tanh), 2, 2, {-10, 10}, {-20, 20}, {-1, 1}},
    {LIBM(asinh), 2, 2, {-100, 100}, {-100, 100}, {-2, 2}},
    {LIBM(acosh), 2, 2, {1, 100}, {1, 100}, {1, 2}},
    {LIBM(atanh), 2, 2, {-1, 1}, {-1, 1}, {-0.5, 0.5}},
    {LIBM(erf), 2, 2, {-4, 4}, {-6, 6}, {-1.5, 1.5}},
    {LIBM(erfc), 2, 2, {-4, 10.1}, {-6, 27.3}, {-1, 2}},
    {LIBM(cbrt), 2, 2, {-100, 100}, {-100, 100}, {-2, 2}},
    {"sqrt",
     [](ScalarBuilder& s, Scalar x) -> Scalar {
       return sqrt(Expr{&s, x});
     },
     std::sqrt,
     std::sqrt,
     exact<mpfr_sqrt>,
     0.5,
     0.5,
     {0, 100},
     {0, 100},
     {0, 2}},
    {"rsqrt",
     math::rsqrt,
     rsqrt<double>,
     rsqrt<long double>,
     exact<rsqrt_wide>,
     1,
     1,
     {0, 100},
     {0, 100},
     {0, 2}},
};
const size_t kUnaryCaseCount = std::size(kUnaryCases);

const BinaryCase kBinaryCases[] = {
    {"pow", math::pow, std::pow, std::pow, exact2<mpfr_pow>, 2},
    {"atan2", math::atan2, std::atan2, std::atan2, exact2<mpfr_atan2>, 2},
    {"hypot", math::hypot, std::hypot, std::hypot, exact2<mpfr_hypot>, 2},
};
const size_t kBinaryCaseCount = std::size(kBinaryCases);

}  // namespace tokamak::test
