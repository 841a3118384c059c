#pragma once

// Terms: the two sides of a rewrite rule, written as algebra.
//
//   const Term x = variable(0), y = variable(1);
//   {x - (-y), x + y, DTypes::numbers}
//
// Terms are data: the simplifier matches and builds them, and a test walks them to make random graphs of both
// sides.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/op.h"
#include "ir/tensor.h"

namespace tokamak {

struct Term {
  enum class Kind : uint8_t {
    variable,   ///< any value; the same index is the same value everywhere in a rule
    condition,  ///< any bool value
    constant,   ///< any constant all of whose elements are equal
    number,     ///< a constant all of whose elements are `number`; the sign of zero counts
    computed,   ///< right side only: a constant made from constant `index` by `compute`
    operation,
  };

  Kind kind = Kind::number;
  int index = 0;  ///< of the variable, condition or constant; of a conversion's dtype
  double number = 0;
  double (*compute)(double) = nullptr;
  Op op = Op::constant;
  std::vector<Term> operands;

  Term() = default;
  Term(double value) : number(value) {}  // NOLINT: implicit, so that rules read `x + 0`
};

inline constexpr int kMaxVariables = 4;

Term variable(int index);
Term condition(int index);
Term constant(int index);
Term computed(const Term& from, double (*compute)(double));
Term operation(Op op, std::vector<Term> operands);
/// Conversion to a dtype; the same index is the same dtype everywhere in a rule.
Term convert_to(int index, Term operand);

inline Term operator+(Term a, Term b) { return operation(Op::add, {std::move(a), std::move(b)}); }
inline Term operator-(Term a, Term b) { return operation(Op::sub, {std::move(a), std::move(b)}); }
inline Term operator*(Term a, Term b) { return operation(Op::mul, {std::move(a), std::move(b)}); }
inline Term operator/(Term a, Term b) { return operation(Op::div, {std::move(a), std::move(b)}); }
inline Term operator-(Term a) { return operation(Op::neg, {std::move(a)}); }
inline Term operator&(Term a, Term b) { return operation(Op::bit_and, {std::move(a), std::move(b)}); }
inline Term operator|(Term a, Term b) { return operation(Op::bit_or, {std::move(a), std::move(b)}); }
inline Term operator^(Term a, Term b) { return operation(Op::bit_xor, {std::move(a), std::move(b)}); }
inline Term operator~(Term a) { return operation(Op::bit_not, {std::move(a)}); }
inline Term operator==(Term a, Term b) { return operation(Op::eq, {std::move(a), std::move(b)}); }
inline Term operator!=(Term a, Term b) { return operation(Op::ne, {std::move(a), std::move(b)}); }
inline Term operator<(Term a, Term b) { return operation(Op::lt, {std::move(a), std::move(b)}); }
inline Term operator<=(Term a, Term b) { return operation(Op::le, {std::move(a), std::move(b)}); }
inline Term operator>(Term a, Term b) { return operation(Op::gt, {std::move(a), std::move(b)}); }
inline Term operator>=(Term a, Term b) { return operation(Op::ge, {std::move(a), std::move(b)}); }
inline Term select(Term c, Term a, Term b) {
  return operation(Op::select, {std::move(c), std::move(a), std::move(b)});
}

/// "add(x, 0)"
std::string to_string(const Term& term);

}  // namespace tokamak
