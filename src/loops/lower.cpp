#include "loops/lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "loops/buffers.h"
#include "loops/builder.h"
#include "loops/evaluator.h"
#include "loops/scatter.h"
#include "ops/index.h"
#include "ops/record.h"

namespace tokamak {
namespace {

/// Which sweep over the row makes each value. A reduction is known only after its sweep.
struct SweepNumbers {
  std::vector<int> of;  ///< by value: the first sweep that can compute it (a reduction's own sweep)
  int count = 0;
};

SweepNumbers number_sweeps(const Graph& body) {
  SweepNumbers numbers;
  for (const Node& node : body.nodes()) {
    int first = 0;
    for (Value input : node.inputs) {
      const int own = numbers.of[index_of(input)];
      first = std::max(first, reduces(body[input]) ? own + 1 : own);
    }
    numbers.of.push_back(first);
    if (sweeps(node)) numbers.count = std::max(numbers.count, first + 1);
  }
  return numbers;
}

class Lowering {
 public:
  Lowering(const FusedKernel& fused, const std::vector<Layout>& layouts, const LowerOptions& options,
           std::map<Value, int> kept)
      : fused_(fused),
        body_(fused.body),
        domain_(fused.domain),
        options_(options),
        sweeps_(number_sweeps(fused.body)),
        builder_(kernel_),
        evaluator_(fused, kernel_, builder_) {
    kernel_.name = fused.name;
    add_kernel_buffers(fused, layouts, builder_);
    evaluator_.set_kept(std::move(kept), options.keep_bytes);
  }

  LoopKernel run() {
    for (size_t axis = 0; axis < domain_.extents.size(); ++axis) {
      builder_.add_variable(axis_name(axis), domain_.extents[axis]);
    }
    evaluator_.check_first(checked_first());
    const LoopVar task = builder_.add_variable("task", 1);
    builder_.open(task, LoopKind::parallel, 1);
    const std::vector<size_t> rows = axes(false, options_.order.rows);
    for (size_t axis : rows) open_axis(axis);
    if (domain_.has_sweep) {
      for (int sweep = 0; sweep < sweeps_.count || has_outputs_in(sweep); ++sweep) lower_sweep(sweep);
    }
    for (size_t i = 0; i < body_.outputs().size(); ++i) {
      if (is_row_output(i)) store_output(i, row_or_full_index(i));
    }
    for (size_t i = 0; i < rows.size() + 1; ++i) builder_.close();
    return std::move(kernel_);
  }

  /// Values that a later sweep wanted again and that are worth keeping, with the sweep that computes them
  /// first.
  const std::map<Value, int>& wanted_again() const { return evaluator_.wanted_again(); }

 private:
  std::vector<Value> checked_first() const {
    std::vector<Value> gathers = fused_.checked_first;
    const Value output = body_.outputs()[0];
    if (rules::only_checks(body_, body_[output]) && std::ranges::find(gathers, output) == gathers.end())
      gathers.push_back(output);
    return gathers;
  }

  static std::string axis_name(size_t axis) {
    constexpr std::string_view kNames = "ijklmnpqrstuvw";
    return axis < kNames.size() ? std::string(1, kNames[axis]) : "i" + std::to_string(axis);
  }

  std::vector<size_t> axes(bool swept, const std::vector<size_t>& order) const {
    if (!order.empty()) return order;
    std::vector<size_t> found;
    for (size_t axis = 0; axis < domain_.extents.size(); ++axis) {
      if (domain_.swept[axis] == swept) found.push_back(axis);
    }
    return found;
  }

  void open_axis(size_t axis) {
    builder_.open(static_cast<LoopVar>(axis), LoopKind::serial, domain_.extents[axis], domain_.swept[axis]);
  }

  bool is_row_output(size_t i) const {
    return !domain_.has_sweep || is_row(domain_, body_.type_of(stored_element(fused_, i)).shape);
  }
  std::vector<Index> row_or_full_index(size_t i) const {
    const Shape& shape = body_.type_of(stored_element(fused_, i)).shape;
    return domain_.has_sweep ? row_index(domain_, shape) : full_index(domain_, shape);
  }
  /// The sweep in which a full output is complete.
  int output_sweep(size_t i) const { return sweeps_.of[index_of(stored_element(fused_, i))]; }
  bool has_outputs_in(int sweep) const {
    for (size_t i = 0; i < body_.outputs().size(); ++i) {
      if (!is_row_output(i) && output_sweep(i) >= sweep) return true;
    }
    return false;
  }

  void store_output(size_t i, const std::vector<Index>& at) {
    const auto buffer = static_cast<BufferId>(body_.parameters().size() + i);
    const Value element = stored_element(fused_, i);
    std::vector<Index> to = at;
    if (element != body_.outputs()[i]) {
      const Ints& permutation = body_[body_.outputs()[i]].attributes.ints(Attr::permutation);
      for (size_t axis = 0; axis < to.size(); ++axis) to[axis] = at[static_cast<size_t>(permutation[axis])];
    }
    builder_.store(buffer, to, evaluator_.evaluate(element, at));
  }

  void lower_sweep(int sweep) {
    std::vector<std::pair<Value, AccumulatorId>> reductions;
    std::unordered_map<uint32_t, AccumulatorId> scans_here;
    for (size_t i = 0; i < body_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      const Node& node = body_[value];
      if (sweeps_.of[i] != sweep || !sweeps(node)) continue;
      const AccumulatorId accumulator = builder_.add_accumulator(accumulator_for(node));
      builder_.declare(accumulator);
      if (reduces(node)) reductions.emplace_back(value, accumulator);
      if (scans(node)) scans_here.emplace(static_cast<uint32_t>(i), accumulator);
    }
    const std::vector<size_t> swept = axes(true, options_.order.swept);
    for (size_t axis : swept) open_axis(axis);
    evaluator_.begin_sweep(sweep, std::move(scans_here));
    for (const auto& [value, accumulator] : reductions) {
      const Value operand = body_[value].inputs[0];
      const ValueId element = evaluator_.evaluate(operand, full_index(domain_, body_.type_of(operand).shape));
      builder_.accumulate(accumulator, element, position_in(body_[value]));
    }
    for (size_t i = 0; i < body_.outputs().size(); ++i) {
      if (is_row_output(i) || output_sweep(i) != sweep) continue;
      store_output(i, full_index(domain_, body_.type_of(stored_element(fused_, i)).shape));
    }
    evaluator_.finish_sweep();
    for (size_t i = 0; i < swept.size(); ++i) builder_.close();
    for (const auto& [value, accumulator] : reductions) {
      evaluator_.define(value, row_index(domain_, body_.type_of(value).shape), builder_.read(accumulator));
    }
  }

  Accumulator accumulator_for(const Node& node) const {
    const TensorType& swept = body_.type_of(node.inputs[0]);
    Accumulator accumulator{.op = node.op, .dtype = swept.dtype};
    if (finds_position(node)) {
      const int64_t places = swept.shape[static_cast<size_t>(node.attributes.integer(Attr::axis))];
      accumulator.position = places <= INT32_MAX ? DType::i32 : DType::i64;
    }
    return accumulator;
  }

  static bool finds_position(const Node& node) { return node.op == Op::argmax || node.op == Op::argmin; }

  /// arg*: where along the one reduced axis the element is.
  std::optional<Index> position_in(const Node& node) const {
    if (!finds_position(node)) return std::nullopt;
    const Shape& shape = body_.type_of(node.inputs[0]).shape;
    return full_index(domain_, shape)[static_cast<size_t>(node.attributes.integer(Attr::axis))];
  }

  const FusedKernel& fused_;
  const Graph& body_;
  const Domain& domain_;
  const LowerOptions& options_;
  SweepNumbers sweeps_;
  LoopKernel kernel_;
  NestBuilder builder_;
  Evaluator evaluator_;
};

}  // namespace

LoopKernel lower(const FusedKernel& kernel, const std::vector<Layout>& layouts, const LowerOptions& options) {
  for (Value output : kernel.body.outputs()) {
    if (kernel.body[output].op == Op::scatter) return lower_scatter(kernel, layouts, options);
  }
  // What later sweeps want again is known only when they have been lowered. Then everything is lowered anew
  // with those values kept, until nothing more is wanted; loops that wanted something are not valid.
  std::map<Value, int> kept;
  for (;;) {
    Lowering lowering(kernel, layouts, options, kept);
    LoopKernel loops = lowering.run();
    if (lowering.wanted_again().empty()) return loops;
    kept.insert(lowering.wanted_again().begin(), lowering.wanted_again().end());
  }
}

}  // namespace tokamak
