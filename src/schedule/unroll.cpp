#include "schedule/unroll.h"

#include <algorithm>
#include <map>
#include <set>

#include "loops/walk.h"
#include "ops/record.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

/// The accumulator that a statement declares, steps or reads.
std::optional<AccumulatorId> accumulator_of(const Stmt& stmt) {
  if (const auto* declare = std::get_if<Declare>(&stmt)) return declare->accumulator;
  if (const auto* step = std::get_if<Accumulate>(&stmt)) return step->accumulator;
  if (const auto* read = std::get_if<Read>(&stmt)) return read->accumulator;
  return std::nullopt;
}

/// What is not the same in all iterations of a loop.
class Differing {
 public:
  Differing(const Loop& loop) : var_(loop.var) {
    walk(loop, [&](const Stmt& stmt) {
      if (!(*this)(stmt)) return;
      if (const std::optional<ValueId> result = result_of(stmt)) values_.insert(*result);
      if (const auto* step = std::get_if<Accumulate>(&stmt)) accumulators_.insert(step->accumulator);
    });
  }

  bool operator()(const Stmt& stmt) const {
    const std::optional<AccumulatorId> accumulator = accumulator_of(stmt);
    bool differs = accumulator && accumulators_.count(*accumulator) != 0;
    for_each_index(stmt, [&](const Index& index) { differs = differs || mentions(index, var_); });
    for_each_operand(stmt, [&](ValueId value) { differs = differs || values_.count(value) != 0; });
    return differs;
  }

  const std::set<AccumulatorId>& accumulators() const { return accumulators_; }

 private:
  LoopVar var_;
  std::set<ValueId> values_;
  std::set<AccumulatorId> accumulators_;
};

/// The statements of one iteration, with names of its own.
class Iteration {
 public:
  Iteration(LoopKernel& kernel, LoopVar var, int64_t number) : kernel_(kernel), var_(var), number_(number) {}

  Stmt of(const Stmt& stmt) {
    Stmt copy = stmt;
    for_each_index(copy, [&](Index& index) { index = moved(index); });
    rename_operands(copy, [&](ValueId value) { return name(value); });
    if (auto* declare = std::get_if<Declare>(&copy)) declare->accumulator = own(declare->accumulator);
    if (auto* step = std::get_if<Accumulate>(&copy)) step->accumulator = own(step->accumulator);
    if (auto* read = std::get_if<Read>(&copy)) {
      read->accumulator = own(read->accumulator);
      read->result = define(read->result);
    }
    if (auto* load = std::get_if<Load>(&copy)) load->result = define(load->result);
    if (auto* compute = std::get_if<Compute>(&copy)) compute->result = define(compute->result);
    if (auto* value = std::get_if<IndexValue>(&copy)) value->result = define(value->result);
    if (auto* test = std::get_if<Test>(&copy)) test->result = define(test->result);
    return copy;
  }

 private:
  Index moved(const Index& index) const {
    return substitute(
        index, [&](LoopVar var) { return var == var_ ? Index(number_) : Index::of(var); },
        kernel_.extents_function());
  }

  ValueId name(ValueId value) const {
    const auto found = values_.find(value);
    return found == values_.end() ? value : found->second;
  }

  ValueId define(ValueId value) {
    if (number_ == 0) return value;
    kernel_.values.push_back(kernel_[value]);
    return values_[value] = static_cast<ValueId>(kernel_.values.size() - 1);
  }

  AccumulatorId own(AccumulatorId accumulator) {
    if (number_ == 0) return accumulator;
    const auto [place, is_new] = accumulators_.emplace(accumulator, AccumulatorId{});
    if (is_new) {
      kernel_.accumulators.push_back(Accumulator(kernel_[accumulator]));
      place->second = static_cast<AccumulatorId>(kernel_.accumulators.size() - 1);
    }
    return place->second;
  }

  LoopKernel& kernel_;
  LoopVar var_;
  int64_t number_;
  std::map<ValueId, ValueId> values_;
  std::map<AccumulatorId, AccumulatorId> accumulators_;
};

std::vector<Stmt> all_at_once(const std::vector<Stmt>& body, const Differing& differs,
                              std::vector<Iteration>& iterations) {
  std::vector<Stmt> result;
  for (const Stmt& stmt : body) {
    if (const Loop* loop = as_loop(stmt)) {
      auto copy = std::make_shared<Loop>(*loop);
      copy->body = all_at_once(loop->body, differs, iterations);
      result.emplace_back(std::move(copy));
    } else if (differs(stmt)) {
      for (Iteration& iteration : iterations) result.push_back(iteration.of(stmt));
    } else {
      result.push_back(stmt);
    }
  }
  return result;
}

/// What the sweeps inside the loop cost for an element, and how much of that is the same in all iterations.
struct Costs {
  double all = 0;
  double same = 0;
};

void add_costs(const LoopKernel& kernel, const Loop& loop, const std::vector<LoopVar>& swept,
               const Differing& differs, bool is_in_sweep, Costs& costs) {
  for (const Stmt& stmt : loop.body) {
    if (const Loop* inner = as_loop(stmt)) {
      const bool sweeps = std::find(swept.begin(), swept.end(), inner->var) != swept.end();
      add_costs(kernel, *inner, swept, differs, is_in_sweep || sweeps, costs);
    } else if (const auto* compute = std::get_if<Compute>(&stmt); compute != nullptr && is_in_sweep) {
      const double cost = scalar_cost(compute->op, kernel[compute->operands.back()], kernel[compute->result]);
      costs.all += cost;
      costs.same += differs(stmt) ? 0 : cost;
    }
  }
}

}  // namespace

std::optional<Unroll> choose_unroll(const LoopKernel& kernel, const std::vector<LoopVar>& rows,
                                    const std::vector<LoopVar>& swept, std::optional<LoopVar> lanes) {
  constexpr int64_t kFew = 4;
  constexpr size_t kMostAccumulators = 12;
  constexpr double kWorthIt = 16;        // instructions of each element that are the same
  constexpr double kShareOfSweep = 0.5;  // of all
  const bool keeps = std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
    return buffer.role == Buffer::Role::scratch;  // of which each row would need its own
  });
  if (kernel.nests.size() != 1 || keeps) return std::nullopt;
  std::optional<Unroll> found;
  for_each_loop(kernel.nests[0].root, [&](const Loop& loop) {
    const bool is_row = std::find(rows.begin(), rows.end(), loop.var) != rows.end();
    if (found || !is_row || loop.var == lanes || loop.extent < 2 || loop.extent > kFew) return;
    const Differing differs(loop);
    Costs costs;
    add_costs(kernel, loop, swept, differs, false, costs);
    const size_t accumulators = differs.accumulators().size() * static_cast<size_t>(loop.extent);
    if (costs.same >= kWorthIt && costs.same >= kShareOfSweep * costs.all &&
        accumulators <= kMostAccumulators)
      found = Unroll{loop.var};
  });
  return found;
}

void unroll(LoopKernel& kernel, const Unroll& decision) {
  for (Nest& nest : kernel.nests) {
    replace_loops(nest.root, decision.var, [&](Loop& loop) {
      widen_scratch(kernel, loop, ScratchAxis::outermost);
      const Differing differs(loop);
      std::vector<Iteration> iterations;
      for (int64_t i = 0; i < loop.extent; ++i) iterations.emplace_back(kernel, loop.var, i);
      return all_at_once(loop.body, differs, iterations);
    });
  }
}

}  // namespace tokamak
