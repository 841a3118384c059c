#include "ops/comparison.h"

namespace tokamak {

Op mirrored(Op op) {
  if (op == Op::lt) return Op::gt;
  if (op == Op::le) return Op::ge;
  if (op == Op::gt) return Op::lt;
  if (op == Op::ge) return Op::le;
  return op;
}

std::optional<bool> Limits::hold(int64_t first, int64_t last) const {
  if (first >= low && last < high) return true;
  if (last < low || first >= high) return false;
  return std::nullopt;
}

std::optional<Limits> limits_of(Op op, int64_t number) {
  if (number == kNoLowerLimit || number == kNoUpperLimit) return std::nullopt;
  if (op == Op::lt) return Limits{kNoLowerLimit, number};
  if (op == Op::le) return Limits{kNoLowerLimit, number + 1};
  if (op == Op::gt) return Limits{number + 1, kNoUpperLimit};
  if (op == Op::ge) return Limits{number, kNoUpperLimit};
  if (op == Op::eq) return Limits{number, number + 1};
  return std::nullopt;
}

}  // namespace tokamak
