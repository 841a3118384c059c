#include "passes/rules/term.h"

#include <charconv>

namespace tokamak {

Term variable(int index) {
  Term term;
  term.kind = Term::Kind::variable;
  term.index = index;
  return term;
}

Term condition(int index) {
  Term term;
  term.kind = Term::Kind::condition;
  term.index = index;
  return term;
}

Term constant(int index) {
  Term term;
  term.kind = Term::Kind::constant;
  term.index = index;
  return term;
}

Term computed(const Term& from, double (*compute)(double)) {
  Term term;
  term.kind = Term::Kind::computed;
  term.index = from.index;
  term.compute = compute;
  return term;
}

Term operation(Op op, std::vector<Term> operands) {
  Term term;
  term.kind = Term::Kind::operation;
  term.op = op;
  term.operands = std::move(operands);
  return term;
}

Term convert_to(int index, Term operand) {
  Term term = operation(Op::convert, {std::move(operand)});
  term.index = index;
  return term;
}

std::string to_string(const Term& term) {
  switch (term.kind) {
    case Term::Kind::variable:
      return std::string(1, "xyzw"[term.index % 4]);
    case Term::Kind::condition:
      return std::string(1, "pqrs"[term.index % 4]);
    case Term::Kind::constant:
      return std::string(1, "cdef"[term.index % 4]);
    case Term::Kind::computed:
      return std::string("f(") + "cdef"[term.index % 4] + ")";
    case Term::Kind::number: {
      char buffer[32];
      const auto result = std::to_chars(buffer, buffer + sizeof(buffer), term.number);
      return {buffer, result.ptr};
    }
    case Term::Kind::operation:
      break;
  }
  std::string text(name_of(term.op));
  if (term.op == Op::convert) text += std::string("<") + "ABCD"[term.index % 4] + ">";
  text += "(";
  for (size_t i = 0; i < term.operands.size(); ++i) {
    if (i != 0) text += ", ";
    text += to_string(term.operands[i]);
  }
  return text + ")";
}

}  // namespace tokamak
