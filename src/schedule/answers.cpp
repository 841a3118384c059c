#include "schedule/answers.h"

#include <algorithm>

#include "loops/walk.h"
#include "ops/comparison.h"

namespace tokamak {
namespace {

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
  return Limits{condition.low, condition.high}.hold(bounds->low, bounds->high);
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
    if (holds(condition) != true && !implies(left, condition)) left.push_back(condition);
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
    const Op op = swapped ? mirrored(compute.op) : compute.op;
    const std::optional<Limits> limits = limits_of(op, element_as_int(number->value, 0));
    return limits ? std::optional(Condition{index->index, limits->low, limits->high}) : std::nullopt;
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
      return bound == kNoLowerLimit ? kNoUpperLimit : bound == kNoUpperLimit ? kNoLowerLimit : 1 - bound;
    };
    std::tie(low, high) = std::pair(negated(high), negated(low));
    std::tie(least, greatest) = std::pair(-greatest, -least);
    step = -*step;
  }
  std::vector<int64_t> changes;
  const Range range = ranges.of(var);
  auto add = [&](int64_t bound, int64_t offset) {
    if (bound == kNoLowerLimit || bound == kNoUpperLimit) return;
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
