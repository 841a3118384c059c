#include "passes/eliminate_common.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "passes/commute.h"

namespace tokamak {
namespace {

void mix(size_t& hash, size_t more) { hash = (hash ^ more) * 0x9e3779b97f4a7c15 + (hash >> 29); }

void mix_value(size_t& hash, int64_t value) { mix(hash, static_cast<size_t>(value)); }
void mix_value(size_t& hash, DType dtype) { mix(hash, static_cast<size_t>(dtype)); }
void mix_value(size_t& hash, Word word) { mix(hash, static_cast<size_t>(word)); }
void mix_value(size_t& hash, const Ints& values) {
  mix(hash, values.size());
  for (int64_t value : values) mix(hash, static_cast<size_t>(value));
}
void mix_value(size_t& hash, const Tensor& tensor) {
  mix_value(hash, tensor.type().dtype);
  mix_value(hash, tensor.type().shape);
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()), tensor.byte_size());
  mix(hash, std::hash<std::string_view>()(bytes));
}

size_t hash_of(Op op, const std::vector<Value>& inputs, const Attributes& attributes) {
  size_t hash = static_cast<size_t>(op);
  for (Value input : inputs) mix(hash, index_of(input));
  for (const auto& [name, value] : attributes.entries()) {
    mix(hash, static_cast<size_t>(name));
    std::visit([&hash](const auto& held) { mix_value(hash, held); }, value);
  }
  return hash;
}

}  // namespace

Graph eliminate_common(const Graph& graph) {
  GraphRewriter rewriter(graph);
  const Graph& made = rewriter.graph();
  std::unordered_multimap<size_t, Value> seen;
  seen.reserve(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const Value value = static_cast<Value>(i);
    const Node& node = graph[value];
    if (node.op == Op::parameter) continue;
    std::vector<Value> inputs = rewriter(std::span<const Value>(node.inputs));
    const bool swaps = inputs.size() == 2 && commutes(node.op, graph.type_of(node.inputs[0]).dtype);
    if (swaps && inputs[1] < inputs[0]) std::swap(inputs[0], inputs[1]);

    const size_t hash = hash_of(node.op, inputs, node.attributes);
    const auto [begin, end] = seen.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      const Node& other = made[entry.second];
      if (other.op != node.op || other.attributes != node.attributes) return false;
      return other.inputs == inputs ||
             (swaps && other.inputs[0] == inputs[1] && other.inputs[1] == inputs[0]);
    });
    if (same != end) {
      rewriter.map(value, same->second);
    } else {
      seen.emplace(hash, rewriter.copy(value));
    }
  }
  return rewriter.finish();
}

}  // namespace tokamak
