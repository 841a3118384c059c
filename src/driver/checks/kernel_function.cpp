#include "driver/checks/kernel_function.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tokamak {
namespace {

bool has(const std::vector<KernelMemory::Placed>& values, Value value) {
  return std::ranges::find(values, value, &KernelMemory::Placed::value) != values.end();
}

/// What the kernel writes and reads again, it has computed; but a parameter that it copies.
bool is_given(const Graph& graph, const KernelMemory& memory, Value value) {
  return has(memory.reads, value) && (graph[value].op == Op::parameter || !has(memory.writes, value));
}

/// What the kernel has to compute, in the order of the graph.
std::vector<Value> values_computed(const Graph& graph, const KernelMemory& memory) {
  std::set<Value> found;
  std::vector<Value> open;
  auto need = [&](Value value) {
    if (!is_given(graph, memory, value) && found.insert(value).second) open.push_back(value);
  };
  for (const KernelMemory::Placed& write : memory.writes) need(write.value);
  while (!open.empty()) {
    const Value value = open.back();
    open.pop_back();
    for (Value input : graph[value].inputs) need(input);
  }
  return {found.begin(), found.end()};
}

}  // namespace

Graph kernel_function(const Graph& graph, const FusedKernel& kernel, const KernelMemory& memory) {
  Graph made(kernel.name);
  std::unordered_map<Value, Value> mapped;
  for (const KernelMemory::Placed& read : memory.reads) {
    const Node& node = graph[read.value];
    const Value parameter =
        made.add_parameter("x" + std::to_string(made.parameters().size()), node.type, node.where);
    if (is_given(graph, memory, read.value)) mapped.emplace(read.value, parameter);
  }
  for (Value value : values_computed(graph, memory)) {
    std::vector<Value> inputs;
    for (Value input : graph[value].inputs) inputs.push_back(mapped.at(input));
    mapped.emplace(value, made.add_copy(graph, graph[value], std::move(inputs)));
  }
  std::vector<Value> outputs;
  for (const KernelMemory::Placed& write : memory.writes) outputs.push_back(mapped.at(write.value));
  made.set_outputs(std::move(outputs));
  return made;
}

}  // namespace tokamak
