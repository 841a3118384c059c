#include "exhaustive/hard_cases.h"

#include <gmp.h>
#include <mpfr.h>

#include <cmath>
#include <cstdint>

namespace tokamak::exhaustive {
namespace {

constexpr int kFractionBits = 200;
constexpr uint64_t kEndOfMantissas = uint64_t{1} << 53;
constexpr uint64_t kFewestToTry = uint64_t{1} << 40;

struct Integer {
  mpz_t value;
  Integer() { mpz_init(value); }
  Integer(const Integer&) = delete;
  Integer& operator=(const Integer&) = delete;
  ~Integer() { mpz_clear(value); }
};

/// The fraction of 2^exponent * 2/pi, times 2^kFractionBits.
void fraction_of_turns(int exponent, mpz_t result) {
  mpfr_t turns;
  mpfr_init2(turns, 1400);
  mpfr_const_pi(turns, MPFR_RNDN);
  mpfr_ui_div(turns, 2, turns, MPFR_RNDN);
  mpfr_mul_2si(turns, turns, exponent, MPFR_RNDN);
  mpfr_frac(turns, turns, MPFR_RNDN);
  mpfr_mul_2si(turns, turns, kFractionBits, MPFR_RNDN);
  mpfr_get_z(result, turns, MPFR_RNDN);
  mpfr_clear(turns);
}

}  // namespace

// q * 2^exponent is near a multiple of pi/2 where the fraction p / q is near 2^exponent * 2/pi: the continued
// fraction of that has the nearest.
std::vector<double> nearest_to_quarter_turns() {
  std::vector<double> found;
  Integer numerator, denominator, quotient;
  for (int exponent = -52; exponent <= 1023 - 52; ++exponent) {
    fraction_of_turns(exponent, numerator.value);
    mpz_set_ui(denominator.value, 1);
    mpz_mul_2exp(denominator.value, denominator.value, kFractionBits);
    uint64_t before = 1, q = 0;
    while (mpz_sgn(denominator.value) != 0) {
      mpz_fdiv_qr(quotient.value, numerator.value, numerator.value, denominator.value);
      mpz_swap(numerator.value, denominator.value);
      if (mpz_sizeinbase(quotient.value, 2) > 53) break;
      const double next = static_cast<double>(mpz_get_ui(quotient.value)) * static_cast<double>(q);
      if (next + static_cast<double>(before) >= static_cast<double>(kEndOfMantissas)) break;
      const uint64_t last = q;
      q = mpz_get_ui(quotient.value) * q + before;
      before = last;
      if (q < kFewestToTry) continue;
      found.push_back(std::ldexp(static_cast<double>(q), exponent));
      found.push_back(-found.back());
    }
  }
  return found;
}

}  // namespace tokamak::exhaustive
