#include "fusion/extract.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "fusion/product.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

/// Cuts one kernel out of the graph.
class Extraction {
 public:
  Extraction(const Groups& state, int group, std::vector<Value> outputs)
      : state_(state), group_(group), outputs_(std::move(outputs)) {
    const std::optional<Value> product = state.groups[static_cast<size_t>(group)].product;
    for (size_t operand = 0; product && operand < 2; ++operand) {
      const Value array = read_of_operand(state.graph, *product, operand).array;
      operands_.insert(array);
      Value value = *product;
      for (size_t input = operand; value != array; input = 0) {
        on_the_way_.insert({value, input});
        value = state.graph[value].inputs[input];
      }
    }
    const std::optional<Value> sort = state.groups[static_cast<size_t>(group)].sort;
    if (sort) operands_.insert(read_of_sorted(state.graph, *sort).array);
  }

  FusedKernel run() {
    const Group& group = state_.groups[static_cast<size_t>(group_)];
    std::set<Value> seen(outputs_.begin(), outputs_.end());
    std::vector<Value> work(outputs_.begin(), outputs_.end());
    while (!work.empty()) {
      const Value value = work.back();
      work.pop_back();
      if (is_read(value)) continue;
      for (Value input : state_.graph[value].inputs) {
        if (seen.insert(input).second) work.push_back(input);
      }
    }
    FusedKernel kernel;
    std::unordered_map<uint32_t, Value> mapping;
    for (Value value : seen) {
      if (!is_read(value)) continue;
      mapping[static_cast<uint32_t>(value)] = kernel.body.add_parameter(
          "a" + std::to_string(kernel.inputs.size()), state_.graph.type_of(value), state_.graph[value].where);
      kernel.inputs.push_back(value);
      kernel.constant.push_back(state_.graph[value].op == Op::constant);
    }
    for (Value value : seen) {
      if (is_read(value)) continue;
      const Value made = copy(value, mapping, kernel);
      mapping[static_cast<uint32_t>(value)] = made;
      kernel.members.push_back(value);
      if (kernel.body[made].op == Op::constant) kernel.numbers.push_back({made, value});
    }
    std::vector<Value> results;
    for (Value output : outputs_) {
      results.push_back(mapping.at(static_cast<uint32_t>(output)));
      kernel.permuted.push_back(group.permuted.count(output) != 0);
    }
    kernel.body.set_outputs(std::move(results));
    kernel.outputs = outputs_;
    kernel.name = kernel_name(kernel);
    kernel.body.rename(kernel.name);
    kernel.domain = domain_of(group, seen);
    if (group.product && seen.count(*group.product) != 0) {
      kernel.product = mapping.at(static_cast<uint32_t>(*group.product));
      kernel.columns = group.columns;
    }
    if (group.sort) kernel.sort = mapping.at(static_cast<uint32_t>(*group.sort));
    return kernel;
  }

 private:
  /// Whether the kernel reads the value from memory.
  bool is_read(Value value) const {
    const Node& node = state_.graph[value];
    // The operands of a product are in memory, also for what would rather compute them again.
    if (node.op == Op::parameter || operands_.count(value) != 0) return true;
    const Group& group = state_.groups[static_cast<size_t>(group_)];
    if (node.op == Op::constant) return !is_inline_constant(node);
    if (!is_computed(node)) return false;
    return state_[value].group != group_ && group.recomputed.count(value) == 0;
  }

  Value copy(Value value, const std::unordered_map<uint32_t, Value>& mapping, FusedKernel& kernel) {
    const Node& node = state_.graph[value];
    std::vector<Value> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value input = node.inputs[i];
      const bool is_number = is_inline_constant(state_.graph[input]) && operands_.count(input) != 0 &&
                             on_the_way_.count({value, i}) == 0;
      inputs.push_back(is_number ? number(input, kernel) : mapping.at(static_cast<uint32_t>(input)));
    }
    return kernel.body.add_copy(state_.graph, node, std::move(inputs));
  }

  /// A number that is an operand of the product, too, and in memory for that.
  Value number(Value constant, FusedKernel& kernel) {
    const auto [known, is_new] = numbers_.try_emplace(static_cast<uint32_t>(constant));
    if (is_new) {
      known->second = kernel.body.add_copy(state_.graph, state_.graph[constant], {});
      kernel.numbers.push_back({known->second, constant});
    }
    return known->second;
  }

  /// Members that turned out not to be needed may have been the ones that sweep.
  Domain domain_of(const Group& group, const std::set<Value>& seen) const {
    Domain domain = group.domain;
    domain.has_sweep = std::any_of(seen.begin(), seen.end(), [&](Value value) {
      return !is_read(value) && sweeps(state_.graph[value]);
    });
    const bool all_full = std::all_of(outputs_.begin(), outputs_.end(), [&](Value output) {
      return group.permuted.count(output) != 0 || is_full(domain, state_.graph.type_of(output).shape);
    });
    if (!domain.has_sweep && all_full) domain.swept.assign(domain.extents.size(), false);
    domain.has_sweep = domain.has_sweep || !all_full;
    return domain;
  }

  const Groups& state_;
  int group_;
  std::vector<Value> outputs_;
  std::set<Value> operands_;
  std::set<std::pair<Value, size_t>> on_the_way_;  ///< from the product to them: nodes, and which input it is
  std::unordered_map<uint32_t, Value> numbers_;
};

}  // namespace

std::vector<FusedKernel> extract_kernels(const Groups& state, std::span<const Value> roots) {
  std::vector<std::set<Value>> needed(state.groups.size());
  for (Value root : roots) needed[static_cast<size_t>(state[root].group)].insert(root);
  std::vector<FusedKernel> kernels;
  for (size_t group = state.groups.size(); group-- > 0;) {  // readers run after what they read
    if (needed[group].empty()) continue;
    FusedKernel kernel =
        Extraction(state, static_cast<int>(group), {needed[group].begin(), needed[group].end()}).run();
    for (Value input : kernel.inputs) {
      if (state[input].group >= 0) needed[static_cast<size_t>(state[input].group)].insert(input);
    }
    kernels.push_back(std::move(kernel));
  }
  std::reverse(kernels.begin(), kernels.end());
  return kernels;
}

}  // namespace tokamak
