// Bits, comparisons and selections. -1 stands for all bits set, which for bool is true.

#include "passes/rules/rules.h"

namespace tokamak {
namespace {

bool is_unsigned(const Bindings& bound) { return is_unsigned_integer(bound.dtype); }

Term shift_left(Term a, Term b) { return operation(Op::shift_left, {std::move(a), std::move(b)}); }
Term shift_right(Term a, Term b) { return operation(Op::shift_right, {std::move(a), std::move(b)}); }

}  // namespace

std::vector<Rule> logic_rules() {
  const Term x = variable(0), y = variable(1), z = variable(2), p = condition(0);
  return {
      // Bits
      {~(~x), x},
      {x & x, x},
      {x | x, x},
      {x ^ x, 0},
      {x & 0, 0},
      {x | 0, x},
      {x ^ 0, x},
      {x & -1, x},
      {x | -1, -1},
      {x ^ -1, ~x},
      {shift_left(x, 0), x},
      {shift_right(x, 0), x},

      // A value and itself. NaN is not equal to itself, but never less or greater either.
      {x == x, 1, DTypes::integers_and_bool},
      {x <= x, 1, DTypes::integers_and_bool},
      {x >= x, 1, DTypes::integers_and_bool},
      {x != x, 0, DTypes::integers_and_bool},
      {x < x, 0},
      {x > x, 0},
      {x < 0, 0, DTypes::integers, is_unsigned},
      {x >= 0, 1, DTypes::integers, is_unsigned},

      // Negated comparisons; with NaN only equality has an opposite
      {~(x == y), x != y},
      {~(x != y), x == y},
      {~(x < y), x >= y, DTypes::integers_and_bool},
      {~(x <= y), x > y, DTypes::integers_and_bool},
      {~(x > y), x <= y, DTypes::integers_and_bool},
      {~(x >= y), x < y, DTypes::integers_and_bool},

      // Comparing truth values
      {x == 1, x, DTypes::boolean},
      {x != 0, x, DTypes::boolean},
      {x == 0, ~x, DTypes::boolean},
      {x != 1, ~x, DTypes::boolean},

      // Selections
      {select(1, x, y), x},
      {select(0, x, y), y},
      {select(p, x, x), x},
      {select(~p, x, y), select(p, y, x)},
      {select(p, select(p, x, y), z), select(p, x, z)},
      {select(p, x, select(p, y, z)), select(p, x, z)},
      {select(p, 1, 0), p, DTypes::boolean},
      {select(p, 0, 1), ~p, DTypes::boolean},
  };
}

}  // namespace tokamak
