// Arithmetic. What is missing is missing for a reason: x + 0.0 turns -0.0 into 0.0, x * 0.0 keeps NaN and
// signs, x - x is NaN for infinities, pow(x, 0.5) and sqrt differ at -0.0 and -inf, and (x + c) + d rounds
// twice.

#include <cmath>
#include <limits>

#include "passes/rules/rules.h"

namespace tokamak {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double reciprocal(double value) { return 1 / value; }

/// Whether constant 0 is a power of two whose reciprocal is a finite number of its dtype.
bool has_exact_reciprocal(const Bindings& bound) {
  const double value = element_as_double(*bound.constants[0], 0);
  int exponent = 0;
  if (!std::isfinite(value) || std::fabs(std::frexp(value, &exponent)) != 0.5) return false;
  const double wanted = reciprocal(value);
  return std::isfinite(wanted) && element_as_double(scalar_tensor(bound.dtype, wanted), 0) == wanted;
}

bool is_unsigned(const Bindings& bound) { return is_unsigned_integer(bound.dtype); }
bool is_signed(const Bindings& bound) { return !is_unsigned_integer(bound.dtype); }

Term abs(Term a) { return operation(Op::abs, {std::move(a)}); }
Term pow(Term a, Term b) { return operation(Op::pow, {std::move(a), std::move(b)}); }
Term max(Term a, Term b) { return operation(Op::max, {std::move(a), std::move(b)}); }
Term min(Term a, Term b) { return operation(Op::min, {std::move(a), std::move(b)}); }
Term floor_div(Term a, Term b) { return operation(Op::floor_div, {std::move(a), std::move(b)}); }
Term mod(Term a, Term b) { return operation(Op::mod, {std::move(a), std::move(b)}); }

/// Rounding what is rounded already changes nothing.
void add_rounding_rules(std::vector<Rule>& rules) {
  const Term x = variable(0);
  const Op roundings[] = {Op::floor, Op::ceil, Op::trunc, Op::round};
  for (Op outer : roundings) {
    for (Op inner : roundings) {
      const Term rounded = operation(inner, {x});
      rules.push_back({operation(outer, {rounded}), rounded});
    }
  }
}

}  // namespace

std::vector<Rule> arithmetic_rules() {
  const Term x = variable(0), y = variable(1), c = constant(0);
  std::vector<Rule> rules = {
      // Neutral elements
      {x + -0.0, x, DTypes::floats},
      {x + 0, x, DTypes::integers},
      {x - 0.0, x, DTypes::numbers},  // also for x = -0.0: -0.0 - 0.0 = -0.0
      {x * 1, x, DTypes::numbers},
      {x / 1, x, DTypes::numbers},
      {floor_div(x, 1), x, DTypes::integers},
      {pow(x, 1), x, DTypes::numbers},
      {max(x, -kInfinity), x, DTypes::floats},
      {max(-kInfinity, x), x, DTypes::floats},
      {min(x, kInfinity), x, DTypes::floats},
      {min(kInfinity, x), x, DTypes::floats},

      // Integers wrap, so these hold for all of them
      {x * 0, 0, DTypes::integers},
      {x - x, 0, DTypes::integers},
      {mod(x, 1), 0, DTypes::integers},
      {0 - x, -x, DTypes::integers, is_signed},
      {-(x - y), y - x, DTypes::integers},

      // Signs: IEEE negation is exact
      {-(-x), x, DTypes::numbers},
      {x + (-y), x - y, DTypes::numbers},
      {x - (-y), x + y, DTypes::numbers},
      {(-x) * (-y), x * y, DTypes::numbers},
      {(-x) / (-y), x / y, DTypes::floats},
      {x * -1, -x, DTypes::numbers, is_signed},
      {x / -1, -x, DTypes::floats},
      {abs(abs(x)), abs(x), DTypes::numbers},
      {abs(-x), abs(x), DTypes::numbers, is_signed},
      {abs(x), x, DTypes::numbers, is_unsigned},

      // Cheaper operations with the same result
      {x / c, x * computed(c, reciprocal), DTypes::floats, has_exact_reciprocal},  // x / 2^k = x * 2^-k
      {pow(x, 2), x * x, DTypes::integers},
      {pow(x, 2), x * x, DTypes::floats, nullptr, true},  // as NumPy computes it
      {pow(x, 0), 1, DTypes::numbers},                    // of NaN too
      {pow(x, -1), 1 / x, DTypes::floats, nullptr, true},

      // Idempotent
      {max(x, x), x},
      {min(x, x), x},
      {max(max(x, y), y), max(x, y), DTypes::integers_and_bool},
      {min(min(x, y), y), min(x, y), DTypes::integers_and_bool},
      {max(min(x, y), y), y, DTypes::integers_and_bool},
      {min(max(x, y), y), y, DTypes::integers_and_bool},
  };
  add_rounding_rules(rules);
  return rules;
}

}  // namespace tokamak
