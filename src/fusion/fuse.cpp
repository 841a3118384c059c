#include "fusion/fuse.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "fusion/cost.h"
#include "fusion/extract.h"
#include "fusion/groups.h"
#include "fusion/legality.h"
#include "fusion/product.h"
#include "ops/contract.h"
#include "ops/index.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const FusionOptions& options) : state_{graph, options, {}, {}, {}} {
    state_.values.resize(graph.size());
    readers_.resize(graph.size());
    for (size_t i = graph.size(); i-- > 0;) {  // readers come after what they read
      const Node& node = graph[static_cast<Value>(i)];
      for (Value input : node.inputs) readers_[index_of(input)] += is_view(node.op) ? readers_[i] : 1;
    }
  }

  FusionResult run() {
    const Graph& graph = state_.graph;
    std::vector<Value> roots;
    for (Value output : graph.outputs()) {
      const Value stored = stored_value(graph, output);
      roots.push_back(stored);
      state_[stored].stored = true;
    }
    if (state_.options.keep_dead) add_dead(roots);
    for (size_t i = 0; i < graph.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (is_computed(graph[value])) place(value);
    }
    // Outputs that no operation computes (a parameter, a view of one) are copied by kernels of their own.
    for (Value root : roots) {
      if (!is_computed(graph[root]) && state_[root].group < 0) place(root);
    }
    result_.kernels = extract_kernels(state_, roots);
    report_refusals();
    if (state_.options.fuse) chain_products(graph, result_.kernels, state_.options.l2_bytes);
    return std::move(result_);
  }

 private:
  /// Makes roots of all that no root needs.
  void add_dead(std::vector<Value>& roots) {
    const Graph& graph = state_.graph;
    std::vector<bool> needed(graph.size());
    for (Value root : roots) needed[index_of(root)] = true;
    for (size_t i = graph.size(); i-- > 0;) {  // operands come before what reads them
      if (!needed[i]) continue;
      for (Value input : graph[static_cast<Value>(i)].inputs) needed[index_of(input)] = true;
    }
    for (size_t i = 0; i < graph.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (needed[i] || !is_computed(graph[value]) || is_part_of_another(value)) continue;
      roots.push_back(value);
      state_[value].stored = true;
    }
  }

  bool is_part_of_another(Value value) const {
    const auto& made_for = state_.options.made_for;
    return !made_for.empty() && made_for[index_of(value)].has_value();
  }

  void place(Value value) {
    std::vector<std::pair<int, std::string>> refusals;
    const Node& node = state_.graph[value];
    if (node.op == Op::dot) copy_operands(value);
    if (sorts(node)) copy_unless_stored(read_of_sorted(state_.graph, value).array);
    const bool is_alone = node.op == Op::scatter || sorts(node) || rules::only_checks(state_.graph, node);
    if (!is_alone && node.op != Op::dot) {
      for (int candidate : candidates(value)) {
        if (!may_share(state_, value, state_.groups[static_cast<size_t>(candidate)])) continue;
        const Joining joining = examine_joining(state_, value, state_.groups[static_cast<size_t>(candidate)]);
        if (joining.allowed()) return join(value, candidate, joining);
        refusals.emplace_back(candidate, joining.refusal);
      }
    }
    Group fresh;
    fresh.order = static_cast<int>(state_.groups.size());
    fresh.domain = own_domain(state_.graph, value);
    fresh.closed = is_alone || (node.op == Op::dot &&
                                (is_mirrored(state_.graph, value) || is_deep_with_computed_operand(value)));
    if (sorts(node)) fresh.sort = value;
    if (node.op == Op::dot) {
      fresh.product = value;
      fresh.columns = product_columns(value);
    }
    state_.groups.push_back(std::move(fresh));
    const Joining joining = examine_joining(state_, value, state_.groups.back());
    if (!joining.allowed()) {
      throw InternalError("fusion: a kernel of its own was refused: " + joining.refusal,
                          state_.graph[value].where);
    }
    // A refusal matters when something now goes through memory that would not have.
    for (const auto& [group, reason] : refusals) {
      for (Value stored : joining.stored) {
        if (state_[stored].group == group) refusals_.push_back({stored, value, reason});
      }
    }
    join(value, static_cast<int>(state_.groups.size()) - 1, joining);
  }

  /// Operands that are no array yet, nor an affine view of one, are written to memory first.
  void copy_operands(Value dot) {
    for (size_t operand : {0, 1}) copy_unless_stored(read_of_operand(state_.graph, dot, operand).array);
  }

  void copy_unless_stored(Value array) {
    if (needs_copy(state_.graph[array]) && state_[array].group < 0) place(array);
  }

  bool is_deep_with_computed_operand(Value dot) const {
    return can_be_made_in_steps(state_.graph, dot) &&
           std::ranges::any_of(std::array<size_t, 2>{0, 1}, [&](size_t operand) {
             return may_be_made_in_steps(read_of_operand(state_.graph, dot, operand));
           });
  }

  /// Whether an operand is computed, and of no step of k need others be known first.
  bool may_be_made_in_steps(const OperandRead& read) const {
    if (state_[read.array].group < 0) return false;
    const Group& group = state_.groups[static_cast<size_t>(state_[read.array].group)];
    const Shape& shape = state_.graph.type_of(read.array).shape;
    if (group.product || !is_full(group.domain, shape)) return false;
    size_t of_domain = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 1) continue;
      if (read.contracted[0].coefficients[axis] != 0 && group.domain.swept[of_domain]) return false;
      ++of_domain;
    }
    return true;
  }

  /// The axes of a product's domain that come from its second operand.
  size_t product_columns(Value dot) const {
    const Node& node = state_.graph[dot];
    const TensorType& rhs = state_.graph.type_of(node.inputs[1]);
    const DotAxes axes = dot_axes(node.attributes, state_.graph.type_of(node.inputs[0]).rank(), rhs.rank());
    size_t columns = 0;
    for (int64_t axis : axes.rhs_free) columns += rhs.shape[static_cast<size_t>(axis)] != 1 ? 1 : 0;
    return columns;
  }

  /// Those that matter: some kernel does compute the reader.
  void report_refusals() {
    std::set<int> made;
    for (const FusedKernel& kernel : result_.kernels) {
      for (Value output : kernel.outputs) made.insert(state_[output].group);
    }
    std::map<std::tuple<std::string, std::string, std::string>, size_t> known;  // where each is in the result
    for (const Refusal& refusal : refusals_) {
      if (made.count(state_[refusal.reader].group) == 0) continue;
      const std::string producer(name_of(state_.graph[refusal.read].op));
      const std::string consumer(name_of(state_.graph[refusal.reader].op));
      const auto [place, is_new] =
          known.try_emplace({producer, consumer, refusal.reason}, result_.refused.size());
      if (is_new) {
        result_.refused.push_back({.producer = producer,
                                   .consumer = consumer,
                                   .reason = refusal.reason,
                                   .producer_operation = static_cast<int>(index_of(refusal.read)),
                                   .consumer_operation = static_cast<int>(index_of(refusal.reader)),
                                   .line = state_.graph[refusal.reader].where});
      } else {
        ++result_.refused[place->second].times;
      }
    }
  }

  /// The groups of the values it reads, through views, and everything it reads that may be in memory.
  std::vector<int> producers(Value value, std::vector<Value>& arrays) const {
    std::vector<int> found;
    std::vector<Value> work = state_.graph[value].inputs;
    if (!is_computed(state_.graph[value])) work = {value};
    while (!work.empty()) {
      const Value input = work.back();
      work.pop_back();
      const Node& node = state_.graph[input];
      if (is_view(node.op)) {
        work.push_back(node.inputs[0]);
      } else if (state_[input].group >= 0) {
        found.push_back(state_[input].group);
        arrays.push_back(input);
      } else if (!is_inline_constant(node)) {
        arrays.push_back(input);
      }
    }
    return found;
  }

  /// The latest producer, then groups that are not earlier and read the same data.
  std::vector<int> candidates(Value value) const {
    std::vector<Value> arrays;
    const std::vector<int> producing = producers(value, arrays);
    std::vector<int> found;
    const int latest = producing.empty() ? -1 : *std::max_element(producing.begin(), producing.end());
    if (latest >= 0) found.push_back(latest);
    for (Value array : arrays) {
      auto entry = state_.last_reader.find(static_cast<uint32_t>(array));
      if (entry == state_.last_reader.end()) continue;
      int reader = entry->second;
      while (state_.groups[static_cast<size_t>(reader)].merged_into >= 0) {
        reader = state_.groups[static_cast<size_t>(reader)].merged_into;
      }
      if (reader < latest) continue;
      if (std::find(found.begin(), found.end(), reader) == found.end()) found.push_back(reader);
    }
    return found;
  }

  void join(Value value, int group_id, const Joining& joining) {
    for (int merged : joining.merged) merge(merged, group_id);
    Group& group = state_.groups[static_cast<size_t>(group_id)];
    group.domain = joining.domain;
    group.members.push_back(value);
    if (sweeps(state_.graph[value])) ++group.sweeps;
    if (joining.is_permuted) group.permuted.insert(value);
    group.recomputed.insert(joining.recomputed.begin(), joining.recomputed.end());
    for (Value again : joining.recomputed) {
      if (state_[again].group != group_id) state_[again].recomputed = true;
    }
    group.arrays.insert(joining.arrays.begin(), joining.arrays.end());
    for (Value array : group.arrays) {
      if (state_[array].group != group_id) group.recomputed.erase(array);
    }
    group.cost += joining.cost;
    for (Value stored : joining.stored) {
      state_[stored].stored = true;
      Group& source = state_.groups[static_cast<size_t>(state_[stored].group)];
      source.first_reader = std::min(source.first_reader, group.order);
      source.is_read = true;
    }
    for (Value array : joining.read_in_step) state_.last_reader[static_cast<uint32_t>(array)] = group_id;

    ValueState& value_state = state_[value];
    value_state.group = group_id;
    group.is_read = group.is_read || value_state.stored;
    value_state.is_row = joining.is_row;
    value_state.sweep = joining.sweep;
    value_state.writes = writes_of(value);
    const size_t pieces = state_.graph[value].op == Op::concatenate ? state_.graph[value].inputs.size() : 0;
    value_state.has_many_pieces = pieces >= rules::kMostPieces ||
                                  (pieces >= kManyPieces && readers_[index_of(value)] >= kSeveralReaders);
    value_state.expression_cost = sweeps(state_.graph[value]) ? 0 : std::min(joining.expression_cost, 1e9);
  }

  /// `select inside, pad(new), old` is a write to old.
  int writes_of(Value value) const {
    const Node& node = state_.graph[value];
    if (node.op != Op::select) return 0;
    for (size_t i : {1, 2}) {
      if (state_.graph[node.inputs[i]].op != Op::pad) continue;
      const ValueState& old = state_[node.inputs[3 - i]];
      return old.writes >= kMaxWrites ? 1 : old.writes + 1;
    }
    return 0;
  }

  void merge(int from, int into) {
    Group& source = state_.groups[static_cast<size_t>(from)];
    Group& target = state_.groups[static_cast<size_t>(into)];
    for (Value member : source.members) state_[member].group = into;
    target.members.insert(target.members.end(), source.members.begin(), source.members.end());
    target.sweeps += source.sweeps;
    target.recomputed.insert(source.recomputed.begin(), source.recomputed.end());
    target.arrays.insert(source.arrays.begin(), source.arrays.end());
    target.permuted.insert(source.permuted.begin(), source.permuted.end());
    if (source.product) {
      target.product = source.product;
      target.columns = source.columns;
    }
    target.first_reader = std::min(target.first_reader, source.first_reader);
    target.is_read = target.is_read || source.is_read;
    const int order = source.order;
    source = Group{};
    source.order = order;
    source.closed = true;
    source.merged_into = into;
  }

  Groups state_;
  std::vector<int> readers_;  ///< by value: how many operations read it, through views too
  FusionResult result_;
  struct Refusal {
    Value read;
    Value reader;
    std::string reason;
  };
  std::vector<Refusal> refusals_;
};

}  // namespace

bool may_share(const Groups& state, Value value, const Group& group) {
  if (state.options.fuse) return true;
  const auto& made_for = state.options.made_for;
  const auto op_of = [&](Value one) { return made_for[index_of(one)].value_or(one); };
  return !made_for.empty() &&
         std::ranges::all_of(group.members, [&](Value member) { return op_of(member) == op_of(value); });
}

Value stored_value(const Graph& graph, Value output) {
  Value value = output;
  while (graph[value].op == Op::reshape) value = graph[value].inputs[0];
  const bool is_turned = graph[value].op == Op::transpose && is_computed(graph[graph[value].inputs[0]]);
  return is_turned || is_computed(graph[value]) ? value : output;
}

FusionResult fuse(const Graph& graph, const FusionOptions& options) { return Fuser(graph, options).run(); }

}  // namespace tokamak
