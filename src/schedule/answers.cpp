#include "schedule/answers.h"

#include <algorithm>
#include <limits>

#include "loops/walk.h"

namespace tokamak {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

bool same(const Condition& a, const Condition& b) {
  return a.low == b.low && a.high == b.high && a.index == b.index;
}

int64_t ceil_div(int64_t a, int64_t positive) {
  return a >= 0 ? (a + positive - 1) / positive : -(-a / positive);
}

/// Whether every number within the bounds is itself in the integer type.
bool represents(DType dtype, const Bounds& bounds) {
  if (!is_integer(dtype)) return false;
  const auto bits = static_cast<int>(8 * size_of(dtype));
  if (is_signed_integer(dtype)) {
    return bits == 64 ||
           (bounds.low >= -(int64_t{1} << (bits - 1)) && bounds.high < int64_t{1} << (bits - 1));
  }
  return bounds.low >= 0 && (bits == 64 || bounds.high < int64_t{1} << bits);
}

/// index op number as a range of the index; nullopt for what is none.
std::optional<Condition> range_of(const Index& index, Op op, int64_t number) {
  if (number == kLowest || number == kHighest) return std::nullopt;
  switch (op) {
    case Op::lt:
      return Condition{index, kLowest, number};
    case Op::le:
      return Condition{index, kLowest, number + 1};
    case Op::gt:
      return Condition{index, number + 1, kHighest};
    case Op::ge:
      return Condition{index, number, kHighest};
    case Op::eq:
      return Condition{index, number, number + 1};
    default:
      return std::nullopt;
  }
}

/// The comparison that holds for (b, a) where `op` holds for (a, b).
Op mirrored(Op op) {
  switch (op) {
    case Op::lt:
      return Op::gt;
    case Op::le:
      return Op::ge;
    case Op::gt:
      return Op::lt;
    case Op::ge:
      return Op::le;
    default:
      return op;
  }
}

}  // namespace

Range Ranges::of(LoopVar var) const {
  const auto found = narrowed_.find(var);
  return found != narrowed_.end() ? found->second : Range{0, kernel_->extents[static_cast<size_t>(var)]};
}

Ranges Ranges::with(LoopVar var, Range range) const {
  Ranges result = *this;
  result.narrowed_[var] = range;
  return result;
}

std::optional<Bounds> Ranges::bounds(const Index& index) const {
  const Extents extents = [&](LoopVar var) { return of(var).size(); };
  if (narrowed_.empty()) return bounds_of(index, extents);
  return bounds_of(substitute(
                       index, [&](LoopVar var) { return Index::of(var) + Index(of(var).first); }, extents),
                   extents);
}

std::optional<bool> Ranges::holds(const Condition& condition) const {
  const std::optional<Bounds> bounds = this->bounds(condition.index);
  if (!bounds) return std::nullopt;
  if (bounds->low >= condition.low && bounds->high < condition.high) return true;
  if (bounds->high < condition.low || bounds->low >= condition.high) return false;
  return std::nullopt;
}

std::optional<bool> Ranges::holds(const Guard& guard) const {
  bool all = true;
  for (const Condition& condition : guard) {
    const std::optional<bool> answer = holds(condition);
    if (answer == false) return false;
    all = all && answer.has_value();
  }
  return all ? std::optional(true) : std::nullopt;
}

Guard Ranges::undecided(const Guard& guard) const {
  Guard left;
  for (const Condition& condition : guard) {
    const bool known =
        std::any_of(left.begin(), left.end(), [&](const Condition& c) { return same(c, condition); });
    if (!known && holds(condition) != true) left.push_back(condition);
  }
  return left;
}

Conditions::Conditions(const LoopKernel& kernel) : kernel_(kernel) {
  for (const Nest& nest : kernel.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      const std::optional<ValueId> result = result_of(stmt);
      const bool is_number =
          std::holds_alternative<Literal>(stmt) || std::holds_alternative<IndexValue>(stmt);
      if (result && (is_number || kernel[*result] == DType::boolean)) {
        definitions_.emplace(static_cast<uint32_t>(*result), stmt);
      }
    });
  }
}

std::optional<Condition> Conditions::comparison(const Compute& compute, const Ranges& ranges) const {
  if (compute.operands.size() != 2) return std::nullopt;
  auto defined = [&](size_t operand) -> const Stmt* {
    const auto found = definitions_.find(static_cast<uint32_t>(compute.operands[operand]));
    return found == definitions_.end() ? nullptr : &found->second;
  };
  for (const bool swapped : {false, true}) {
    const Stmt* left = defined(swapped ? 1 : 0);
    const Stmt* right = defined(swapped ? 0 : 1);
    const auto* index = left == nullptr ? nullptr : std::get_if<IndexValue>(left);
    const auto* number = right == nullptr ? nullptr : std::get_if<Literal>(right);
    if (index == nullptr || number == nullptr) continue;
    const DType dtype = kernel_[index->result];
    const std::optional<Bounds> bounds = ranges.bounds(index->index);
    if (!bounds || !represents(dtype, *bounds) || dtype == DType::u64) continue;
    return range_of(index->index, swapped ? mirrored(compute.op) : compute.op,
                    element_as_int(number->value, 0));
  }
  return std::nullopt;
}

std::optional<bool> Conditions::truth(ValueId value, const Ranges& ranges) const {
  const auto found = definitions_.find(static_cast<uint32_t>(value));
  if (found == definitions_.end() || kernel_[value] != DType::boolean) return std::nullopt;
  if (const auto* literal = std::get_if<Literal>(&found->second))
    return element_as_int(literal->value, 0) != 0;
  if (const auto* test = std::get_if<Test>(&found->second)) return ranges.holds(test->guard);
  const auto* compute = std::get_if<Compute>(&found->second);
  if (compute == nullptr) return std::nullopt;
  if (compute->op == Op::bit_and || compute->op == Op::bit_or) {
    const bool decides = compute->op == Op::bit_or;
    const std::optional<bool> a = truth(compute->operands[0], ranges);
    const std::optional<bool> b = truth(compute->operands[1], ranges);
    if (a == decides || b == decides) return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  if (compute->op == Op::bit_not) {
    const std::optional<bool> negated = truth(compute->operands[0], ranges);
    return negated ? std::optional(!*negated) : std::nullopt;
  }
  const std::optional<Condition> condition = comparison(*compute, ranges);
  return condition ? ranges.holds(*condition) : std::nullopt;
}

std::vector<Condition> Conditions::asked_by(const Stmt& stmt, const Ranges& ranges) const {
  if (const auto* test = std::get_if<Test>(&stmt)) return test->guard;
  if (const auto* load = std::get_if<Load>(&stmt)) return load->guard;
  if (const auto* compute = std::get_if<Compute>(&stmt)) {
    if (const std::optional<Condition> condition = comparison(*compute, ranges)) return {*condition};
  }
  return {};
}

std::vector<int64_t> changes_along(const Condition& condition, LoopVar var, const Ranges& ranges) {
  std::optional<int64_t> step = linear_coefficient(condition.index, var);
  if (!step || *step == 0) return {};
  const std::optional<Bounds> rest = ranges.bounds(condition.index - Index::of(var) * *step);
  if (!rest) return {};
  // low <= step*var + rest < high, with a positive step and rest anywhere from `least` to `greatest`
  int64_t low = condition.low;
  int64_t high = condition.high;
  int64_t least = rest->low;
  int64_t greatest = rest->high;
  if (*step < 0) {
    auto negated = [](int64_t bound) {  // of x >= bound: -x < 1 - bound
      return bound == kLowest ? kHighest : bound == kHighest ? kLowest : 1 - bound;
    };
    std::tie(low, high) = std::pair(negated(high), negated(low));
    std::tie(least, greatest) = std::pair(-greatest, -least);
    step = -*step;
  }
  std::vector<int64_t> changes;
  const Range range = ranges.of(var);
  auto add = [&](int64_t bound, int64_t offset) {
    if (bound == kLowest || bound == kHighest) return;
    const int64_t at = ceil_div(bound - offset, *step);
    if (at > range.first && at < range.end) changes.push_back(at);
  };
  for (const int64_t bound : {low, high}) {
    add(bound, least);
    if (least != greatest) add(bound, greatest);
  }
  return changes;
}

}  // namespace tokamak
