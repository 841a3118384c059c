// tokamak run: the functions of a file, on data made from a seed.

#include <algorithm>
#include <cstring>
#include <iostream>

#include "commands.h"
#include "driver/compile.h"
#include "driver/run.h"
#include "files.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ir/text_literal.h"
#include "passes/pipeline.h"
#include "support/json.h"

namespace tokamak::tool {
namespace {

/// No value of the program may be larger: a short text can ask for any amount of memory.
constexpr int64_t kMaxBytes = int64_t{1} << 32;

constexpr Option kOptions[] = {
    {"--interpret", "", "with the reference interpreter instead of compiled code"},
    {"--no-fuse", "", "compile one kernel per operation"},
    {"--optimize", "", "run the graph passes first"},
    {"--no-fma", "", "interpret as a CPU without fused multiply-add computes"},
    {"--seed", "N", "of the made-up arguments; 0 otherwise"},
    {"--max-elements", "N", "print at most this many of each result; 16 otherwise"},
    {"--with", "NAME",
     "arguments are the results of the function of that name in the file, which takes none"},
    {"--arguments", "", "print the arguments too"},
    {"--json", "", "print JSON instead of text"},
};

/// A small generator with the same numbers everywhere (Steele, Lea and Flood's SplitMix).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

/// Floats from [-2, 2), signed integers from [-8, 8), unsigned ones from [0, 16), bools.
Tensor made_up(const TensorType& type, Random& random) {
  Tensor tensor(type);
  const size_t size = size_of(type.dtype);
  for (int64_t i = 0; i < type.elements(); ++i) {
    Tensor element;
    if (is_float(type.dtype)) {
      element = scalar_tensor(type.dtype, 4 * random.unit() - 2);
    } else {
      const auto small = static_cast<int64_t>(random.next() >> 60);
      const int64_t value = type.dtype == DType::boolean    ? small & 1
                            : is_signed_integer(type.dtype) ? small - 8
                                                            : small;
      element = scalar_tensor(type.dtype, value);
    }
    std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size, element.data(), size);
  }
  return tensor;
}

void require_small(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.type.bytes() > kMaxBytes) {
      throw UserError(std::string(name_of(node.op)) + ": " + to_string(node.type) +
                          " is too large to run here (" + std::to_string(node.type.bytes()) +
                          " bytes, at most " + std::to_string(kMaxBytes) + ")",
                      node.where, UserError::Kind::memory);
    }
  }
}

/// The results of a function of the file that takes no arguments.
std::vector<Tensor> results_of(const std::vector<Graph>& graphs, const std::string& name, bool fma) {
  for (const Graph& graph : graphs) {
    if (graph.name() != name) continue;
    require_small(graph);
    return interpret(graph, {}, fma);
  }
  throw UserError("--with: there is no function @" + name + " in the file");
}

void print_tensor(const std::string& name, const Tensor& tensor, int64_t max_elements) {
  const int64_t count = tensor.type().elements();
  std::cout << "  " << name << ": " << to_string(tensor.type()) << " = ";
  if (tensor.type().rank() == 0) {
    std::cout << format_element(tensor, 0) << "\n";
    return;
  }
  std::cout << "[";
  for (int64_t i = 0; i < std::min(count, max_elements); ++i) {
    std::cout << (i == 0 ? "" : ", ") << format_element(tensor, i);
  }
  std::cout << (count > max_elements ? ", ...]\n" : "]\n");
}

/// JSON has no infinities and no NaNs: they are strings.
std::string element_json(const Tensor& tensor, int64_t i) {
  const std::string text = format_element(tensor, i);
  return text.find("inf") == std::string::npos && text.find("nan") == std::string::npos ? text
                                                                                        : json_string(text);
}

std::string tensor_json(const std::string& name, const Tensor& tensor, int64_t max_elements) {
  std::vector<std::string> shape, elements;
  for (int64_t extent : tensor.type().shape) shape.push_back(std::to_string(extent));
  for (int64_t i = 0; i < std::min(tensor.type().elements(), max_elements); ++i)
    elements.push_back(element_json(tensor, i));
  return "{\"name\": " + json_string(name) + ", \"dtype\": " + json_string(name_of(tensor.type().dtype)) +
         ", \"shape\": " + json_list(shape) + ", \"elements\": " + json_list(elements) + "}";
}

/// A function that ran, for printing.
struct Ran {
  std::string name;
  std::vector<std::pair<std::string, Tensor>> arguments;
  std::vector<std::pair<std::string, Tensor>> results;
};

void print_text(const Ran& ran, int64_t max_elements) {
  std::cout << "@" << ran.name << "\n";
  for (const auto* tensors : {&ran.arguments, &ran.results})
    for (const auto& [name, tensor] : *tensors) print_tensor(name, tensor, max_elements);
}

std::string ran_json(const Ran& ran, int64_t max_elements) {
  const auto text = [&](const auto& named) { return tensor_json(named.first, named.second, max_elements); };
  return "{\"function\": " + json_string(ran.name) + ", \"arguments\": " + json_list(ran.arguments, text) +
         ", \"results\": " + json_list(ran.results, text) + "}";
}

std::vector<Tensor> run_compiled(const Graph& graph, const std::vector<Tensor>& inputs, bool fuse) {
  const std::vector<Layout> layouts(inputs.size());
  return run_on_tensors(*compile(graph, layouts, {.fuse = fuse}).program, inputs);
}

}  // namespace

std::span<const Option> run_options() { return kOptions; }

int run_run(const Arguments& arguments) {
  const bool native = !arguments.has("--interpret");
  if (native && arguments.has("--no-fma")) throw UsageError("--no-fma goes with --interpret");
  const bool fma = !arguments.has("--no-fma");
  const auto max_elements =
      static_cast<int64_t>(std::min<uint64_t>(arguments.integer("--max-elements", 16), kMaxBytes));
  const uint64_t seed = arguments.integer("--seed", 0);
  const std::string& path = arguments.file();
  std::vector<Graph> graphs = parse(read_file(path), shown_path(path));
  const std::optional<std::string> maker = arguments.value("--with");
  const std::vector<Tensor> given = maker ? results_of(graphs, *maker, fma) : std::vector<Tensor>();
  std::vector<std::string> functions;
  for (Graph& graph : graphs) {
    if (maker && graph.name() == *maker) continue;
    if (arguments.has("--optimize")) graph = run_pipeline(std::move(graph), {.fused_multiply_add = fma});
    require_small(graph);
    Random random(seed);
    std::vector<Tensor> inputs = given;
    if (maker) check_arguments(graph, inputs);
    for (size_t i = inputs.size(); i < graph.parameters().size(); ++i)
      inputs.push_back(made_up(graph.type_of(graph.parameters()[i]), random));

    Ran ran{graph.name(), {}, {}};
    for (size_t i = 0; i < inputs.size() && arguments.has("--arguments"); ++i)
      ran.arguments.emplace_back("%" + graph.parameter_name(i), inputs[i]);
    const std::vector<Tensor> outputs =
        native ? run_compiled(graph, inputs, !arguments.has("--no-fuse")) : interpret(graph, inputs, fma);
    for (size_t i = 0; i < outputs.size(); ++i)
      ran.results.emplace_back("result " + std::to_string(i), outputs[i]);
    if (arguments.has("--json")) {
      functions.push_back(ran_json(ran, max_elements));
    } else {
      print_text(ran, max_elements);
    }
  }
  if (arguments.has("--json")) std::cout << json_list(functions) << "\n";
  return kOk;
}

}  // namespace tokamak::tool
