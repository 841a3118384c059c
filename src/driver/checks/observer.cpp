#include "driver/checks/observer.h"

#include <algorithm>

#include "driver/checks/kernel_function.h"
#include "driver/checks/nan_origin.h"
#include "interp/oracle/oracle.h"
#include "passes/eliminate_dead.h"
#include "support/cpu.h"
#include "support/parts.h"

namespace tokamak {
namespace {

Tensor tensor_at(const BlockMemory& memory, Place place, const TensorType& type) {
  Tensor tensor(type);
  const int64_t* strides =
      place.kind == Place::Kind::input ? memory.strides_of(static_cast<int>(place.at)) : nullptr;
  const std::vector<int64_t> dense = dense_strides(type);
  copy_to_dense(type, static_cast<const std::byte*>(memory.find(place)),
                strides == nullptr ? dense.data() : strides, tensor.mutable_data());
  return tensor;
}

/// A part of the program, whose arguments and results can be looked at: a kernel, or all of it.
struct ObservedFunction {
  std::string what;  ///< "kernel mul_add"
  Graph graph;
  std::vector<Place> arguments;
  std::vector<Place> results;

  std::vector<Tensor> arguments_in(const BlockMemory& memory) const {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < arguments.size(); ++i)
      tensors.push_back(tensor_at(memory, arguments[i], graph.type_of(graph.parameters()[i])));
    return tensors;
  }
  std::vector<Tensor> results_in(const BlockMemory& memory) const {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < results.size(); ++i)
      tensors.push_back(tensor_at(memory, results[i], graph.type_of(graph.outputs()[i])));
    return tensors;
  }
};

ObservedFunction observed_kernel(const ObservedProgram& program, size_t number) {
  const FusedKernel& kernel = program.kernels[number];
  const KernelMemory& memory = program.assembled.memory[number];
  ObservedFunction function{
      "kernel " + kernel.name, kernel_function(program.optimized, kernel, memory), {}, {}};
  for (const KernelMemory::Placed& read : memory.reads) function.arguments.push_back(read.place);
  for (const KernelMemory::Placed& write : memory.writes) function.results.push_back(write.place);
  return function;
}

ObservedFunction observed_whole(const Graph& traced) {
  ObservedFunction function{"function " + traced.name(), eliminate_dead(traced), {}, {}};
  for (size_t i = 0; i < traced.parameters().size(); ++i)
    function.arguments.push_back({Place::Kind::input, static_cast<int64_t>(i)});
  for (size_t i = 0; i < traced.outputs().size(); ++i)
    function.results.push_back({Place::Kind::output, static_cast<int64_t>(i)});
  return function;
}

class Observer final : public ProgramObserver {
 public:
  explicit Observer(const ObservedProgram& program)
      : checks_(program.options.checks),
        looseness_{.contracted = program.options.fast_math, .functions = !is_enabled(Part::vector_math)},
        whole_(observed_whole(program.traced)) {
    if (!checks_.compare_values()) return;
    kernels_.resize(program.assembled.program->steps.size());
    for (size_t i = 0; i < program.kernels.size(); ++i) {
      const int step = program.assembled.step_of[i];
      if (step >= 0) kernels_[static_cast<size_t>(step)] = observed_kernel(program, i);
    }
  }

  void after_step(size_t step, const BlockMemory& memory) const override {
    if (kernels_.empty()) return;
    if (checks_.has(Check::shadow)) compare(kernels_[step], memory, "");
    if (checks_.has(Check::nan)) look_for_nan(kernels_[step], memory);
  }

  void after_run(const BlockMemory& memory) const override {
    if (checks_.has(Check::shadow))
      compare(whole_, memory, "; every kernel is right, so a pass has changed the meaning of the graph");
  }

 private:
  void compare(const ObservedFunction& function, const BlockMemory& memory, const char* conclusion) const {
    const std::vector<Tensor> arguments = function.arguments_in(memory);
    std::optional<Difference> difference;
    try {
      Oracle oracle(function.graph, arguments, current_cpu().fma, looseness_);
      difference = oracle.first_difference(function.results_in(memory));
    } catch (const UserError& error) {
      throw UserError(error.message() + " (" + function.what +
                          ": only the interpreter finds it; code computes no more than results need)",
                      error.where(), error.kind());
    }
    if (!difference) return;
    const Node& node = function.graph[function.graph.outputs()[difference->output]];
    throw InternalError(function.what + ": result " + std::to_string(difference->output) + ", of " +
                            std::string(name_of(node.op)) +
                            ", is not the interpreter's: " + difference->text + conclusion,
                        node.where);
  }

  void look_for_nan(const ObservedFunction& function, const BlockMemory& memory) const {
    const Graph& graph = function.graph;
    bool is_made = false;
    for (size_t i = 0; i < function.results.size() && !is_made; ++i)
      is_made = has_nan(graph.type_of(graph.outputs()[i]), memory.find(function.results[i]));
    if (!is_made || has_nan_constant(graph)) return;
    const std::vector<Tensor> arguments = function.arguments_in(memory);
    auto holds_nan = [](const Tensor& tensor) { return has_nan(tensor.type(), tensor.data()); };
    if (std::ranges::any_of(arguments, holds_nan)) return;
    const std::optional<NanOrigin> origin = find_nan_origin(graph, arguments, current_cpu().fma);
    if (!origin) throw InternalError(function.what + " makes a NaN where the interpreter makes none");
    throw UserError(std::string(name_of(origin->op)) + ": " + origin->text + " (in " + function.what + ")",
                    origin->where, UserError::Kind::floating_point);
  }

  static bool has_nan_constant(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [](const Node& node) {
      if (node.op != Op::constant) return false;
      const Tensor& value = node.attributes.tensor(Attr::value);
      return has_nan(value.type(), value.data());
    });
  }

  const Checks checks_;
  const Looseness looseness_;
  const ObservedFunction whole_;
  std::vector<ObservedFunction> kernels_;  ///< by step
};

}  // namespace

std::shared_ptr<const ProgramObserver> make_observer(const ObservedProgram& program) {
  return std::make_shared<const Observer>(program);
}

}  // namespace tokamak
