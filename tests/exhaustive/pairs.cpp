#include "exhaustive/pairs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "exhaustive/one_op.h"
#include "ops/record.h"
#include "support/cpu.h"

namespace tokamak::exhaustive {
namespace {

constexpr int64_t kPairs = 1 << 16;
/// So many pairs come again behind the last, so that arrays may begin anywhere.
constexpr int64_t kMore = kPairs + 128;
constexpr int64_t kWidestVector = 64;

/// Rounded down; 0 by 0, as NumPy has it.
int floor_div(int a, int b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int mod(int a, int b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
int fmod(int a, int b) { return b == 0 ? 0 : a % b; }

/// By multiplying as often as it takes. To a negative power it is the whole part of the fraction.
int pow(int a, int b) {
  if (b < 0 && a != 1 && a != -1) return 0;
  unsigned power = 1;
  for (int i = 0; i < std::abs(b); ++i) power = (power * static_cast<unsigned>(a)) & 0xff;
  return static_cast<int>(power);
}

/// Everything is shifted out from 8 on, and by negative amounts.
int shift_left(int a, int b) { return b < 0 || b > 7 ? 0 : a * (1 << b); }
int shift_right(int a, int b) { return a >> (b < 0 || b > 7 ? 8 : b); }

struct PlainOp {
  Op op;
  int (*result)(int, int);  ///< of which the low byte counts
};
const PlainOp kPlainOps[] = {
    {Op::add, [](int a, int b) { return a + b; }},
    {Op::sub, [](int a, int b) { return a - b; }},
    {Op::mul, [](int a, int b) { return a * b; }},
    {Op::floor_div, floor_div},
    {Op::mod, mod},
    {Op::fmod, fmod},
    {Op::pow, pow},
    {Op::max, [](int a, int b) { return a > b ? a : b; }},
    {Op::min, [](int a, int b) { return a < b ? a : b; }},
    {Op::bit_and, [](int a, int b) { return a & b; }},
    {Op::bit_or, [](int a, int b) { return a | b; }},
    {Op::bit_xor, [](int a, int b) { return a ^ b; }},
    {Op::shift_left, shift_left},
    {Op::shift_right, shift_right},
    {Op::eq, [](int a, int b) { return a == b ? 1 : 0; }},
    {Op::ne, [](int a, int b) { return a != b ? 1 : 0; }},
    {Op::lt, [](int a, int b) { return a < b ? 1 : 0; }},
    {Op::le, [](int a, int b) { return a <= b ? 1 : 0; }},
    {Op::gt, [](int a, int b) { return a > b ? 1 : 0; }},
    {Op::ge, [](int a, int b) { return a >= b ? 1 : 0; }},
};

const PlainOp& plain_op(Op op) {
  const auto* found = std::ranges::find(kPlainOps, op, &PlainOp::op);
  if (found == std::end(kPlainOps))
    throw std::logic_error("nothing judges '" + std::string(name_of(op)) +
                           "' of small integers: it needs a row in tests/exhaustive/pairs.cpp");
  return *found;
}

class PairsCheck {
 public:
  PairsCheck(Op op, DType dtype)
      : finding_{.op = op, .dtype = dtype}, operands_{dtype, dtype}, results_(kPairs) {
    const auto number = [dtype](uint8_t byte) {
      return dtype == DType::i8 ? int{static_cast<int8_t>(byte)} : int{byte};
    };
    for (int64_t i = 0; i < kMore; ++i) {
      a_.push_back(static_cast<uint8_t>(i));
      b_.push_back(static_cast<uint8_t>(i >> 8));
      wanted_.push_back(static_cast<uint8_t>(plain_op(op).result(number(a_.back()), number(b_.back()))));
    }
  }

  /// Arrays of `length`, from each of the pairs on that are `step` apart.
  void run(int64_t length, int64_t starts, int64_t step) {
    const OneOp code(finding_.op, operands_, length);
    ++finding_.lengths;
    for (int64_t start = 0; start < starts; start += step) {
      const void* operands[] = {a_.data() + start, b_.data() + start};
      code.run(operands, results_.data());
      compare(start, length);
    }
  }

  const PairsFinding& finding() const { return finding_; }

 private:
  void compare(int64_t start, int64_t length) {
    finding_.values += static_cast<uint64_t>(length);
    const auto* got = reinterpret_cast<const uint8_t*>(results_.data());
    const uint8_t* wanted = wanted_.data() + start;
    if (std::memcmp(got, wanted, static_cast<size_t>(length)) == 0) return;
    if (finding_.wrong++ != 0) return;
    const auto i = std::mismatch(got, got + length, wanted).first - got;
    finding_.first_wrong = std::string(name_of(finding_.op)) + " of " + std::to_string(a_[start + i]) +
                           " and " + std::to_string(b_[start + i]) + " is " + std::to_string(got[i]) +
                           ", not " + std::to_string(wanted[i]) + " (as bytes), at " + std::to_string(i) +
                           " of " + std::to_string(length);
  }

  PairsFinding finding_;
  DType operands_[2];
  std::vector<uint8_t> a_, b_, wanted_;
  Buffer results_;
};

}  // namespace

std::vector<Op> binary_ops_of(DType dtype) {
  std::vector<Op> ops;
  for (size_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (family_of(op) != OpFamily::Elementwise || info(op).arity != 2) continue;
    if (contains(record_of(op).dtypes, dtype)) ops.push_back(op);
  }
  return ops;
}

PairsFinding check_pairs(Op op, DType dtype, bool everywhere) {
  PairsCheck check(op, dtype);
  check.run(kPairs, kWidestVector, 1);
  const int64_t vector = current_cpu().vector_bytes;
  for (int64_t length = everywhere ? 1 : vector; length < 2 * vector; ++length)
    check.run(length, kPairs, everywhere ? 1 : length);
  return check.finding();
}

}  // namespace tokamak::exhaustive
