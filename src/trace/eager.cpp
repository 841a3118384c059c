#include "trace/eager.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "driver/compile.h"
#include "interp/interpreter.h"
#include "support/cpu.h"
#include "trace/array_impl.h"
#include "trace/execute.h"
#include "trace/program_cache.h"
#include "trace/trace.h"
#include "trace/views.h"

namespace tokamak {
namespace {

constexpr size_t kProgramsPerOp = 128;

/// The interpreter is done with this many elements before code could be made.
constexpr int64_t kSoonerInterpreted = int64_t{1} << 18;

struct EagerKey {
  Attributes attributes;
  std::vector<TensorType> types;
  std::vector<Layout> layouts;
  Checks checks = current_checks();

  bool matches(std::span<const Array> inputs, const Attributes& others) const {
    if (types.size() != inputs.size() || !(attributes == others) || checks != current_checks()) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ArrayImpl& input = inputs[i].impl();
      if (!(types[i] == input.type()) || !(layouts[i] == input.memory()->layout)) return false;
    }
    return true;
  }
};
using EagerCache = ProgramCache<EagerKey, Program>;

/// The programs of one op. Lives until the process ends: arrays may outlive static objects.
EagerCache& cache_of(Op op) {
  static auto* caches = [] {
    auto* made = new std::vector<std::unique_ptr<EagerCache>>;
    for (size_t i = 0; i < kOpCount; ++i) made->push_back(std::make_unique<EagerCache>(kProgramsPerOp));
    return made;
  }();
  return *(*caches)[static_cast<size_t>(op)];
}

EagerKey key_of(std::span<const Array> inputs, const Attributes& attributes) {
  EagerKey key;
  key.attributes = attributes;
  for (const Array& input : inputs) {
    key.types.push_back(input.type());
    key.layouts.push_back(input.impl().memory()->layout);
  }
  return key;
}

std::shared_ptr<const Program> compile_one(Op op, const EagerKey& key) {
  Graph graph{std::string(name_of(op))};
  std::vector<Value> operands;
  for (size_t i = 0; i < key.types.size(); ++i) {
    operands.push_back(graph.add_parameter("x" + std::to_string(i), key.types[i]));
  }
  graph.set_outputs({graph.add(op, std::move(operands), key.attributes)});
  return compile(graph, key.layouts).program;
}

/// Whether the interpreter is done before code for it could be made. While a function is traced, what it
/// computes of constants is computed once; elsewhere the same is mostly done again.
bool is_sooner_interpreted(Op op, std::span<const Array> inputs, const TensorType& result) {
  if (Trace::current() == nullptr || op == Op::dot || current_checks().any()) return false;
  int64_t work = result.elements();
  for (const Array& input : inputs) work += input.size();
  return work <= kSoonerInterpreted;
}

Array interpreted(Op op, std::span<const Array> inputs, const Attributes& attributes, TensorType result) {
  std::vector<Tensor> operands;
  operands.reserve(inputs.size());
  for (const Array& input : inputs) operands.push_back(tensor_of(input));
  const Node node{op, std::move(result), {}, attributes, {}};
  return array_of(interpret_node(node, operands, current_cpu().fma));
}

}  // namespace

Array run_eagerly(Op op, std::span<const Array> inputs, const Attributes& attributes,
                  const std::source_location& where) {
  const std::string name(name_of(op));
  for (const Array& input : inputs) memory_of(input, name.c_str(), where);
  return with_user_line(where, [&]() -> Array {
    if (op == Op::constant) return array_of(attributes.tensor(Attr::value));
    std::vector<TensorType> types;
    for (const Array& input : inputs) types.push_back(input.type());
    TensorType result = infer_type(op, types, attributes, {});
    if (family_of(op) == OpFamily::View) return view_of(op, inputs[0], attributes, std::move(result));
    if (is_sooner_interpreted(op, inputs, result))
      return interpreted(op, inputs, attributes, std::move(result));
    auto program =
        cache_of(op).get([&](const EagerKey& key) { return key.matches(inputs, attributes); },
                         [&] { return key_of(inputs, attributes); },
                         [&] { return compile_one(op, key_of(inputs, attributes)); },
                         [&] { throw InternalError(name + ": compiling it needs its own result"); });
    return run_program(*program, inputs, name, where)[0];
  });
}

}  // namespace tokamak
