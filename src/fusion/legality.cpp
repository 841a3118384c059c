#include "fusion/legality.h"

#include <algorithm>
#include <map>
#include <set>

#include "fusion/cost.h"
#include "fusion/product.h"
#include "ops/index.h"
#include "ops/index_map.h"
#include "ops/record.h"

namespace tokamak {

bool is_computed(const Node& node) {
  return family_of(node.op) != OpFamily::Source && family_of(node.op) != OpFamily::View;
}

bool is_inline_constant(const Node& node) { return node.op == Op::constant && node.type.elements() == 1; }

std::vector<Index> home_index(const Domain& domain, const Shape& shape, bool is_row) {
  return is_row ? row_index(domain, shape) : full_index(domain, shape);
}

namespace {

/// The axes of a scatter's updates, then those of its operand.
Shape scatter_space(const Graph& graph, Value scatter) {
  const Node& node = graph[scatter];
  Shape space = graph.type_of(node.inputs[2]).shape;
  const Shape& operand = graph.type_of(node.inputs[0]).shape;
  space.insert(space.end(), operand.begin(), operand.end());
  return space;
}

/// One examination. Needs are visited from the latest value to the earliest, so that all needs of a value are
/// known when it is its turn.
class Examination {
 public:
  Examination(const Groups& state, Value value, const Group& group, bool may_merge)
      : state_(state), graph_(state.graph), group_(group), value_(value), may_merge_(may_merge) {
    joining_.domain = group.domain;
    if (graph_[value].op == Op::scatter) space_ = scatter_space(graph_, value);
  }

  Joining run() {
    if (!place()) return joining_;
    start();
    while (!needs_.empty() && joining_.allowed()) {
      auto latest = needs_.begin();
      const Value needed = latest->first;
      const Points points = std::move(latest->second);
      needs_.erase(latest);
      visit(needed, points);
    }
    if (joining_.allowed()) check_limits();
    return joining_;
  }

 private:
  /// Where a value is wanted, and under which guards: for each there is code, which is what makes kernels
  /// large; but an element is computed where one of them holds.
  struct Point {
    std::vector<Index> at;
    std::vector<Guard> guards;
  };
  using Points = std::vector<Point>;

  /// The variables that points are made of: the axes of the domain; those of a scatter's updates and operand.
  const Shape& space() const { return space_ ? *space_ : joining_.domain.extents; }

  Extents extents() const {
    return [this](LoopVar var) { return space()[static_cast<size_t>(var)]; };
  }

  void refuse(std::string reason) {
    if (joining_.allowed()) joining_.refusal = std::move(reason);
  }

  /// Whether the value fits the domain: an element for every point, or for every row.
  bool place() {
    const Node& node = graph_[value_];
    if (group_.closed && !group_.members.empty()) {
      refuse("the kernel takes no other operations");
      return false;
    }
    if (sweeps(node)) {
      const Shape& operand = graph_.type_of(node.inputs[0]).shape;
      if (without_ones(operand) != joining_.domain.extents) {
        refuse("it sweeps " + to_string(operand) + ", the kernel iterates over " +
               to_string(joining_.domain.extents));
        return false;
      }
      const std::vector<bool> swept = swept_axes(node, operand);
      if (group_.product && scans(node)) {
        refuse("it goes through the columns of a product in order, which the kernel has side by side");
        return false;
      }
      if (group_.product && !Domain{.swept = swept}.sweeps_within_last(group_.columns)) {
        refuse("it reduces the rows of a product, of which the kernel sees a block at a time");
        return false;
      }
      if (joining_.domain.has_sweep && swept != joining_.domain.swept) {
        refuse("it reduces other axes than the kernel does");
        return false;
      }
      joining_.domain.swept = swept;
      joining_.domain.has_sweep = true;
      joining_.is_row = reduces(node);
      return true;
    }
    if (is_row(joining_.domain, node.type.shape)) {
      joining_.is_row = true;
      joining_.sweep = -1;
      return true;
    }
    if (is_transpose_of_member(node)) {
      joining_.is_permuted = true;
      return true;
    }
    if (is_full(joining_.domain, node.type.shape)) return true;
    refuse("it iterates over " + to_string(node.type.shape) + ", the kernel over " +
           to_string(joining_.domain.extents));
    return false;
  }

  /// Blocks of a product are stored in any order of their axes.
  bool is_transpose_of_member(const Node& node) const {
    if (node.op != Op::transpose || !group_.product || scatters_columns(node)) return false;
    const ValueState& operand = state_[node.inputs[0]];
    return is_inside(operand.group) && !operand.is_row &&
           is_full(joining_.domain, graph_.type_of(node.inputs[0]).shape);
  }

  /// Whether neighbours that follow from the sums of a product would each go to a cache line of their own: to
  /// turn such a result around tile by tile is faster, though it is one more pass. A product that follows
  /// another may share its kernel, as in attention, only if all that it leads to does.
  bool scatters_columns(const Node& transpose) const {
    const Ints permutation = transpose.attributes.ints(Attr::permutation);
    const bool keeps_columns = permutation.back() + 1 == static_cast<int64_t>(permutation.size());
    return !keeps_columns && graph_[transpose.inputs[0]].op != Op::dot && !follows_product(*group_.product);
  }

  bool follows_product(Value value) const {
    std::vector<Value> pending = graph_[value].inputs;
    std::set<Value> seen;
    while (!pending.empty()) {
      const Value next = pending.back();
      pending.pop_back();
      if (graph_[next].op == Op::dot) return true;
      if (!seen.insert(next).second) continue;
      pending.insert(pending.end(), graph_[next].inputs.begin(), graph_[next].inputs.end());
    }
    return false;
  }

  void start() {
    const Node& node = graph_[value_];
    if (node.op == Op::dot) {
      start_product();
    } else if (sorts(node)) {
      reads_operand(read_of_sorted(graph_, value_));
    } else if (node.op == Op::scatter) {
      start_scatter(node);
    } else if (sweeps(node)) {
      need(node.inputs[0], full_index(joining_.domain, graph_.type_of(node.inputs[0]).shape));
    } else if (is_computed(node)) {
      expand(value_, {{home_index(joining_.domain, node.type.shape, joining_.is_row), {Guard{}}}});
    } else if (joining_.is_permuted) {
      need(node.inputs[0], full_index(joining_.domain, graph_.type_of(node.inputs[0]).shape));
    } else {
      need(value_, home_index(joining_.domain, node.type.shape, joining_.is_row));
    }
    if (is_computed(node)) {
      const DType operand = node.inputs.empty() ? node.type.dtype : graph_.type_of(node.inputs.back()).dtype;
      joining_.cost += op_cost(node, operand);
      joining_.expression_cost += op_cost(node, operand);
    }
  }

  /// A scatter visits its updates with their indices, and apart from them its operand.
  void start_scatter(const Node& node) {
    const Shape& operand = graph_.type_of(node.inputs[0]).shape;
    const Shape& indices = graph_.type_of(node.inputs[1]).shape;
    std::vector<Index> update;
    for (size_t axis = 0; axis < graph_.type_of(node.inputs[2]).shape.size(); ++axis)
      update.push_back(Index::of(static_cast<LoopVar>(axis)));
    const auto first = update.begin() + node.attributes.integer(Attr::axis);
    need(node.inputs[1], {first, first + static_cast<int64_t>(indices.size())});
    std::vector<Index> element;
    for (size_t axis = 0; axis < operand.size(); ++axis)
      element.push_back(Index::of(static_cast<LoopVar>(update.size() + axis)));
    need(node.inputs[2], std::move(update));
    need(node.inputs[0], std::move(element));
    if (worth_overwriting(graph_, node)) keep_apart(node);
  }

  /// What the places and values of updates are made from is read from memory where computing it would read
  /// the operand between two writes to it, or might fail after some.
  void keep_apart(const Node& scatter) {
    const Value operand = seen_through_views(scatter.inputs[0]);
    for (size_t i : {1, 2}) {
      const Value made = seen_through_views(scatter.inputs[i]);
      if (is_computed(graph_[made]) && reads_or_may_fail(made, operand)) kept_apart_.insert(made);
    }
  }

  Value seen_through_views(Value value) const {
    while (is_view(graph_[value].op)) value = graph_[value].inputs[0];
    return value;
  }

  bool reads_or_may_fail(Value made, Value array) const {
    constexpr size_t kFarEnough = 64;
    std::set<Value> seen;
    std::vector<Value> work{made};
    while (!work.empty()) {
      const Value next = work.back();
      work.pop_back();
      const Node& node = graph_[next];
      if (next == array || rules::may_fail(node) || seen.size() > kFarEnough) return true;
      const bool is_from_memory = state_[next].stored || !(is_pointwise(node.op) || is_view(node.op));
      if (is_from_memory && next != made) continue;
      if (seen.insert(next).second) work.insert(work.end(), node.inputs.begin(), node.inputs.end());
    }
    return false;
  }

  /// A product reads its operands from memory, all of them over and over.
  void start_product() {
    for (size_t operand : {0, 1}) reads_operand(read_of_operand(graph_, value_, operand));
  }

  void reads_operand(const OperandRead& read) {
    joining_.arrays.push_back(read.array);
    if (state_[read.array].group >= 0) joining_.stored.push_back(read.array);
    joining_.recomputed.insert(joining_.recomputed.end(), read.passed.begin(), read.passed.end());
  }

  double op_cost(const Node& node, DType operand) const {
    return family_of(node.op) == OpFamily::Elementwise ? scalar_cost(node.op, operand, node.type.dtype) : 2.0;
  }

  void need(Value value, std::vector<Index> at, Guard guard = {}) {
    Points& points = needs_[value];
    const auto same = std::ranges::find(points, at, &Point::at);
    if (same == points.end()) return points.push_back({std::move(at), {std::move(guard)}});
    std::vector<Guard>& guards = same->guards;
    if (std::ranges::any_of(guards, [&](const Guard& weak) { return implies(guard, weak); })) return;
    std::erase_if(guards, [&](const Guard& strong) { return implies(strong, guard); });
    guards.push_back(std::move(guard));
  }

  /// Needs what the value is made from, at each of these points.
  void expand(Value value, const Points& points) {
    const Node& node = graph_[value];
    for (Value input : node.inputs) needs_[input];  // a kernel has them all, though no point may need one
    for (const Point& point : points) {
      for (const Guard& guard : point.guards) expand(value, point.at, guard);
    }
  }

  void expand(Value value, const std::vector<Index>& at, const Guard& guard) {
    const Node& node = graph_[value];
    auto data = [&](size_t operand, const std::vector<Index>& index, int64_t) {
      need(node.inputs[operand], index, guard);
      return static_cast<ValueId>(data_ids_++);
    };
    for (ElementRead& read : reads_of(graph_, value, at, guard, extents(), data)) {
      need(node.inputs[read.operand], std::move(read.index), both(guard, read.guard));
    }
  }

  void visit(Value value, const Points& points) {
    const Node& node = graph_[value];
    if (is_inline_constant(node) || node.op == Op::iota) return;
    if (is_view(node.op)) return expand(value, points);
    if (node.op == Op::parameter || node.op == Op::constant) return read(value, points);
    const ValueState& value_state = state_[value];
    if (value_state.writes >= kMaxWrites) return read_from_memory(value, points);
    if (is_inside(value_state.group)) return use_member(value, value_state, points);
    if (group_.arrays.count(value) != 0) return read_from_memory(value, points);
    if (group_.recomputed.count(value) != 0) return recompute(value, points);
    if (can_merge(value, value_state, points)) {
      joining_.merged.push_back(value_state.group);
      const Group& other = state_.groups[static_cast<size_t>(value_state.group)];
      joining_.cost += other.cost;
      if (other.domain.has_sweep) joining_.domain = other.domain;
      return use_member(value, value_state, points);
    }
    if (kept_apart_.count(value) == 0 && pays_to_recompute(value, points)) return recompute(value, points);
    read_from_memory(value, points);
  }

  void read_from_memory(Value value, const Points& points) {
    const int group = state_[value].group;
    const std::string name(name_of(graph_[value].op));
    if (is_inside(group))
      return refuse("it reads " + name + ", which is the result of many writes, from memory");
    if (state_.groups[static_cast<size_t>(group)].order >= group_.order)
      return refuse("it needs " + name + ", which runs later");
    joining_.stored.push_back(value);
    read(value, points);
  }

  bool is_inside(int group) const {
    return group >= 0 &&
           (&state_.groups[static_cast<size_t>(group)] == &group_ ||
            std::find(joining_.merged.begin(), joining_.merged.end(), group) != joining_.merged.end());
  }

  /// A value the group computes: in a register when it is wanted at the point at hand, computed again when at
  /// another.
  void use_member(Value value, const ValueState& value_state, const Points& points) {
    const Node& node = graph_[value];
    const std::vector<Index> home = home_index(joining_.domain, node.type.shape, value_state.is_row);
    Points elsewhere;
    for (const Point& point : points) {
      if (point.at == home) {
        const int after = value_state.is_row ? value_state.sweep + 1 : value_state.sweep;
        needs_sweep(joining_.is_row && !sweeps(graph_[value_]) ? value_state.sweep : after);
      } else {
        elsewhere.push_back(point);
      }
    }
    joining_.expression_cost += value_state.expression_cost;
    if (elsewhere.empty()) return;
    if (!is_pointwise(node.op)) {
      return refuse("it reads " + std::string(name_of(node.op)) +
                    " at other points than the kernel computes");
    }
    if (!pays_to_recompute(value, elsewhere)) {
      return refuse("computing " + std::string(name_of(node.op)) + " again costs more than storing it");
    }
    recompute(value, elsewhere);
  }

  void needs_sweep(int sweep) { joining_.sweep = std::max(joining_.sweep, sweep); }

  void recompute(Value value, const Points& points) {
    joining_.recomputed.push_back(value);
    joining_.cost += recomputation_cost(value, pieces_of_code(points));
    joining_.expression_cost += recomputation_cost(value, points.size());
    check_size();
    if (joining_.allowed()) expand(value, points);
  }

  /// What goes into a scatter is visited value by value, each once for all that read it at the same point.
  double recomputation_cost(Value value, size_t times) const {
    const Node& node = graph_[value];
    const double own = space_ ? op_cost(node, node.type.dtype) : state_[value].expression_cost;
    return own * static_cast<double>(times);
  }

  static size_t pieces_of_code(const Points& points) {
    size_t pieces = 0;
    for (const Point& point : points) pieces += point.guards.size();
    return pieces;
  }

  bool pays_to_recompute(Value value, const Points& points) const {
    const ValueState& value_state = state_[value];
    if (!state_.options.fuse || !is_pointwise(graph_[value].op) || value_state.has_many_pieces) return false;
    if (rules::only_checks(graph_, graph_[value])) return false;
    Recomputation recomputation{.cost_per_element = value_state.expression_cost,
                                .evaluations = 0,
                                .per_point = static_cast<int64_t>(points.size()),
                                .type = graph_.type_of(value),
                                .stored_anyway = value_state.stored,
                                .repeated_cost = repeated_cost(value)};
    const double cost = recomputation_cost(value, pieces_of_code(points));
    if (group_.cost + joining_.cost + cost > kMaxKernelCost) return false;
    for (const Point& point : points) recomputation.evaluations += evaluations(point.at);
    return worth_recomputing(recomputation, state_.options);
  }

  /// What of the cost of one element other groups spend, too, to have what they need themselves.
  double repeated_cost(Value value) const {
    constexpr size_t kFarEnough = 64;
    double cost = 0;
    std::set<Value> seen;
    std::vector<Value> work{value};
    while (!work.empty() && seen.size() < kFarEnough) {
      const Value next = work.back();
      work.pop_back();
      const bool is_free =
          state_[next].stored || !(is_pointwise(graph_[next].op) || is_view(graph_[next].op));
      if (is_free || group_.recomputed.count(next) != 0 || !seen.insert(next).second) continue;
      if (state_[next].recomputed || is_computed_anyway(next)) {
        cost += state_[next].expression_cost;
      } else {
        work.insert(work.end(), graph_[next].inputs.begin(), graph_[next].inputs.end());
      }
    }
    return std::min(cost, state_[value].expression_cost);
  }

  bool is_computed_anyway(Value value) const {
    const int group = state_[value].group;
    return group >= 0 && state_.groups[static_cast<size_t>(group)].is_read;
  }

  /// How often code at this index runs: once per point, but not again in the innermost loops that it does not
  /// depend on. An index that is data is another one at every point.
  int64_t evaluations(const std::vector<Index>& at) const {
    const Shape& shape = space();
    std::vector<bool> used(shape.size(), false);
    bool is_data = false;
    for (const Index& index : at) {
      for_each_variable(index, [&](LoopVar var) { used[static_cast<size_t>(var)] = true; });
      for_each_value(index, [&](ValueId) { is_data = true; });
    }
    if (is_data && space_) return element_count(graph_.type_of(graph_[value_].inputs[2]).shape);
    if (is_data) return element_count(shape);
    if (space_) return count_used(shape, used);
    size_t depth = shape.size();
    while (depth > 0 && !used[depth - 1]) --depth;
    int64_t count = 1;
    for (size_t axis = 0; axis < depth; ++axis) count *= shape[axis];
    return count;
  }

  static int64_t count_used(const Shape& shape, const std::vector<bool>& used) {
    int64_t count = 1;
    for (size_t axis = 0; axis < shape.size(); ++axis) count *= used[axis] ? shape[axis] : 1;
    return count;
  }

  /// Whether the whole group that has the value can become part of this one.
  bool can_merge(Value value, const ValueState& value_state, const Points& points) const {
    const Group& other = state_.groups[static_cast<size_t>(value_state.group)];
    if (!may_merge_ || !may_share(state_, value_, other)) return false;
    if (other.closed || group_.closed || other.order >= group_.order || other.first_reader <= group_.order)
      return false;
    if (other.domain.extents != joining_.domain.extents) return false;
    if (reads_from(value_state.group)) return false;  // at points that it does not compute: from memory
    if (other.product && group_.product) return false;
    if ((other.product && (scans(graph_[value_]) || has_scan(group_))) || (group_.product && has_scan(other)))
      return false;
    const Group& with_product = other.product ? other : group_;
    const Domain& swept = other.domain.has_sweep ? other.domain : joining_.domain;
    if (with_product.product && swept.has_sweep && !swept.sweeps_within_last(with_product.columns))
      return false;
    if (other.domain.has_sweep && joining_.domain.has_sweep && other.domain.swept != joining_.domain.swept)
      return false;
    if (group_.cost + joining_.cost + other.cost > kMaxKernelCost) return false;
    const Domain& domain = other.domain.has_sweep ? other.domain : joining_.domain;
    const std::vector<Index> home = home_index(domain, graph_.type_of(value).shape, value_state.is_row);
    return points.size() == 1 && points[0].at == home;
  }

  bool reads_from(int group) const {
    return std::any_of(joining_.stored.begin(), joining_.stored.end(),
                       [&](Value stored) { return state_[stored].group == group; });
  }

  bool has_scan(const Group& group) const {
    return std::any_of(group.members.begin(), group.members.end(),
                       [&](Value member) { return scans(graph_[member]); });
  }

  void read(Value value, const Points& points) {
    joining_.arrays.push_back(value);
    const Shape& shape = graph_.type_of(value).shape;
    if (!is_full(joining_.domain, shape)) return;
    const std::vector<Index> home = full_index(joining_.domain, shape);
    if (std::ranges::find(points, home, &Point::at) != points.end()) joining_.read_in_step.push_back(value);
  }

  /// A kernel of its own is always possible.
  bool is_alone() const { return group_.members.empty() && joining_.merged.empty(); }

  void check_size() {
    if (!is_alone() && group_.cost + joining_.cost > kMaxKernelCost)
      refuse("the kernel would grow too large to compile quickly");
  }

  void check_limits() {
    if (is_alone()) return;
    check_size();
    size_t sweeping = group_.sweeps + (sweeps(graph_[value_]) ? 1 : 0);
    for (int merged : joining_.merged) sweeping += state_.groups[static_cast<size_t>(merged)].sweeps;
    if (sweeping > kMaxKernelSweeps)
      return refuse("the kernel would reduce more values than there are registers");
    size_t arrays = group_.arrays.size();
    for (Value array : joining_.arrays) arrays += group_.arrays.count(array) == 0 ? 1 : 0;
    if (arrays > kMaxKernelArrays) return refuse("the kernel would read and write too many arrays at once");
    if (joining_.domain.has_sweep && !leaves_rows_to_threads()) {
      return refuse("it reduces all columns of a product, which threads share");
    }
    const bool sweeps_again = joining_.sweep > 0 && (!joining_.is_row || sweeps(graph_[value_]));
    if (sweeps_again && !worth_sweeping_rows_again(joining_.domain)) {
      const int64_t rows = element_count(joining_.domain.row_extents());
      return refuse("it needs the finished reduction, and " + to_string(joining_.domain.extents) +
                    " reduces to only " + (rows == 1 ? "one result" : std::to_string(rows) + " results") +
                    ": too few to give each to one thread");
    }
  }

  /// Whether threads still have something to share when each row of a product, if there is one, is one task.
  bool leaves_rows_to_threads() const {
    std::optional<Value> product = group_.product;
    for (int merged : joining_.merged) {
      if (!product) product = state_.groups[static_cast<size_t>(merged)].product;
    }
    if (!product) return true;
    const TensorType& lhs = graph_.type_of(graph_[*product].inputs[0]);
    int64_t terms = 1;  // of each element
    for (int64_t axis : graph_[*product].attributes.ints(Attr::lhs_contract))
      terms *= lhs.shape[static_cast<size_t>(axis)];
    return worth_reducing_rows(joining_.domain, terms);
  }

  const Groups& state_;
  const Graph& graph_;
  const Group& group_;
  Value value_;
  bool may_merge_;
  std::optional<Shape> space_;
  Joining joining_;
  std::map<Value, Points, std::greater<>> needs_;
  std::set<Value> kept_apart_;
  uint32_t data_ids_ = 0;
};

}  // namespace

Domain own_domain(const Graph& graph, Value value) {
  const Node& node = graph[value];
  Domain domain;
  domain.extents = without_ones(sweeps(node) ? graph.type_of(node.inputs[0]).shape : node.type.shape);
  domain.swept.assign(domain.extents.size(), false);
  return domain;
}

Joining examine_joining(const Groups& state, Value value, const Group& group) {
  Joining joining = Examination(state, value, group, true).run();
  if (joining.allowed() || joining.merged.empty()) return joining;
  return Examination(state, value, group, false).run();
}

}  // namespace tokamak
