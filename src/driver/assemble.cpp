#include "driver/assemble.h"

#include <algorithm>
#include <unordered_map>

#include "driver/in_place.h"
#include "fusion/fuse.h"
#include "ops/record.h"

namespace tokamak {
namespace {

class Assembly {
 public:
  Assembly(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
           const std::vector<FusedKernel>& kernels,
           const std::vector<std::shared_ptr<const CompiledKernel>>& compiled)
      : graph_(graph), layouts_(layouts), options_(options), kernels_(kernels), compiled_(compiled) {}

  Assembled run() {
    describe_interface();
    find_last_readers();
    request_memory();
    Assembled result;
    result.plan = plan_memory(requests_, donated_);
    result.plan_text = to_string(result.plan, requests_);
    for (size_t step = 0; step < kernels_.size(); ++step) add_step(step, result.plan);
    program_->arena_bytes = result.plan.arena_bytes;
    for (const auto& [value, request] : request_of_) {
      const Placement& placement = result.plan.placements[request];
      const std::optional<int> output = requests_[request].output;
      if (output && placement.kind == Placement::Kind::donated) {
        program_->output_donor[static_cast<size_t>(*output)] = static_cast<int>(placement.at);
      }
    }
    result.program = program_;
    return result;
  }

 private:
  static constexpr int64_t round_up(int64_t bytes) {
    return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
  }

  void describe_interface() {
    for (size_t i = 0; i < graph_.parameters().size(); ++i) {
      program_->inputs.push_back(graph_.type_of(graph_.parameters()[i]));
      input_of_.emplace(static_cast<uint32_t>(graph_.parameters()[i]), static_cast<int>(i));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value output = graph_.outputs()[i];
      program_->outputs.push_back(graph_.type_of(output));
      const auto [first, is_first] =
          output_of_.emplace(static_cast<uint32_t>(stored_value(graph_, output)), static_cast<int>(i));
      if (!is_first) program_->copies.push_back({static_cast<int>(i), first->second});
    }
    program_->output_donor.resize(program_->outputs.size());
  }

  void find_last_readers() {
    for (size_t step = 0; step < kernels_.size(); ++step) {
      for (Value input : kernels_[step].inputs)
        last_reader_[static_cast<uint32_t>(input)] = static_cast<int>(step);
    }
    for (int position : options_.donated) {
      const auto input = static_cast<size_t>(position);
      if (input >= program_->inputs.size() || !layouts_[input].dense || program_->inputs[input].bytes() == 0)
        continue;
      const Value parameter = graph_.parameters()[input];
      donated_of_.emplace(static_cast<uint32_t>(parameter), static_cast<int>(donated_.size()));
      donated_.push_back({position, program_->inputs[input].bytes(), last_reader(parameter)});
    }
  }

  int last_reader(Value value) const {
    auto found = last_reader_.find(static_cast<uint32_t>(value));
    return found == last_reader_.end() ? -1 : found->second;
  }

  void request_memory() {
    for (size_t step = 0; step < kernels_.size(); ++step) {
      const FusedKernel& kernel = kernels_[step];
      const LoopKernel& loops = *compiled_[step]->loops;
      for (size_t i = 0; i < kernel.outputs.size(); ++i) request_output(step, i);
      for (size_t buffer = 0; buffer < loops.buffers.size(); ++buffer) {
        if (loops.buffers[buffer].role != Buffer::Role::partial) continue;
        partial_request_[{step, buffer}] = requests_.size();
        requests_.push_back({.bytes = round_up(loops.buffers[buffer].type.bytes()),
                             .first_step = static_cast<int>(step),
                             .last_step = static_cast<int>(step),
                             .name = "partial sums of " + kernel.name});
      }
    }
  }

  void request_output(size_t step, size_t i) {
    const FusedKernel& kernel = kernels_[step];
    const LoopKernel& loops = *compiled_[step]->loops;
    const Value value = kernel.outputs[i];
    const int64_t bytes = graph_.type_of(value).bytes();
    if (bytes == 0) return;
    PlanRequest request;
    request.bytes = bytes;
    request.first_step = static_cast<int>(step);
    request.last_step = std::max(static_cast<int>(step), last_reader(value));
    request.name = "%" + std::to_string(index_of(value));
    if (auto output = output_of_.find(static_cast<uint32_t>(value)); output != output_of_.end()) {
      request.output = output->second;
    }
    const auto buffer = static_cast<BufferId>(kernel.inputs.size() + i);
    for (size_t input = 0; input < kernel.inputs.size(); ++input) {
      if (!may_overwrite(loops, buffer, static_cast<BufferId>(input))) continue;
      const auto id = static_cast<uint32_t>(kernel.inputs[input]);
      if (auto other = request_of_.find(id); other != request_of_.end()) {
        request.in_place_of.push_back({PlanRequest::Operand::Kind::request, static_cast<int>(other->second)});
      }
      // Only results go into donated memory: callers look after what may share it for those
      // (Program::output_donor).
      if (auto donated = donated_of_.find(id); donated != donated_of_.end() && request.output) {
        request.in_place_of.push_back({PlanRequest::Operand::Kind::donated, donated->second});
      }
    }
    request_of_.emplace(static_cast<uint32_t>(value), requests_.size());
    requests_.push_back(std::move(request));
  }

  Program::Place place_of(const Placement& placement) const {
    switch (placement.kind) {
      case Placement::Kind::arena:
        return {Program::Place::Kind::arena, placement.at};
      case Placement::Kind::output:
        return {Program::Place::Kind::output, placement.at};
      case Placement::Kind::donated:
        return {Program::Place::Kind::input, placement.at};
    }
    throw InternalError("assemble: a value without a place");
  }

  /// Where a kernel writes a value. An output that copies a parameter or a constant has the copy under that
  /// same value.
  Program::Place written_place(Value value, const Plan& plan) const {
    auto request = request_of_.find(static_cast<uint32_t>(value));
    if (request == request_of_.end()) return {Program::Place::Kind::arena, 0};  // no elements, so no memory
    return place_of(plan.placements[request->second]);
  }

  Program::Place read_place(Value value, const Plan& plan) {
    const auto id = static_cast<uint32_t>(value);
    if (auto input = input_of_.find(id); input != input_of_.end())
      return {Program::Place::Kind::input, input->second};
    if (const Tensor* constant = graph_.constant_value(value)) {
      const auto [found, is_new] = constant_of_.emplace(id, static_cast<int64_t>(program_->constants.size()));
      if (is_new) program_->constants.push_back(*constant);
      return {Program::Place::Kind::constant, found->second};
    }
    return written_place(value, plan);
  }

  void add_step(size_t number, const Plan& plan) {
    const FusedKernel& kernel = kernels_[number];
    const bool writes_nothing = std::all_of(kernel.outputs.begin(), kernel.outputs.end(), [&](Value value) {
      return graph_.type_of(value).elements() == 0;
    });
    if (writes_nothing) return;
    Program::Step step;
    // The step keeps the whole kernel in use, and so known to the cache.
    step.code = std::shared_ptr<const NativeKernel>(compiled_[number], compiled_[number]->code.get());
    step.kernel = compiled_[number]->loops;
    for (Value input : kernel.inputs) {
      step.buffers.push_back(read_place(input, plan));
      step.bytes_read += graph_.type_of(input).bytes();
      if (auto position = input_of_.find(static_cast<uint32_t>(input));
          position != input_of_.end() && !layouts_[static_cast<size_t>(position->second)].dense) {
        step.strided_inputs.push_back(position->second);
      }
    }
    for (Value output : kernel.outputs) {
      step.buffers.push_back(written_place(output, plan));
      step.bytes_written += graph_.type_of(output).bytes();
    }
    for (size_t buffer = step.buffers.size(); buffer < step.kernel->buffers.size(); ++buffer) {
      auto partial = partial_request_.find({number, buffer});
      step.buffers.push_back(partial == partial_request_.end()
                                 ? Program::Place{Program::Place::Kind::arena, 0}
                                 : place_of(plan.placements[partial->second]));
    }
    step.flops = count_flops(kernel.body);
    for (const Nest& nest : step.kernel->nests) {
      step.grains.push_back(grain_for(nest.task_cost));
      program_->total_cost += nest.task_cost * static_cast<double>(nest.root.extent);
    }
    program_->steps.push_back(std::move(step));
  }

  struct PairHash {
    size_t operator()(const std::pair<size_t, size_t>& pair) const { return pair.first * 31 + pair.second; }
  };

  const Graph& graph_;
  std::span<const Layout> layouts_;
  const CompileOptions& options_;
  const std::vector<FusedKernel>& kernels_;
  const std::vector<std::shared_ptr<const CompiledKernel>>& compiled_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::unordered_map<uint32_t, int> input_of_;
  std::unordered_map<uint32_t, int> output_of_;
  std::unordered_map<uint32_t, int> last_reader_;
  std::unordered_map<uint32_t, int> donated_of_;
  std::unordered_map<uint32_t, size_t> request_of_;
  std::unordered_map<uint32_t, int64_t> constant_of_;
  std::unordered_map<std::pair<size_t, size_t>, size_t, PairHash> partial_request_;
  std::vector<PlanRequest> requests_;
  std::vector<DonatedInput> donated_;
};

}  // namespace

Assembled assemble(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
                   const std::vector<FusedKernel>& kernels,
                   const std::vector<std::shared_ptr<const CompiledKernel>>& compiled) {
  return Assembly(graph, layouts, options, kernels, compiled).run();
}

}  // namespace tokamak
