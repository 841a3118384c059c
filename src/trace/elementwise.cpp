#include <algorithm>
#include <cmath>

#include "ops/comparison.h"
#include "ops/record.h"
#include "trace/apply.h"
#include "trace/array_impl.h"
#include "trace/operands.h"
#include "trace/promotion.h"
#include "trace/trace.h"

namespace tokamak {
namespace {

bool is_comparison(Op op) {
  return op == Op::eq || op == Op::ne || op == Op::lt || op == Op::le || op == Op::gt || op == Op::ge;
}

/// The same everywhere, in the shape of `array`.
Array constant_like(const Array& array, bool value, const Operand& at) {
  const Operand operand[] = {at};
  const Array scalar = number_array(value, DType::boolean, trace_of(operand), "full", at.where());
  return broadcasted(scalar, array.shape(), at.where());
}

/// Compares integers with an integer their dtype cannot hold: the answer is the same for every element.
std::optional<Array> compare_with_unreachable(Op op, std::span<const Operand> operands) {
  for (size_t i = 0; i < 2; ++i) {
    const Operand::Number* number = operands[i].number();
    const Array* array = operands[1 - i].array();
    if (number == nullptr || array == nullptr || fits(*number, array->dtype())) continue;
    const auto* negative = std::get_if<int64_t>(number);
    const bool number_is_greater = negative == nullptr || *negative > 0;
    const Op seen_from_array = i == 1 ? op : mirrored(op);
    if (seen_from_array == Op::eq || seen_from_array == Op::ne) {
      return constant_like(*array, seen_from_array == Op::ne, operands[1 - i]);
    }
    const bool asks_less = seen_from_array == Op::lt || seen_from_array == Op::le;
    return constant_like(*array, asks_less == number_is_greater, operands[1 - i]);
  }
  return std::nullopt;
}

/// Compares signed integers with u64 exactly; their common dtype would be f64, which rounds.
std::optional<Array> compare_mixed_signs(Op op, std::span<const Operand> operands) {
  const Array* a = operands[0].array();
  const Array* b = operands[1].array();
  if (a == nullptr || b == nullptr) return std::nullopt;
  if (a->dtype() == DType::u64 && is_signed_integer(b->dtype())) {
    std::swap(a, b);
    op = mirrored(op);
  } else if (!(is_signed_integer(a->dtype()) && b->dtype() == DType::u64)) {
    return std::nullopt;
  }
  const Array is_negative = less(*a, 0);
  const Array as_unsigned = astype(*a, DType::u64);
  const Operand same_sign[] = {as_unsigned, *b};
  const Array compared = elementwise(op, same_sign);
  if (op == Op::lt || op == Op::le || op == Op::ne) return is_negative | compared;
  return ~is_negative & compared;
}

/// pow with the exponents that NumPy's operator knows: exact, and far cheaper.
std::optional<Array> pow_by_number(std::span<const Operand> operands) {
  const Array* base = operands[0].array();
  const Operand::Number* number = operands[1].number();
  if (base == nullptr || number == nullptr || std::holds_alternative<bool>(*number)) return std::nullopt;
  const double exponent = std::visit([](auto value) { return static_cast<double>(value); }, *number);
  const DType dtype = common_dtype(operands);
  if (!is_float(dtype)) {
    if (exponent < 0) {
      fail("pow", "integers (" + to_string(base->type()) + ") to a negative integer power are not integers",
           operands[1].where());
    }
    if (exponent == 2 && base->dtype() != DType::boolean) return mul(*base, *base);
    return std::nullopt;
  }
  const Array x = astype(*base, dtype);
  if (exponent == 1) return x;
  if (exponent == 2) return mul(x, x);
  if (exponent == 0.5) return sqrt(x);
  if (exponent == -1) return div(1, x);
  return std::nullopt;
}

/// What NumPy answers for integers and bools without turning them into floats.
std::optional<Array> of_integers(Op op, const Operand& operand) {
  const Array x = as_array(operand);
  if (is_float(x.dtype())) return std::nullopt;
  if (op == Op::floor || op == Op::ceil || op == Op::trunc) return x;
  if (op == Op::is_nan || op == Op::is_inf) return constant_like(x, false, x);
  if (op == Op::is_finite) return constant_like(x, true, x);
  if (op == Op::sign_bit) return is_signed_integer(x.dtype()) ? less(x, 0) : constant_like(x, false, x);
  return std::nullopt;
}

std::optional<Array> special_case(Op op, std::span<const Operand> operands) {
  if (operands.size() == 1) return of_integers(op, operands[0]);
  if (op == Op::pow) return pow_by_number(operands);
  if (is_comparison(op)) {
    if (auto result = compare_with_unreachable(op, operands)) return result;
    return compare_mixed_signs(op, operands);
  }
  return std::nullopt;
}

/// On bools NumPy's sum is "or" and its product "and".
Op on_bools(Op op) {
  if (op == Op::add) return Op::bit_or;
  if (op == Op::mul) return Op::bit_and;
  return op;
}

Array select_elements(std::span<const Operand> operands) {
  Trace* trace = trace_of(operands);
  const std::span<const Operand> branches = operands.subspan(1);
  const DType dtype = common_dtype(branches);
  const Array condition = astype(operands[0], DType::boolean);
  return apply(Op::select,
               {condition, as_array(branches[0], dtype, trace, "select"),
                as_array(branches[1], dtype, trace, "select")},
               {}, operands[0].where());
}

}  // namespace

Array elementwise(Op op, std::span<const Operand> operands) {
  const OpInfo& about = info(op);
  if (about.family != OpFamily::Elementwise || static_cast<size_t>(about.arity) != operands.size() ||
      op == Op::convert || op == Op::bitcast) {
    throw InternalError("elementwise called for " + std::string(about.name));
  }
  AtLine line(operands[0]);
  for (const Operand& operand : operands) {
    if (const Array* array = operand.array(); array != nullptr && !array->is_valid()) {
      fail(about.name, "an operand is an empty array: nothing was assigned to it", operand.where());
    }
  }
  if (op == Op::select) return select_elements(operands);
  if (auto result = special_case(op, operands)) return *result;
  Trace* trace = trace_of(operands);
  const DType dtype = compute_dtype(op, common_dtype(operands));
  std::vector<Array> inputs;
  for (const Operand& operand : operands) inputs.push_back(as_array(operand, dtype, trace, about.name));
  return apply(dtype == DType::boolean ? on_bools(op) : op, inputs, {}, operands[0].where());
}

Array astype(const Operand& x, DType dtype) {
  const Operand operands[] = {x};
  return as_array(x, dtype, trace_of(operands), "astype");
}

Array where(const Operand& condition, const Operand& yes, const Operand& no) {
  const Operand operands[] = {condition, yes, no};
  return elementwise(Op::select, operands);
}

Array clip(const Operand& x, const Operand& low, const Operand& high) {
  const Operand operands[] = {Operand(low), x, high};
  AtLine line(x);
  return elementwise(Op::clamp, operands);
}

Array square(const Operand& x) {
  AtLine line(x);
  Array base = as_array(x);
  if (base.dtype() == DType::boolean) base = astype(base, DType::i8);
  return mul(base, base);
}

Array reciprocal(const Operand& x) {
  AtLine line(x);
  Array base = as_array(x);
  if (is_float(base.dtype())) return div(1, base);
  if (base.dtype() == DType::boolean) base = astype(base, DType::i8);
  return where(equal(abs(base), 1), base, 0);  // 1 / x, rounded towards zero
}

Array logical_and(const Operand& a, const Operand& b) {
  AtLine line(a);
  return bit_and(astype(a, DType::boolean), astype(b, DType::boolean));
}

Array logical_or(const Operand& a, const Operand& b) {
  AtLine line(a);
  return bit_or(astype(a, DType::boolean), astype(b, DType::boolean));
}

Array logical_xor(const Operand& a, const Operand& b) {
  AtLine line(a);
  return bit_xor(astype(a, DType::boolean), astype(b, DType::boolean));
}

Array logical_not(const Operand& x) {
  AtLine line(x);
  return bit_not(astype(x, DType::boolean));
}

// One function for every op that needs no more than elementwise() does.

#define UNARY(function, op)               \
  Array function(const Operand& x) {      \
    const Operand operands[] = {x};       \
    return elementwise(Op::op, operands); \
  }
UNARY(negative, neg)
UNARY(abs, abs)
UNARY(sign, sign)
UNARY(floor, floor)
UNARY(ceil, ceil)
UNARY(trunc, trunc)
UNARY(rint, round)
UNARY(sqrt, sqrt)
UNARY(rsqrt, rsqrt)
UNARY(cbrt, cbrt)
UNARY(exp, exp)
UNARY(exp2, exp2)
UNARY(expm1, expm1)
UNARY(log, log)
UNARY(log2, log2)
UNARY(log10, log10)
UNARY(log1p, log1p)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(tan, tan)
UNARY(asin, asin)
UNARY(acos, acos)
UNARY(atan, atan)
UNARY(sinh, sinh)
UNARY(cosh, cosh)
UNARY(tanh, tanh)
UNARY(asinh, asinh)
UNARY(acosh, acosh)
UNARY(atanh, atanh)
UNARY(erf, erf)
UNARY(erfc, erfc)
UNARY(sigmoid, sigmoid)
UNARY(is_nan, is_nan)
UNARY(is_inf, is_inf)
UNARY(is_finite, is_finite)
UNARY(sign_bit, sign_bit)
UNARY(bit_not, bit_not)
UNARY(popcount, popcount)
#undef UNARY

#define BINARY(function, op)                           \
  Array function(const Operand& a, const Operand& b) { \
    const Operand operands[] = {a, b};                 \
    return elementwise(Op::op, operands);              \
  }
BINARY(add, add)
BINARY(sub, sub)
BINARY(mul, mul)
BINARY(div, div)
BINARY(floor_div, floor_div)
BINARY(mod, mod)
BINARY(fmod, fmod)
BINARY(pow, pow)
BINARY(maximum, max)
BINARY(minimum, min)
BINARY(atan2, atan2)
BINARY(hypot, hypot)
BINARY(copysign, copysign)
BINARY(nextafter, nextafter)
BINARY(bit_and, bit_and)
BINARY(bit_or, bit_or)
BINARY(bit_xor, bit_xor)
BINARY(shift_left, shift_left)
BINARY(shift_right, shift_right)
BINARY(equal, eq)
BINARY(not_equal, ne)
BINARY(less, lt)
BINARY(less_equal, le)
BINARY(greater, gt)
BINARY(greater_equal, ge)
#undef BINARY

}  // namespace tokamak
