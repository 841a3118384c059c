#include "exhaustive/functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "exhaustive/one_op.h"
#include "ops/record.h"

namespace tokamak::exhaustive {
namespace {

template <typename Wanted>
void each(std::span<const double> x, std::span<double> wanted, Wanted of) {
  for (size_t i = 0; i < x.size(); ++i) wanted[i] = of(x[i]);
}

/// NaN for NaN; of -0 it is 0, but for bf16, where ml_dtypes keeps it.
double sign(double x, bool keeps_zero) {
  if (x == 0) return keeps_zero ? x : 0;
  return std::isnan(x) ? x : std::copysign(1, x);
}

/// To nearest, ties to even.
double rounded(double x, const test::FloatShape& shape) {
  constexpr uint64_t kBias = 1023;
  const double magnitude = std::abs(x);
  const auto smallest = static_cast<uint64_t>(int64_t{kBias} - 1 + shape.min_exponent);
  const uint64_t exponent = std::max(std::bit_cast<uint64_t>(magnitude) >> 52, smallest);
  // 1.5 * 2^52 units of the last place: adding that leaves whole units.
  const uint64_t above = exponent + 52 + 1 - static_cast<uint64_t>(shape.digits);
  const double shift = std::bit_cast<double>(above << 52 | uint64_t{1} << 51);
  const double whole = (magnitude + shift) - shift;
  const double limit = std::bit_cast<double>((kBias + static_cast<uint64_t>(shape.max_exponent)) << 52);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return std::copysign(magnitude >= limit || whole >= limit ? kInfinity : whole, x);
}

/// The integer without the fraction, or the lowest where it does not fit: what x86 gives.
template <typename T>
T truncated(double x) {
  constexpr double kLimit = sizeof(T) == 4 ? 0x1p31 : 0x1p63;
  return x > -kLimit - 1 && x < kLimit ? static_cast<T>(x) : std::numeric_limits<T>::min();
}

uint64_t truncated_to_u64(double x) {
  if (!(x >= 0x1p63)) return static_cast<uint64_t>(truncated<int64_t>(x));
  return static_cast<uint64_t>(truncated<int64_t>(x - 0x1p63)) ^ uint64_t { 1 } << 63;
}

/// Narrow integers are i32 first, and u32 is i64: NumPy's conversions in C.
template <typename T>
void to_narrow(std::span<const double> x, std::span<double> wanted) {
  each(x, wanted, [](double v) { return static_cast<double>(static_cast<T>(truncated<int32_t>(v))); });
}

void convert(DType, DType to, std::span<const double> x, std::span<double> wanted) {
  switch (to) {
    case DType::boolean:
      return each(x, wanted, [](double v) { return v != 0 ? 1.0 : 0.0; });
    case DType::i8:
      return to_narrow<int8_t>(x, wanted);
    case DType::i16:
      return to_narrow<int16_t>(x, wanted);
    case DType::i32:
      return to_narrow<int32_t>(x, wanted);
    case DType::u8:
      return to_narrow<uint8_t>(x, wanted);
    case DType::u16:
      return to_narrow<uint16_t>(x, wanted);
    case DType::u32:
      return each(x, wanted,
                  [](double v) { return static_cast<double>(static_cast<uint32_t>(truncated<int64_t>(v))); });
    case DType::i64:
      return each(x, wanted, [](double v) { return static_cast<double>(truncated<int64_t>(v)); });
    case DType::u64:
      return each(x, wanted, [](double v) { return static_cast<double>(truncated_to_u64(v)); });
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return each(x, wanted, [shape = shape_of(to)](double v) { return rounded(v, shape); });
    case DType::f64:
      return each(x, wanted, [](double v) { return v; });
  }
}

struct ExactOp {
  Op op;
  Exact exact;
};

#define TOKAMAK_EXACT(expression)                                                                      \
  [](DType from, DType, std::span<const double> x, std::span<double> wanted) {                         \
    each(x, wanted, [from]([[maybe_unused]] double v) -> double { return (void)from, (expression); }); \
  }
constexpr ExactOp kExactOps[] = {
    {Op::neg, TOKAMAK_EXACT(-v)},
    {Op::abs, TOKAMAK_EXACT(std::abs(v))},
    {Op::sign, TOKAMAK_EXACT(sign(v, from == DType::bf16))},
    {Op::floor, TOKAMAK_EXACT(std::floor(v))},
    {Op::ceil, TOKAMAK_EXACT(std::ceil(v))},
    {Op::trunc, TOKAMAK_EXACT(std::trunc(v))},
    {Op::round, TOKAMAK_EXACT(std::nearbyint(v))},
    {Op::is_nan, TOKAMAK_EXACT(std::isnan(v))},
    {Op::is_inf, TOKAMAK_EXACT(std::isinf(v))},
    {Op::is_finite, TOKAMAK_EXACT(std::isfinite(v))},
    {Op::sign_bit, TOKAMAK_EXACT(std::signbit(v))},
    {Op::convert, convert},
};

/// The op, or a function for each dtype that it converts to.
std::vector<Function> forms_of(Op op, DType operand, Exact exact) {
  const Function plain{.name = std::string(name_of(op)), .op = op, .operand = operand, .exact = exact};
  if (op != Op::convert) return {plain};
  std::vector<Function> forms;
  for (const DType to : kAllDTypes) {
    if (to == operand) continue;
    forms.push_back(plain);
    forms.back().name += " to " + std::string(name_of(to));
    forms.back().attributes = {{Attr::dtype, to}};
  }
  return forms;
}

std::vector<Function> functions_of(Op op, DType operand) {
  const std::string_view name = name_of(op);
  const std::span<const test::UnaryCase> cases(test::kUnaryCases, test::kUnaryCaseCount);
  const auto truth = std::ranges::find_if(cases, [&](const test::UnaryCase& c) { return c.name == name; });
  const Reference* reference = reference_named(name);
  if (truth != cases.end() && reference != nullptr) {
    Function function{.name = truth->name, .op = op, .operand = operand};
    function.truth = &*truth;
    function.reference = reference;
    return {function};
  }
  const auto* exact = std::ranges::find(kExactOps, op, &ExactOp::op);
  if (exact != std::end(kExactOps)) return forms_of(op, operand, exact->exact);
  throw std::logic_error(
      "nothing judges '" + std::string(name) +
      "': it needs rows in tests/unit/math/reference.cpp and tests/exhaustive/reference.cpp, "
      "or one in tests/exhaustive/functions.cpp");
}

}  // namespace

double Function::bound() const {
  if (truth == nullptr) return 0;
  if (operand == DType::f64) return truth->f64_bound;
  if (operand == DType::f32) return truth->f32_bound;
  // A result of f32, rounded once more.
  return 0.5 + std::ldexp(truth->f32_bound, shape_of(operand).digits - test::kShapeOf<float>.digits);
}

std::vector<Function> functions_of(DType operand) {
  std::vector<Function> all;
  for (size_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (family_of(op) != OpFamily::Elementwise || info(op).arity != 1) continue;
    if (op == Op::bitcast || !contains(record_of(op).dtypes, operand)) continue;
    for (Function& function : functions_of(op, operand)) all.push_back(std::move(function));
  }
  return all;
}

}  // namespace tokamak::exhaustive
