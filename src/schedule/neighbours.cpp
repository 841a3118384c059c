#include "schedule/neighbours.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "loops/walk.h"
#include "ops/record.h"
#include "schedule/axes.h"
#include "schedule/transform.h"
#include "support/cache_line.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

/// The innermost loop over `var`, when it is the only one.
const Loop* find_plain_loop(const LoopKernel& kernel, LoopVar var) {
  const Loop* found = nullptr;
  int count = 0;
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      if (loop.var != var) return;
      found = &loop;
      ++count;
    });
  }
  if (count != 1 || found->bound || found->ordered) return nullptr;
  const bool is_plain = std::none_of(found->body.begin(), found->body.end(), [](const Stmt& stmt) {
    return as_loop(stmt) != nullptr || as_branch(stmt) != nullptr;
  });
  return is_plain ? found : nullptr;
}

const Loop* find_loop(const LoopKernel& kernel, LoopVar var) {
  const Loop* found = nullptr;
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      if (loop.var == var) found = &loop;
    });
  }
  return found;
}

/// Whether a loop over rows has a loop over `along` inside, and else only what is the same for all rows.
bool has_nothing_but(const Loop& rows, LoopVar along) {
  return !rows.bound && !rows.ordered &&
         std::all_of(rows.body.begin(), rows.body.end(), [&](const Stmt& stmt) {
           if (const Loop* inner = as_loop(stmt)) return inner->var == along;
           bool differs = !result_of(stmt) || as_branch(stmt) != nullptr;
           for_each_index(stmt, [&](const Index& index) { differs = differs || mentions(index, rows.var); });
           return !differs;
         });
}

/// What a value is but for its place along the loop: values of one form are the same function of the place.
struct Form {
  int number;     ///< the same for all of one form
  int64_t place;  ///< relative to that of others of the form
};

class Forms {
 public:
  Forms(const LoopKernel& kernel, const Loop& loop) : kernel_(kernel), var_(loop.var) {
    for (const Stmt& stmt : loop.body) {
      const std::optional<ValueId> result = result_of(stmt);
      if (!result) continue;
      definitions_[*result] = &stmt;
      if (const std::optional<Form> form = form_of(stmt)) {
        forms_.emplace(*result, *form);
        members_[form->number].emplace(form->place, *result);
      }
    }
  }

  /// By the number of a form: the values of it, by their places.
  const std::map<int, std::map<int64_t, ValueId>>& members() const { return members_; }

  /// The statements of the loop that lead to the value, in no order.
  std::set<const Stmt*> leading_to(ValueId value) const {
    std::set<const Stmt*> steps;
    collect(value, steps);
    return steps;
  }

 private:
  std::optional<Form> form_of(const Stmt& stmt) {
    if (const auto* load = std::get_if<Load>(&stmt)) return form_of_load(*load);
    if (const auto* compute = std::get_if<Compute>(&stmt)) return form_of_compute(*compute);
    return std::nullopt;
  }

  /// Of a load that moves with the loop along one axis.
  std::optional<Form> form_of_load(const Load& load) {
    if (!load.guard.empty() || depends_on_data(load.index) ||
        kernel_[load.buffer].role != Buffer::Role::input)
      return std::nullopt;
    const auto name = [&](LoopVar var) { return kernel_.variables[static_cast<size_t>(var)]; };
    std::optional<int64_t> place;
    std::string key = "load " + std::to_string(static_cast<uint32_t>(load.buffer));
    for (Index index : load.index) {
      if (mentions(index, var_)) {
        if (place || linear_coefficient(index, var_) != 1) return std::nullopt;
        place = index.constant;
        index.constant = 0;
      }
      key += ", " + to_string(index, name);
    }
    return place ? std::optional(Form{number_of(key), *place}) : std::nullopt;
  }

  std::optional<Form> form_of_compute(const Compute& compute) {
    std::optional<int64_t> place;
    std::string key = "op " + std::to_string(static_cast<int>(compute.op)) + " " +
                      std::to_string(static_cast<int>(kernel_[compute.result]));
    for (ValueId operand : compute.operands) {
      if (const auto found = forms_.find(operand); found != forms_.end()) {
        if (!place) place = found->second.place;
        key += ", " + std::to_string(found->second.number) + " at " +
               std::to_string(found->second.place - *place);
      } else if (definitions_.count(operand) == 0) {  // it comes from outside, the same for all places
        key += ", v" + std::to_string(static_cast<uint32_t>(operand));
      } else {
        return std::nullopt;
      }
    }
    return place ? std::optional(Form{number_of(key), *place}) : std::nullopt;
  }

  int number_of(const std::string& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

  void collect(ValueId value, std::set<const Stmt*>& steps) const {
    const auto found = definitions_.find(value);
    if (found == definitions_.end() || !steps.insert(found->second).second) return;
    for_each_operand(*found->second, [&](ValueId operand) { collect(operand, steps); });
  }

  const LoopKernel& kernel_;
  LoopVar var_;
  std::map<ValueId, const Stmt*> definitions_;
  std::map<ValueId, Form> forms_;
  std::map<std::string, int> numbers_;
  std::map<int, std::map<int64_t, ValueId>> members_;
};

double cost_of(const LoopKernel& kernel, const Stmt& stmt) {
  const auto* compute = std::get_if<Compute>(&stmt);
  if (compute == nullptr) return 1;
  return scalar_cost(compute->op, kernel[compute->operands.back()], kernel[compute->result]);
}

/// Instructions for each element that keeping a row of the values saves.
double saved_by_keeping(const LoopKernel& kernel, const Forms& forms,
                        const std::map<int64_t, ValueId>& members) {
  std::set<const Stmt*> all;
  double once = 0;
  for (const auto& [place, value] : members) {
    const std::set<const Stmt*> steps = forms.leading_to(value);
    if (all.empty())
      for (const Stmt* step : steps) once += cost_of(kernel, *step);
    all.insert(steps.begin(), steps.end());
  }
  double now = 0;
  for (const Stmt* step : all) now += cost_of(kernel, *step);
  const auto reads = static_cast<double>(members.size());
  return now - once - reads - 1;
}

/// Leaves out what computes values that nobody needs.
void drop_unused(std::vector<Stmt>& body) {
  std::set<ValueId> needed;
  std::vector<Stmt> kept;
  for (size_t i = body.size(); i-- > 0;) {
    const bool computes = std::holds_alternative<Load>(body[i]) || std::holds_alternative<Compute>(body[i]);
    if (computes && needed.count(*result_of(body[i])) == 0) continue;
    for_each_operand(body[i], [&](ValueId value) { needed.insert(value); });
    kept.push_back(std::move(body[i]));
  }
  std::reverse(kept.begin(), kept.end());
  body = std::move(kept);
}

/// The steps that lead to `value`, `moved` places further along, with values of their own; the last of them
/// is put into `into`.
std::shared_ptr<Loop> row_loop(LoopKernel& kernel, const Loop& loop, const KeepNeighbours& decision,
                               BufferId into) {
  const auto& [first, value] = *decision.values.begin();
  const std::set<const Stmt*> steps = Forms(kernel, loop).leading_to(value);
  auto row = std::make_shared<Loop>();
  row->var = decision.kept;
  row->kind = loop.kind;
  row->extent = loop.extent + decision.values.rbegin()->first - first;
  std::map<ValueId, ValueId> names;
  for (const Stmt& stmt : loop.body) {
    if (steps.count(&stmt) == 0) continue;
    Stmt copy = stmt;
    const ValueId old = *result_of(stmt);
    kernel.values.push_back(kernel[old]);
    const auto name = static_cast<ValueId>(kernel.values.size() - 1);
    names[old] = name;
    if (auto* load = std::get_if<Load>(&copy)) load->result = name;
    if (auto* compute = std::get_if<Compute>(&copy)) {
      compute->result = name;
      for (ValueId& operand : compute->operands)
        if (names.count(operand) != 0) operand = names.at(operand);
    }
    row->body.push_back(std::move(copy));
  }
  substitute_variable(kernel, *row, loop.var, Index::of(decision.kept));
  row->body.emplace_back(Store{into, {Index::of(decision.kept)}, names.at(value)});
  return row;
}

}  // namespace

int64_t rows_that_share_reads(const LoopKernel& kernel, LoopVar row, LoopVar along, const Cpu& cpu) {
  constexpr int64_t kManyBlocks = 64;
  const Loop* loop = find_plain_loop(kernel, along);
  const Loop* around = find_loop(kernel, row);
  if (loop == nullptr || around == nullptr || !has_nothing_but(*around, along)) return 1;
  const auto name = [&](LoopVar var) { return kernel.variables[static_cast<size_t>(var)]; };
  std::map<std::string, int64_t> places;  // along the rows, of reads that are the same otherwise
  bool shares = false;
  for (const Stmt& stmt : loop->body) {
    const auto* load = std::get_if<Load>(&stmt);
    if (load == nullptr || depends_on_data(load->index)) continue;
    std::string key = std::to_string(static_cast<uint32_t>(load->buffer));
    std::optional<int64_t> place;
    for (Index index : load->index) {
      if (linear_coefficient(index, row) == 1) place = std::exchange(index.constant, 0);
      key += ", " + to_string(index, name);
    }
    if (place) shares = shares || places.emplace(key, *place).first->second != *place;
  }
  if (!shares) return 1;
  const int64_t rows = kernel.extents[static_cast<size_t>(row)];
  const int64_t bytes = loop->extent * static_cast<int64_t>(size_of(DType::f64));
  for (int64_t together : {4, 3, 2}) {
    if (rows % together == 0 && rows / together >= kManyBlocks && together * bytes <= cpu.l2_bytes / 2)
      return together;
  }
  return 1;
}

std::optional<KeepNeighbours> choose_kept_neighbours(const LoopKernel& kernel, LoopVar var, const Cpu& cpu) {
  constexpr double kWorthALoop = 8;      // instructions of each element
  constexpr double kShareOfLoop = 0.25;  // of those of the loop
  const Loop* loop = find_plain_loop(kernel, var);
  if (loop == nullptr) return std::nullopt;
  const Forms forms(kernel, *loop);
  double most = std::max(kWorthALoop, kShareOfLoop * sizes_of(kernel, *loop).cost);
  const std::map<int64_t, ValueId>* best = nullptr;
  for (const auto& [form, members] : forms.members()) {
    if (members.size() < 2) continue;
    const int64_t places = loop->extent + members.rbegin()->first - members.begin()->first;
    const auto size = static_cast<int64_t>(size_of(kernel[members.begin()->second]));
    if (places > loop->extent * 5 / 4 || places * size > cpu.l1_bytes) continue;
    const double saved = saved_by_keeping(kernel, forms, members);
    if (saved > most) std::tie(best, most) = std::pair(&members, saved);
  }
  if (best == nullptr) return std::nullopt;
  return KeepNeighbours{var, static_cast<LoopVar>(kernel.variables.size()), *best};
}

void keep_neighbours(LoopKernel& kernel, const KeepNeighbours& decision) {
  const int64_t first = decision.values.begin()->first;
  const int64_t places =
      kernel.extents[static_cast<size_t>(decision.var)] + decision.values.rbegin()->first - first;
  add_variable(kernel, kernel.variables[static_cast<size_t>(decision.var)] + "_kept", places);
  const BufferId buffer = add_scratch(kernel, "row", {kernel[decision.values.begin()->second], {places}});
  for (Nest& nest : kernel.nests) {
    replace_loops(nest.root, decision.var, [&](Loop& loop) -> std::vector<Stmt> {
      std::shared_ptr<Loop> before = row_loop(kernel, loop, decision, buffer);
      for (const auto& [place, value] : decision.values) {
        for (Stmt& stmt : loop.body)
          if (result_of(stmt) == value)
            stmt = Load{value, buffer, {Index::of(loop.var) + Index(place - first)}, {}};
      }
      drop_unused(loop.body);
      return {before, std::make_shared<Loop>(std::move(loop))};
    });
  }
}

void keep_rows(LoopKernel& kernel, const KeepRows& decision) {
  const int64_t rows = kernel.extents[static_cast<size_t>(decision.row)];
  add_variable(kernel, kernel.variables[static_cast<size_t>(decision.row)] + "_kept", rows);
  for (Nest& nest : kernel.nests) {
    std::set<BufferId> kept;  // a row of each for every row
    for_each_loop(nest.root, [&](const Loop& loop) {
      if (loop.var != decision.kept) return;
      for (const Stmt& stmt : loop.body)
        if (const auto* store = std::get_if<Store>(&stmt)) kept.insert(store->buffer);
    });
    for (BufferId buffer : kept) {
      TensorType& type = kernel[buffer].type;
      const int64_t in_line = kCacheLine / static_cast<int64_t>(size_of(type.dtype));
      type.shape = {rows, round_up(type.shape[0], in_line)};  // every row is aligned
    }
    walk(nest.root, {.visit = [&](Stmt& stmt) {
           if (auto* store = std::get_if<Store>(&stmt); store != nullptr && kept.count(store->buffer) != 0)
             store->index.insert(store->index.begin(), Index::of(decision.row));
           if (auto* load = std::get_if<Load>(&stmt); load != nullptr && kept.count(load->buffer) != 0)
             load->index.insert(load->index.begin(), Index::of(decision.row));
         }});
    replace_loops(nest.root, decision.row, [&](Loop& loop) {
      auto before = std::make_shared<Loop>(loop);
      before->var = decision.before;
      before->body.clear();
      std::vector<Stmt> result;  // begins with what is the same for all rows
      std::vector<Stmt> after;
      for (Stmt& stmt : loop.body) {
        const Loop* inner = as_loop(stmt);
        auto& part = inner == nullptr ? result : inner->var == decision.kept ? before->body : after;
        part.push_back(std::move(stmt));
      }
      substitute_variable(kernel, *before, decision.row, Index::of(decision.before));
      loop.body = std::move(after);
      result.emplace_back(before);
      result.emplace_back(std::make_shared<Loop>(std::move(loop)));
      return result;
    });
  }
}

}  // namespace tokamak
