#include "passes/commute.h"

namespace tokamak {

bool commutes(Op op, DType operand) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::eq:
    case Op::ne:
      return true;
    case Op::max:
    case Op::min:
      return !is_float(operand);
    default:
      return false;  // not a list to keep complete: an op that is missing only misses a chance
  }
}

}  // namespace tokamak
