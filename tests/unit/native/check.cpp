#include "native/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "interp/interpreter.h"
#include "ir/elements.h"
#include "ir/text.h"
#include "native/reference_sums.h"
#include "runtime/buffer_pool.h"
#include "support/cpu.h"

namespace tokamak::testing {
namespace {

constexpr int64_t kFence = 64;
constexpr int kFenceByte = 0x5A;

bool same_element(const Tensor& a, const Tensor& b, int64_t i, bool any_zero) {
  const auto is_zero = [i](const Tensor& x) { return element_as_double(x, i) == 0; };
  return is_same(a, b, i) || (any_zero && is_float(a.type().dtype) && is_zero(a) && is_zero(b));
}

std::string describe(const Case& c, const std::vector<Arranged>& arguments,
                     const std::vector<Arrangement>& arrangements) {
  std::string text = "\n" + print(graph_of(c));
  for (size_t i = 0; i < arguments.size(); ++i)
    text += std::string(name_of(arrangements[i % arrangements.size()])) + " ";
  return text;
}

/// The program for these arguments. The latest one is kept: cases that differ in their elements only come in
/// a row.
std::shared_ptr<const Program> program_for(const Graph& graph, const std::vector<Arranged>& arguments) {
  static std::string latest_graph;
  static std::vector<Layout> latest_layouts;
  static std::shared_ptr<const Program> latest;
  std::vector<Layout> layouts;
  for (const Arranged& argument : arguments) layouts.push_back(argument.layout());
  if (latest == nullptr || print(graph) != latest_graph || layouts != latest_layouts) {
    latest = compile(graph, layouts).program;
    latest_graph = print(graph);
    latest_layouts = layouts;
  }
  return latest;
}

Tensor absolute(const Tensor& x) {
  Graph graph("abs");
  graph.set_outputs({graph.add(Op::abs, {graph.add_parameter("x", x.type())})});
  return interpret(graph, {&x, 1}, true)[0];
}

/// f16 and bf16 are summed in f32 and rounded once.
double rounding_of(DType dtype) {
  if (dtype == DType::f64) return std::numeric_limits<double>::epsilon();
  return std::numeric_limits<float>::epsilon();
}

double last_rounding_of(DType dtype) {
  if (dtype == DType::f16) return 0x1p-11;
  return dtype == DType::bf16 ? 0x1p-8 : 0;
}

/// `exact` is the interpreter's result, which sums in f64.
std::string compare_products(const Case& c, const Tensor& found, const Tensor& exact,
                             const std::vector<Tensor>& operands) {
  const Tensor absolutes[] = {absolute(operands[0]), absolute(operands[1])};
  const Tensor magnitudes = interpret(graph_of(c), absolutes, true)[0];
  double length = 1;
  for (int64_t axis : c.attributes.ints(Attr::lhs_contract))
    length *= static_cast<double>(operands[0].type().shape[static_cast<size_t>(axis)]);
  const DType dtype = found.type().dtype;
  for (int64_t i = 0; i < found.type().elements(); ++i) {
    const double want = element_as_double(exact, i);
    const double bound = rounding_of(dtype) * (4 + length / 4) * element_as_double(magnitudes, i) +
                         2 * last_rounding_of(dtype) * std::abs(want);
    if (std::abs(element_as_double(found, i) - want) <= bound || same_element(found, exact, i, true))
      continue;
    return "element " + std::to_string(i) + " of " + to_string(found.type()) + " is " +
           element_text(found, i) + ", not " + element_text(exact, i);
  }
  return {};
}

}  // namespace

Graph graph_of(const Case& c) {
  Graph graph("f");
  std::vector<Value> inputs;
  for (const Tensor& operand : c.operands)
    inputs.push_back(graph.add_parameter("p" + std::to_string(inputs.size()), operand.type()));
  graph.set_outputs({graph.add(c.op, inputs, c.attributes)});
  return graph;
}

std::vector<Arranged> arrange_all(const std::vector<Tensor>& arguments,
                                  const std::vector<Arrangement>& arrangements) {
  std::vector<Arranged> arranged;
  for (size_t i = 0; i < arguments.size(); ++i)
    arranged.push_back(arrange(arguments[i], arrangements[i % arrangements.size()]));
  return arranged;
}

Compiled compile_for(const Graph& graph, const std::vector<Arranged>& arguments,
                     const CompileOptions& options) {
  std::vector<Layout> layouts;
  for (const Arranged& argument : arguments) layouts.push_back(argument.layout());
  return compile(graph, layouts, options);
}

std::vector<Tensor> run(const Program& program, const std::vector<Arranged>& arguments) {
  std::vector<const void*> inputs;
  std::vector<const int64_t*> strides;
  for (const Arranged& argument : arguments) {
    inputs.push_back(argument.data);
    strides.push_back(argument.strides.data());
  }
  std::vector<Block> blocks;
  std::vector<void*> outputs;
  for (const TensorType& type : program.outputs) {
    blocks.push_back(BufferPool::instance().allocate(type.bytes() + kFence));
    outputs.push_back(blocks.back().data());
    std::memset(outputs.back(), kFenceByte, static_cast<size_t>(type.bytes() + kFence));
  }
  program.run(inputs.data(), strides.data(), outputs.data());
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(Tensor::copy_of(program.outputs[i], outputs[i]));
    const auto* behind = static_cast<const std::byte*>(outputs[i]) + program.outputs[i].bytes();
    if (!std::all_of(behind, behind + kFence, [](std::byte b) { return b == std::byte{kFenceByte}; }))
      throw InternalError("output " + std::to_string(i) + " was written beyond its end");
  }
  return results;
}

Agreement agreement_for(Op op, DType dtype) {
  if (!is_float(dtype)) return Agreement::bits;
  if (op == Op::reduce_max || op == Op::reduce_min) return Agreement::any_zero;
  if (op == Op::dot) return Agreement::products;
  if (op == Op::reduce_sum || op == Op::reduce_prod) return Agreement::rounding;
  return Agreement::bits;
}

std::string compare(const Tensor& found, const Tensor& expected, Agreement agreement) {
  if (found.type() != expected.type())
    return to_string(found.type()) + " instead of " + to_string(expected.type());
  for (int64_t i = 0; i < found.type().elements(); ++i) {
    if (same_element(found, expected, i, agreement == Agreement::any_zero)) continue;
    return "element " + std::to_string(i) + " of " + to_string(found.type()) + " is " +
           element_text(found, i) + ", not " + element_text(expected, i);
  }
  return {};
}

std::string check(const Case& c, const std::vector<Arrangement>& arrangements) {
  const Graph graph = graph_of(c);
  const std::vector<Arranged> arguments = arrange_all(c.operands, arrangements);
  std::vector<Tensor> logical;
  for (const Arranged& argument : arguments) logical.push_back(argument.logical);
  std::string wrong;
  try {
    const Tensor found = run(*program_for(graph, arguments), arguments)[0];
    const Agreement agreement =
        agreement_for(c.op, c.operands.empty() ? DType::i64 : c.operands[0].type().dtype);
    if (agreement == Agreement::rounding) {
      wrong = compare_fold(found, logical[0], c.op, c.attributes.ints(Attr::axes));
    } else {
      const Tensor expected = interpret(graph, logical, current_cpu().fma)[0];
      wrong = agreement == Agreement::products ? compare_products(c, found, expected, logical)
                                               : compare(found, expected, agreement);
    }
  } catch (const Error& error) {
    wrong = error.what();
  }
  return wrong.empty() ? wrong : wrong + describe(c, arguments, arrangements);
}

}  // namespace tokamak::testing
