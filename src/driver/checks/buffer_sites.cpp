#include "driver/checks/buffer_sites.h"

#include <algorithm>

namespace tokamak {
namespace {

/// The line of the first operation of the kernel that reads the value.
SourceLocation line_of_reader(const Graph& graph, const FusedKernel& kernel, Value value) {
  for (Value member : kernel.members) {
    const Node& node = graph[member];
    if (std::ranges::find(node.inputs, value) != node.inputs.end()) return node.where;
  }
  return graph[value].where;
}

}  // namespace

std::vector<BufferSite> buffer_sites(const Graph& graph, const std::vector<std::string>& names,
                                     const FusedKernel& kernel, const LoopKernel& loops,
                                     std::span<const Value> inputs, size_t own) {
  const SourceLocation where = kernel.outputs.empty() ? SourceLocation{} : graph[kernel.outputs[0]].where;
  std::vector<BufferSite> sites;
  for (const Buffer& buffer : loops.buffers) sites.push_back({buffer.name, buffer.type.bytes(), where});
  size_t next = own;
  auto name = [&](Value value, const SourceLocation& line) {
    sites[next++] = {names[index_of(value)], graph.type_of(value).bytes(), line};
  };
  for (Value input : inputs) name(input, line_of_reader(graph, kernel, input));
  for (Value output : kernel.outputs) name(output, graph[output].where);
  return sites;
}

}  // namespace tokamak
