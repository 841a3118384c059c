#include "schedule/separate.h"

#include <algorithm>
#include <set>
#include <span>

#include "loops/walk.h"
#include "schedule/answers.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

/// A loop is not cut into more parts than this; what differs between neighbours is then asked after all.
constexpr size_t kMostParts = 40;
/// Parts that together are less than this share of a loop are not cut any further.
constexpr int64_t kSmallShare = 16;
/// As many parts get a body each. Of more, those that are none of few large ones share a body that asks.
constexpr int64_t kFewParts = 6;
/// Of few parts, the small ones share a body that asks where that saves so many statements.
constexpr int64_t kWorthSharing = 24;
/// Where fewer iterations than one in so many come to, code need not be fast, but small.
constexpr int64_t kRare = 64;
/// As many elements are not worth vector code with masks.
constexpr int64_t kFewElements = 2;
/// Vector loops of fewer rounds are left whole.
constexpr int64_t kFewRounds = 4;
/// Statements that a kernel may grow by: they cost compile time.
constexpr int64_t kMostStatements = 800;

/// As many statements as it takes about as long to compile.
int64_t statement_count(const std::vector<Stmt>& body) {
  constexpr int64_t kLoop = 12;  // its rounds and what is left of them, and where each begins
  int64_t count = 0;
  for (const Stmt& stmt : body) {
    ++count;
    if (const Loop* loop = as_loop(stmt)) count += kLoop + statement_count(loop->body);
    if (const Branch* branch = as_branch(stmt))
      count += statement_count(branch->body) + statement_count(branch->otherwise);
  }
  return count;
}

/// A part of a loop.
struct Part {
  Range range;
  bool is_large = false;  ///< those that are not, together, are a small share of the loop
  bool is_rare = false;   ///< not large, and that share so small that speed does not matter there
};

/// Joins neighbours that are not longer than `most` together.
std::vector<Range> joined(const std::vector<Range>& parts, int64_t most) {
  std::vector<Range> result;
  for (const Range& part : parts) {
    if (!result.empty() && part.end - result.back().first <= most) {
      result.back().end = part.end;
    } else {
      result.push_back(part);
    }
  }
  return result;
}

/// Cuts a range at `points`, which are sorted and lie inside of it. Small neighbours are joined until few
/// enough are left.
std::vector<Range> parts_of(Range whole, const std::set<int64_t>& points) {
  std::vector<Range> parts;
  int64_t first = whole.first;
  for (int64_t point : points) {
    parts.push_back({first, point});
    first = point;
  }
  parts.push_back({first, whole.end});
  int64_t most = whole.size() / static_cast<int64_t>(kMostParts);
  for (; parts.size() > kMostParts; most += std::max<int64_t>(most / 4, 1)) parts = joined(parts, most);
  return parts;
}

/// Tells large parts from small ones: the largest, until what is left is a small share of the whole.
std::vector<Part> weighed(const std::vector<Range>& ranges, int64_t whole) {
  std::vector<Part> parts;
  for (const Range& range : ranges) parts.push_back({range});
  std::vector<Part*> by_size;
  for (Part& part : parts) by_size.push_back(&part);
  std::ranges::stable_sort(by_size, std::greater<>(), [](const Part* part) { return part->range.size(); });
  int64_t left = whole;
  for (Part* part : by_size) {
    if (left * kSmallShare <= whole) break;
    part->is_large = true;
    left -= part->range.size();
  }
  for (Part& part : parts) part.is_rare = !part.is_large && left * kRare <= whole;
  return parts;
}

/// Removes statements whose values nobody reads. `needed`: what is read after the body, and then also before.
void remove_unused(std::vector<Stmt>& body, std::set<ValueId>& needed) {
  std::vector<Stmt> kept;
  for (size_t i = body.size(); i-- > 0;) {
    Stmt& stmt = body[i];
    const std::optional<ValueId> result = result_of(stmt);
    const bool acts = std::holds_alternative<Accumulate>(stmt);
    if (result && !acts && needed.count(*result) == 0) continue;
    if (result) needed.erase(*result);
    if (Loop* loop = as_loop(stmt)) remove_unused(loop->body, needed);
    if (Branch* branch = as_branch(stmt)) {
      std::set<ValueId> otherwise = needed;
      remove_unused(branch->otherwise, otherwise);
      remove_unused(branch->body, needed);
      needed.insert(otherwise.begin(), otherwise.end());
    }
    for_each_operand(stmt, [&](ValueId value) { needed.insert(value); });
    kept.push_back(std::move(stmt));
  }
  std::ranges::reverse(kept);
  body = std::move(kept);
}

class Separation {
 public:
  Separation(LoopKernel& kernel, bool aligned) : kernel_(kernel), conditions_(kernel), aligned_(aligned) {}

  void run() {
    for (Nest& nest : kernel_.nests) {
      Loop* innermost = &nest.root;
      std::vector<LoopVar> rows{nest.root.var};
      above_.clear();
      while (Loop* row = next_row(*innermost)) {
        above_.insert(above_.end(), innermost->body.begin(), innermost->body.end() - 1);
        rows.push_back(row->var);
        innermost = row;
      }
      const std::vector<Stmt> body = std::move(innermost->body);
      innermost->body = by_rows(rows, 0, body, State{Ranges(kernel_), {}});
      std::set<ValueId> needed;
      remove_unused(nest.root.body, needed);
    }
  }

 private:
  /// What holds where a body is copied to.
  struct State {
    Ranges ranges;
    std::map<ValueId, ValueId> names;  ///< of values that are others there
    bool cut = true;                   ///< whether loops inside are cut too
    bool cut_small = true;             ///< whether they are where few iterations come to
    bool is_rare = false;              ///< a small share of all iterations comes here
  };

  /// The row loop directly inside, when there is nothing else to run.
  static Loop* next_row(Loop& loop) {
    Loop* only = only_loop(loop);
    return only != nullptr && only->kind == LoopKind::serial && !only->ordered ? only : nullptr;
  }

  /// Where conditions inside the body, or outside of the row loops that it is in, change along `var`.
  std::set<int64_t> changes(const std::vector<Stmt>& body, LoopVar var, const Ranges& ranges) const {
    std::set<int64_t> points;
    auto look_at = [&](const Stmt& stmt) {
      for (const Condition& condition : conditions_.asked_by(stmt, ranges)) {
        if (ranges.holds(condition)) continue;
        for (int64_t point : changes_along(condition, var, ranges)) points.insert(point);
      }
    };
    std::ranges::for_each(above_, look_at);
    Loop inside;
    inside.body = body;
    walk(inside, look_at);
    return points;
  }

  /// Counts what a kernel grows by; whether that is still within bounds. What was counted inside of `made`
  /// while it was made is to be forgotten before.
  bool may_grow(const std::vector<Stmt>& made, const std::vector<Stmt>& instead_of) {
    const int64_t more = statement_count(made) - statement_count(instead_of);
    if (grown_ + more > kMostStatements) return false;
    grown_ += std::max<int64_t>(more, 0);
    return true;
  }

  /// The body for each part of the first of the row variables from `depth` on, chosen by branches.
  std::vector<Stmt> by_rows(const std::vector<LoopVar>& rows, size_t depth, const std::vector<Stmt>& body,
                            const State& state) {
    if (depth == rows.size()) return specialised(body, state);
    const LoopVar var = rows[depth];
    const Range whole = state.ranges.of(var);
    const std::vector<Part> parts = weighed(parts_of(whole, changes(body, var, state.ranges)), whole.size());
    if (parts.size() > 1) {
      const auto large = std::ranges::count(parts, true, &Part::is_large);
      const bool few_are_large = large <= kFewParts / 2;
      const int64_t grown = grown_;
      for (const bool cut_small : {true, false}) {  // the second time with as little code as possible
        State inside = state;
        inside.cut_small = state.cut_small && cut_small;
        const auto shared = [&] {
          grown_ = grown;
          return large_or_general(rows, depth, parts, body, inside);
        };
        const bool must_share = few_are_large && (std::ssize(parts) > kFewParts || !cut_small);
        std::vector<Stmt> made = must_share ? shared() : one_of(rows, depth, parts, body, inside);
        grown_ = grown;
        if (!may_grow(made, body)) continue;
        const bool may_share = few_are_large && large + 1 < std::ssize(parts);
        if (must_share || !may_share) return made;
        const int64_t grown_by_made = grown_;
        std::vector<Stmt> smaller = shared();
        grown_ = grown;
        const bool is_worth_it = statement_count(smaller) + kWorthSharing < statement_count(made);
        if (is_worth_it && may_grow(smaller, body)) return smaller;
        grown_ = grown_by_made;
        return made;
      }
    }
    return by_rows(rows, depth + 1, body, state);
  }

  std::vector<Stmt> large_or_general(const std::vector<LoopVar>& rows, size_t depth,
                                     const std::vector<Part>& parts, const std::vector<Stmt>& body,
                                     const State& state) {
    State general = state;
    general.cut = false;
    for (const Part& part : parts) general.is_rare = general.is_rare || part.is_rare;
    std::vector<Stmt> chosen = narrowed(body, general);
    for (const Part& part : parts) {
      if (!part.is_large) continue;
      const Guard guard{{Index::of(rows[depth]), part.range.first, part.range.end}};
      std::vector<Stmt> inside = one_of(rows, depth, std::span(&part, 1), body, state);
      chosen = {std::make_shared<Branch>(Branch{guard, std::move(inside), std::move(chosen)})};
    }
    return chosen;
  }

  /// A tree of branches that finds the part. What is not needed on the way down is left behind.
  std::vector<Stmt> one_of(const std::vector<LoopVar>& rows, size_t depth, std::span<const Part> parts,
                           const std::vector<Stmt>& body, const State& state) {
    const LoopVar var = rows[depth];
    State inside = state;
    inside.ranges = state.ranges.with(var, {parts.front().range.first, parts.back().range.end});
    State whole_loops = inside;
    whole_loops.cut = false;
    whole_loops.is_rare = false;
    const std::vector<Stmt> rest = narrowed(body, whole_loops);
    if (parts.size() == 1) {
      inside.cut = parts[0].is_large || (parts[0].is_rare && state.cut_small);
      inside.is_rare = state.is_rare || parts[0].is_rare;
      return inside.cut ? by_rows(rows, depth + 1, rest, inside) : specialised(rest, inside);
    }
    const size_t middle = parts.size() / 2;
    const Guard guard{{Index::of(var), 0, parts[middle].range.first}};
    return {std::make_shared<Branch>(Branch{guard, one_of(rows, depth, parts.first(middle), rest, inside),
                                            one_of(rows, depth, parts.subspan(middle), rest, inside)})};
  }

  /// A copy of a whole body, without what is not needed where it is copied to.
  std::vector<Stmt> narrowed(const std::vector<Stmt>& body, const State& state) {
    std::vector<Stmt> copy = specialised(body, state);
    std::set<ValueId> needed;
    remove_unused(copy, needed);
    return copy;
  }

  /// A copy of the body with what the ranges decide decided.
  std::vector<Stmt> specialised(const std::vector<Stmt>& body, State state) {
    std::vector<Stmt> result;
    for (const Stmt& stmt : body) {
      if (const Loop* loop = as_loop(stmt)) {
        for (Stmt& made : specialised(*loop, state)) result.push_back(std::move(made));
      } else if (std::optional<Stmt> made = specialised(stmt, state)) {
        result.push_back(std::move(*made));
      }
    }
    return result;
  }

  std::vector<Stmt> specialised(const Loop& loop, const State& state) {
    Loop head = loop;
    head.body.clear();
    if (head.bound) head.bound = rename(*head.bound, state);
    if (loop.kind != LoopKind::vector) {
      head.body = state.cut ? by_rows({loop.var}, 0, loop.body, state) : specialised(loop.body, state);
      return {std::make_shared<Loop>(std::move(head))};
    }
    const std::vector<Range> parts = vector_parts(loop, state);
    if (parts.size() > 1) {
      const int64_t grown = grown_;
      std::vector<Stmt> loops;
      for (const Range& part : parts) loops.push_back(vector_part(loop, head, part, state));
      grown_ = grown;
      if (may_grow(loops, loop.body)) return loops;
    }
    if (state.is_rare && !accumulates(loop) && !lies_by_rounds(loop)) run_one_by_one(head);
    head.body = specialised(loop.body, state);
    return {std::make_shared<Loop>(std::move(head))};
  }

  static void run_one_by_one(Loop& loop) {
    loop.kind = LoopKind::serial;
    loop.lanes = 1;
  }

  /// Whether lanes hold something from one round to the next.
  static bool accumulates(const Loop& loop) {
    bool found = false;
    walk(loop, [&](const Stmt& stmt) { found = found || std::holds_alternative<Accumulate>(stmt); });
    return found;
  }

  /// Whether something that the loop uses has a place for each of its rounds, which go by its variable.
  bool lies_by_rounds(const Loop& loop) const {
    bool found = false;
    const auto look_at = [&](AccumulatorId accumulator) {
      found = found || kernel_[accumulator].each == loop.var;
    };
    walk(loop, [&](const Stmt& stmt) {
      if (const auto* declare = std::get_if<Declare>(&stmt)) look_at(declare->accumulator);
      if (const auto* step = std::get_if<Accumulate>(&stmt)) look_at(step->accumulator);
      if (const auto* read = std::get_if<Read>(&stmt)) look_at(read->accumulator);
      if (const auto* merge = std::get_if<Merge>(&stmt)) look_at(merge->into), look_at(merge->from);
      if (const auto* spill = std::get_if<Spill>(&stmt)) look_at(spill->accumulator);
      if (const auto* unspill = std::get_if<Unspill>(&stmt)) look_at(unspill->accumulator);
    });
    return found;
  }

  /// Whether it matters which elements share a lane.
  bool order_matters(const Loop& loop) const {
    bool found = false;
    walk(loop, [&](const Stmt& stmt) {
      const auto* step = std::get_if<Accumulate>(&stmt);
      if (step == nullptr) return;
      found = found || is_float(kernel_[step->accumulator].dtype) || step->position || step->running;
    });
    return found;
  }

  /// What a vector loop is cut into: where the answers change. A sum is cut between rounds only, since its
  /// lanes must stay those they are, and so are loops that store past the caches, to whole aligned registers.
  std::vector<Range> vector_parts(const Loop& loop, const State& state) const {
    const Range whole = state.ranges.of(loop.var);
    if (!state.cut || loop.extent <= kFewRounds * loop.lanes || loop.extent != whole.size()) return {whole};
    if ((state.is_rare && accumulates(loop)) || lies_by_rounds(loop)) return {whole};
    std::set<int64_t> points = changes(loop.body, loop.var, state.ranges);
    if (aligned_ || order_matters(loop)) {
      std::set<int64_t> edges;
      for (int64_t point : points) {
        const int64_t round = point / loop.lanes * loop.lanes;
        for (int64_t edge : {round, point == round ? round : round + loop.lanes}) {
          if (edge > whole.first && edge < whole.end) edges.insert(edge);
        }
      }
      points = std::move(edges);
    }
    return parts_of(whole, points);
  }

  Stmt vector_part(const Loop& loop, const Loop& head, Range part, const State& state) {
    auto result = std::make_shared<Loop>(head);
    const std::string name = kernel_.variables[static_cast<size_t>(loop.var)];
    result->var = add_variable(kernel_, name, part.size());
    result->extent = part.size();
    if ((part.size() <= kFewElements || state.is_rare) && !accumulates(loop)) run_one_by_one(*result);
    if (head.bound) result->bound = *head.bound - Index(part.first);
    // The statements are looked at with the old variable, in its part, and get the new one afterwards.
    State inside = state;
    inside.ranges = state.ranges.with(loop.var, part);
    result->body = narrowed(loop.body, inside);
    substitute_variable(kernel_, *result, loop.var, Index::of(result->var) + Index(part.first));
    return result;
  }

  ValueId name_of_value(ValueId value, const State& state) const {
    const auto found = state.names.find(value);
    return found == state.names.end() ? value : found->second;
  }
  Index rename(const Index& index, const State& state) const {
    return state.names.empty() ? index
                               : renamed(index, [&](ValueId value) { return name_of_value(value, state); });
  }

  /// The statement as it is there; nothing when its result is another value's.
  std::optional<Stmt> specialised(const Stmt& stmt, State& state) {
    const std::optional<ValueId> result = result_of(stmt);
    if (result && kernel_[*result] == DType::boolean && !std::holds_alternative<Load>(stmt)) {
      if (const std::optional<bool> known = conditions_.truth(*result, state.ranges))
        return Literal{*result, scalar_tensor(DType::boolean, int64_t{*known ? 1 : 0})};
    }
    Stmt copy = stmt;
    for_each_index(copy, [&](Index& index) { index = rename(index, state); });
    if (auto* test = std::get_if<Test>(&copy)) test->guard = state.ranges.undecided(test->guard);
    if (auto* load = std::get_if<Load>(&copy)) {
      if (state.ranges.holds(load->guard) == false)
        return Literal{load->result, Tensor(TensorType{kernel_[load->result], {}})};
      load->guard = state.ranges.undecided(load->guard);
    }
    if (auto* compute = std::get_if<Compute>(&copy)) {
      if (compute->op == Op::select) {
        if (const std::optional<bool> known = conditions_.truth(compute->operands[0], state.ranges)) {
          state.names[compute->result] = name_of_value(compute->operands[*known ? 1 : 2], state);
          return std::nullopt;
        }
      }
      for (ValueId& operand : compute->operands) operand = name_of_value(operand, state);
    }
    if (auto* store = std::get_if<Store>(&copy)) store->value = name_of_value(store->value, state);
    if (auto* step = std::get_if<Accumulate>(&copy)) step->value = name_of_value(step->value, state);
    if (auto* check = std::get_if<CheckRange>(&copy)) check->value = name_of_value(check->value, state);
    return copy;
  }

  LoopKernel& kernel_;
  const Conditions conditions_;
  const bool aligned_;
  std::vector<Stmt> above_;  ///< statements of row loops that do not depend on the inner ones
  int64_t grown_ = 0;
};

}  // namespace

void separate_ranges(LoopKernel& kernel, bool aligned) { Separation(kernel, aligned).run(); }

bool has_ranges_to_separate(const LoopKernel& kernel) {
  const Conditions conditions(kernel);
  const Ranges ranges(kernel);
  bool found = false;
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      walk(loop, [&](const Stmt& stmt) {
        if (found) return;
        for (const Condition& condition : conditions.asked_by(stmt, ranges))
          found = found || (!ranges.holds(condition) && !changes_along(condition, loop.var, ranges).empty());
      });
    });
  }
  return found;
}

}  // namespace tokamak
