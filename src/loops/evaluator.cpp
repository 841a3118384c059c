#include "loops/evaluator.h"

#include <algorithm>
#include <utility>

#include "ops/index.h"
#include "ops/index_map.h"
#include "ops/record.h"

namespace tokamak {
namespace {

std::vector<double> expression_costs(const Graph& body) {
  constexpr double kMax = 1e6;  // shared operands count every time, which may double at every step
  std::vector<double> costs;
  for (const Node& node : body.nodes()) {
    double cost = 0;
    if (family_of(node.op) == OpFamily::Elementwise) {
      cost = scalar_cost(node.op, body.type_of(node.inputs.back()).dtype, node.type.dtype);
    }
    if (!reduces(node)) {
      for (Value input : node.inputs) cost += costs[index_of(input)];
    }
    costs.push_back(std::min(cost, kMax));
  }
  return costs;
}

}  // namespace

Evaluator::Evaluator(const FusedKernel& fused, LoopKernel& kernel, NestBuilder& builder)
    : body_(fused.body),
      domain_(fused.domain),
      kernel_(kernel),
      builder_(builder),
      expression_costs_(expression_costs(fused.body)) {}

void Evaluator::set_kept(std::map<Value, int> kept, int64_t keep_bytes) {
  kept_ = std::move(kept);
  keep_bytes_ = keep_bytes;
}

void Evaluator::check_first(const std::vector<Value>& gathers) {
  for (Value gather : gathers) {
    const Node& node = body_[gather];
    const Shape& shape = body_.type_of(node.inputs[1]).shape;
    const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
    builder_.open(builder_.add_variable("task", 1), LoopKind::parallel, 1);
    const LoopVar u = builder_.add_variable("u", element_count(shape));
    builder_.open(u, LoopKind::serial, element_count(shape));
    kernel_.lane_loops.push_back(u);
    const std::vector<Index> at = delinearise(Index::of(u), shape, kernel_.extents_function());
    check(gather, builder_.as_index(evaluate(node.inputs[1], at)), body_.type_of(node.inputs[0]).shape[axis]);
    builder_.close();
    builder_.close();
    checked_.insert(gather);
  }
}

void Evaluator::begin_sweep(int sweep, std::unordered_map<uint32_t, AccumulatorId> scans) {
  sweep_ = sweep;
  scans_ = std::move(scans);
}

void Evaluator::finish_sweep() {
  for (const auto& [value, sweep] : kept_) {
    if (sweep == sweep_) evaluate(value, full_index(domain_, body_.type_of(value).shape));
  }
  // Scans that only a later sweep reads are computed in their own.
  for (const auto& [id, accumulator] : scans_) {
    const auto value = static_cast<Value>(id);
    evaluate(value, full_index(domain_, body_.type_of(value).shape));
  }
}

const Evaluator::Known* Evaluator::find(Value value, const std::vector<Index>& at, const Guard& guard) const {
  auto entries = known_.find(static_cast<uint32_t>(value));
  if (entries == known_.end()) return nullptr;
  for (const Known& known : entries->second) {
    if (known.depth >= builder_.depth() || builder_.instance(known.depth) != known.instance) continue;
    if (known.at == at && (!heeds_guards(value) || implies(guard, known.guard))) return &known;
  }
  return nullptr;
}

ValueId Evaluator::remember(Value value, const std::vector<Index>& at, const Guard& guard, ValueId result) {
  const size_t depth = builder_.depth_of(result);
  known_[static_cast<uint32_t>(value)].push_back({at, guard, result, depth, builder_.instance(depth)});
  return result;
}

void Evaluator::define(Value value, std::vector<Index> at, ValueId result) {
  remember(value, at, {}, result);
}

bool Evaluator::heeds_guards(Value value) const { return !sweeps(body_[value]); }

bool Evaluator::is_home(Value value, const std::vector<Index>& at, const Guard& guard) const {
  const Node& node = body_[value];
  if (!domain_.has_sweep || node.inputs.empty() || is_view(node.op)) return false;
  if (!guard.empty() && heeds_guards(value)) return false;
  return is_full(domain_, node.type.shape) && at == full_index(domain_, node.type.shape);
}

bool Evaluator::is_worth_keeping(Value value) const {
  constexpr double kCheap = 8;
  const Node& node = body_[value];
  if (scans(node)) return true;
  auto bytes = static_cast<int64_t>(size_of(node.type.dtype));
  for (size_t axis = 0; axis < domain_.extents.size(); ++axis)
    bytes *= domain_.swept[axis] ? domain_.extents[axis] : 1;
  return expression_costs_[index_of(value)] > kCheap && bytes <= keep_bytes_;
}

ValueId Evaluator::evaluate(Value value, const std::vector<Index>& at, const Guard& guard) {
  if (const Known* known = find(value, at, guard)) return known->result;
  if (is_home(value, at, guard)) {
    const auto kept = kept_.find(value);
    if (kept != kept_.end() && kept->second < sweep_) {
      return remember(value, at, guard, builder_.load(scratch_for(value), scratch_index(), {}));
    }
    const auto [first, is_first] = first_evaluated_.try_emplace(static_cast<uint32_t>(value), sweep_);
    if (!is_first && first->second < sweep_ && kept == kept_.end() && is_worth_keeping(value)) {
      // These loops will be thrown away and made again with the value kept; until then it is read as if it
      // had been.
      wanted_again_.emplace(value, first->second);
      return remember(value, at, guard, builder_.load(scratch_for(value), scratch_index(), {}));
    }
    const ValueId result = remember(value, at, guard, make(value, at, guard));
    if (kept != kept_.end() && kept->second == sweep_) keep(value, result);
    return result;
  }
  if (is_view(body_[value].op)) return follow_views(value, at, guard);
  return remember(value, at, guard, make(value, at, guard));
}

/// In a loop: there may be any number of views one behind the other.
ValueId Evaluator::follow_views(Value value, std::vector<Index> at, const Guard& guard) {
  std::vector<std::pair<Value, std::vector<Index>>> followed;
  while (is_view(body_[value].op) && find(value, at, guard) == nullptr) {
    ElementRead read = std::move(reads_of(body_, value, at, guard, kernel_.extents_function(), {}).front());
    followed.emplace_back(value, std::exchange(at, std::move(read.index)));
    value = body_[value].inputs[read.operand];
  }
  const ValueId result = evaluate(value, at, guard);
  for (const auto& [view, index] : followed) remember(view, index, guard, result);
  return result;
}

void Evaluator::keep(Value value, ValueId result) {
  builder_.store(scratch_for(value), scratch_index(), result);
}

std::vector<Index> Evaluator::scratch_index() const {
  std::vector<Index> index;
  for (size_t axis = 0; axis < domain_.extents.size(); ++axis) {
    if (domain_.swept[axis]) index.push_back(Index::of(static_cast<LoopVar>(axis)));
  }
  return index;
}

BufferId Evaluator::scratch_for(Value value) {
  auto found = scratch_.find(static_cast<uint32_t>(value));
  if (found != scratch_.end()) return found->second;
  TensorType type{body_.type_of(value).dtype, {}};
  for (size_t axis = 0; axis < domain_.extents.size(); ++axis) {
    if (domain_.swept[axis]) type.shape.push_back(domain_.extents[axis]);
  }
  Buffer buffer{"kept" + std::to_string(scratch_.size()), type, Buffer::Role::scratch, {}};
  buffer.aligned = true;
  const BufferId id = builder_.add_buffer(std::move(buffer));
  scratch_.emplace(static_cast<uint32_t>(value), id);
  return id;
}

ValueId Evaluator::make(Value value, const std::vector<Index>& at, const Guard& guard) {
  const Node& node = body_[value];
  switch (family_of(node.op)) {
    case OpFamily::Source:
      if (node.op == Op::parameter) {
        const auto& parameters = body_.parameters();
        const auto position = std::find(parameters.begin(), parameters.end(), value) - parameters.begin();
        return builder_.load(static_cast<BufferId>(position), at, guard);
      }
      if (node.op == Op::constant) {
        const Tensor& tensor = node.attributes.tensor(Attr::value);
        return builder_.literal(Tensor::copy_of({tensor.type().dtype, {}}, tensor.data()));
      }
      return builder_.index_value(at[static_cast<size_t>(node.attributes.integer(Attr::axis))],
                                  node.type.dtype);
    case OpFamily::Elementwise: {
      const std::vector<ElementRead> reads =
          reads_of(body_, value, at, guard, kernel_.extents_function(), {});
      std::vector<ValueId> operands(reads.size());
      for (size_t turn = 0; turn < reads.size(); ++turn) {
        // `select inside, pad(new), old` writes to a slice, and `new` is often made from what `old` is, too.
        // Asked for under no guard first, that is known under the guard of the pad.
        const size_t i = node.op == Op::select ? reads.size() - 1 - turn : turn;
        operands[i] = evaluate(node.inputs[reads[i].operand], reads[i].index, guard);
      }
      return builder_.compute(node.op, std::move(operands), node.type.dtype);
    }
    case OpFamily::Index:
      return make_indexed(value, at, guard);
    case OpFamily::Cumulative:
      return make_scan(value, at);
    case OpFamily::View:
    case OpFamily::Reduce:
    case OpFamily::Sort:
    case OpFamily::Contract:
      break;
  }
  throw InternalError("lower: " + std::string(name_of(node.op)) + " is wanted where it is not known",
                      node.where);
}

ValueId Evaluator::make_scan(Value value, const std::vector<Index>& at) {
  const Node& node = body_[value];
  auto scan = scans_.find(static_cast<uint32_t>(value));
  if (scan == scans_.end() || at != full_index(domain_, node.type.shape)) {
    throw InternalError("lower: " + std::string(name_of(node.op)) + " is wanted where it is not known",
                        node.where);
  }
  return builder_.accumulate_running(scan->second, evaluate(node.inputs[0], at));
}

ValueId Evaluator::make_indexed(Value value, const std::vector<Index>& at, const Guard& guard) {
  const Node& node = body_[value];
  auto data = [&](size_t operand, const std::vector<Index>& index, int64_t extent) {
    return data_index(value, operand, index, extent, guard);
  };
  const std::vector<ElementRead> reads = reads_of(body_, value, at, guard, kernel_.extents_function(), data);
  // Later reads are what holds where the guards of the earlier ones do not.
  ValueId result{};
  for (size_t i = reads.size(); i-- > 0;) {
    const ElementRead& read = reads[i];
    const bool is_last = i + 1 == reads.size();
    const ValueId element = evaluate(node.inputs[read.operand], read.index, both(guard, read.guard));
    if (is_last || read.guard.empty()) {
      result = element;
    } else {
      result = builder_.compute(Op::select, {builder_.test(read.guard), element, result}, node.type.dtype);
    }
  }
  return result;
}

ValueId Evaluator::data_index(Value value, size_t operand, const std::vector<Index>& at, int64_t extent,
                              const Guard& guard) {
  const Node& node = body_[value];
  ValueId index = evaluate(node.inputs[operand], at, guard);
  // Of an axis without places nothing is gathered, though it may stand where it is never read.
  const bool is_checked = rules::may_fail(node) && checked_.count(value) == 0 && extent != 0;
  if (kernel_[index] == DType::i32 && !is_checked && guard.empty() && extent <= INT32_MAX) {
    return builder_.compute(Op::convert, {clamped(index, extent)},
                            DType::i64);  // lanes have min and max of i32
  }
  index = builder_.as_index(index);
  if (!guard.empty()) {  // there the index may be anything, which is nobody's mistake
    const ValueId zero = builder_.literal(scalar_tensor(DType::i64, int64_t{0}));
    index = builder_.compute(Op::select, {builder_.test(guard), index, zero}, DType::i64);
  }
  if (is_checked) check(value, index, extent);
  return clamped(index, extent);
}

void Evaluator::check(Value value, ValueId index, int64_t extent) {
  kernel_.checks.push_back({rules::out_of_range(body_[value], extent)});
  builder_.check_range(index, extent, static_cast<uint32_t>(kernel_.checks.size() - 1));
}

ValueId Evaluator::clamped(ValueId index, int64_t extent) {
  const DType dtype = kernel_[index];
  const ValueId low = builder_.literal(scalar_tensor(dtype, int64_t{0}));
  const ValueId high = builder_.literal(scalar_tensor(dtype, std::max<int64_t>(extent - 1, 0)));
  const ValueId raised = builder_.compute(Op::max, {index, low}, dtype);
  return builder_.compute(Op::min, {raised, high}, dtype);
}

}  // namespace tokamak
