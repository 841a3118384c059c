#include "driver/assemble.h"

#include <algorithm>
#include <unordered_map>

#include "driver/checks/buffer_sites.h"
#include "driver/in_place.h"
#include "driver/step_chains.h"
#include "fusion/fuse.h"
#include "fusion/hidden.h"
#include "fusion/product.h"
#include "ir/text.h"
#include "ops/index.h"
#include "ops/record.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

class Assembly {
 public:
  Assembly(const Graph& graph, std::vector<std::string> names, std::span<const Layout> layouts,
           const CompileOptions& options, const std::vector<FusedKernel>& kernels,
           const std::vector<std::shared_ptr<const CompiledKernel>>& compiled, const OutputsInPlace& in_place)
      : graph_(graph),
        names_(std::move(names)),
        layouts_(layouts),
        options_(options),
        kernels_(kernels),
        compiled_(compiled),
        in_place_(in_place) {}

  Assembled run() {
    describe_interface();
    find_last_readers();
    find_values_in_place();
    request_memory();
    Assembled result;
    result.plan = plan_memory(requests_, donated_);
    verify_values_in_place(result.plan);
    for (size_t number = 0; number < kernels_.size(); ++number) {
      const auto before = static_cast<int>(program_->steps.size());
      add_step(number, result.plan);
      const bool is_added = static_cast<int>(program_->steps.size()) > before;
      result.step_of.push_back(is_added ? before : -1);
      if (options_.checks.compare_values()) result.memory.push_back(memory_of(kernels_[number], result.plan));
    }
    if (!before_.empty()) check_first(result.step_of);
    // What is to stay as it was recorded runs one operation after the other, and so do its times.
    if (options_.optimize) program_->chains = find_step_chains(*program_, current_cpu());
    for (const Program::Step& step : program_->steps) program_->total_cost += step.cost;
    program_->arena_bytes = result.plan.arena_bytes;
    for (const auto& [value, request] : request_of_) {
      const Placement& placement = result.plan.placements[request];
      const std::optional<int> output = requests_[request].output;
      if (output && placement.kind == Placement::Kind::donated) {
        program_->output_donor[static_cast<size_t>(*output)] = static_cast<int>(placement.at);
      }
    }
    result.naive_bytes = naive_bytes();
    result.program = program_;
    result.requests = std::move(requests_);
    return result;
  }

 private:
  void describe_interface() {
    program_->name = graph_.name();
    for (size_t i = 0; i < graph_.parameters().size(); ++i) {
      program_->inputs.push_back(graph_.type_of(graph_.parameters()[i]));
      input_of_.emplace(static_cast<uint32_t>(graph_.parameters()[i]), static_cast<int>(i));
    }
    const auto value_of = [&](size_t output) {
      return static_cast<uint32_t>(stored_value(graph_, graph_.outputs()[output]));
    };
    // Of results with one value, it is one that may lie where its input does that is computed.
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!in_place_.chains[i].empty()) output_of_.emplace(value_of(i), static_cast<int>(i));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      program_->outputs.push_back(graph_.type_of(graph_.outputs()[i]));
      const int computed = output_of_.emplace(value_of(i), static_cast<int>(i)).first->second;
      if (computed != static_cast<int>(i)) program_->copies.push_back({static_cast<int>(i), computed});
    }
    program_->output_donor.resize(program_->outputs.size());
  }

  void find_last_readers() {
    for (size_t step = 0; step < kernels_.size(); ++step) {
      for (Value input : values_read(kernels_[step]))
        last_reader_[static_cast<uint32_t>(input)] = static_cast<int>(step);
    }
    if (options_.checks.compare_values()) return;  // what kernels read is to be there afterwards
    for (int position : options_.donated) {
      const auto input = static_cast<size_t>(position);
      if (input >= program_->inputs.size() || !layouts_[input].dense || program_->inputs[input].bytes() == 0)
        continue;
      const Value parameter = graph_.parameters()[input];
      donated_of_.emplace(static_cast<uint32_t>(parameter), static_cast<int>(donated_.size()));
      donated_.push_back({position, program_->inputs[input].bytes(), last_reader(parameter)});
    }
  }

  void find_values_in_place() {
    program_->output_in_place.resize(program_->outputs.size());
    program_->output_keeps = in_place_.keeps;
    const auto& chains = in_place_.chains;
    for (size_t output = 0; output < chains.size(); ++output) {
      program_->output_in_place[output] = !chains[output].empty();
      for (size_t i = 0; i < chains[output].size(); ++i)
        before_.emplace(chains[output][i], i == 0 ? std::nullopt : std::optional(chains[output][i - 1]));
    }
  }

  /// Steps that leave out what they would store as it was rely on it.
  void verify_values_in_place(const Plan& plan) const {
    for (const auto& [value, before] : before_) {
      const auto own = request_of_.find(static_cast<uint32_t>(value));
      if (!before || own == request_of_.end()) continue;
      if (plan.placements[own->second] != plan.placements[request_of_.at(static_cast<uint32_t>(*before))])
        throw InternalError("plan: what follows a value in an argument's memory lies elsewhere");
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
      if (compiled_[step]->product != nullptr) request_packed(step);
      const std::vector<Value> written = values_written(kernel);
      for (size_t i = kernel.outputs.size(); i < written.size(); ++i)
        add_request(written[i], request_for(step, written[i]));
      for (size_t buffer = 0; buffer < loops.buffers.size(); ++buffer) {
        if (loops.buffers[buffer].role != Buffer::Role::partial) continue;
        partial_request_[{step, buffer}] = requests_.size();
        requests_.push_back({.bytes = round_up(loops.buffers[buffer].type.bytes(), kPlanAlignment),
                             .first_step = static_cast<int>(step),
                             .last_step = static_cast<int>(step),
                             .name = "partial sums of " + kernel.name});
      }
    }
  }

  int64_t naive_bytes() const {
    int64_t bytes = 0;
    const auto add = [&](int64_t more) {
      if (__builtin_add_overflow(bytes, round_up(more, kPlanAlignment), &bytes)) bytes = INT64_MAX;
    };
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.nodes()[i];
      const OpFamily family = family_of(node.op);
      const bool is_made = family != OpFamily::View && (family != OpFamily::Source || node.op == Op::iota);
      if (is_made || request_of_.contains(static_cast<uint32_t>(i))) add(node.type.bytes());
    }
    for (const Program::Copy& copy : program_->copies)
      add(program_->outputs[static_cast<size_t>(copy.output)].bytes());
    for (const auto* requests : {&partial_request_, &packed_request_})
      for (const auto& [key, request] : *requests) add(requests_[request].bytes);
    return bytes;
  }

  PlanRequest request_for(size_t step, Value value) const {
    PlanRequest request;
    request.bytes = graph_.type_of(value).bytes();
    request.first_step = static_cast<int>(step);
    request.last_step = std::max(static_cast<int>(step), last_reader(value));
    request.name = names_[index_of(value)];
    if (auto output = output_of_.find(static_cast<uint32_t>(value)); output != output_of_.end()) {
      request.output = output->second;
    }
    return request;
  }

  void add_request(Value value, PlanRequest request) {
    if (request.bytes == 0) return;
    request_of_.emplace(static_cast<uint32_t>(value), requests_.size());
    requests_.push_back(std::move(request));
  }

  void request_output(size_t step, size_t i) {
    const FusedKernel& kernel = kernels_[step];
    const LoopKernel& loops = *compiled_[step]->loops;
    const Value value = kernel.outputs[i];
    PlanRequest request = request_for(step, value);
    // What may lie where an input does gets nothing into its memory but what may lie there, too: the input is
    // read until the first of these is made.
    if (const auto in_place = before_.find(value); in_place != before_.end()) {
      request.has_own_place = true;
      if (in_place->second) {
        const auto other = static_cast<int>(request_of_.at(static_cast<uint32_t>(*in_place->second)));
        request.in_place_of.push_back({PlanRequest::Operand::Kind::request, other});
      }
      return add_request(value, std::move(request));
    }
    const bool holds_sums =
        compiled_[step]->product != nullptr && compiled_[step]->product->stages.back().sums_in_result;
    if (options_.checks.compare_values() || holds_sums) return add_request(value, std::move(request));
    for (const ReadInput& input : inputs_read_once(graph_, kernel, *compiled_[step])) {
      if (input.is_part || input.offset != 0 || before_.count(input.value) != 0) continue;
      if (!may_overwrite(loops, output_buffer(kernel, loops, i), input.buffer)) continue;
      const auto id = static_cast<uint32_t>(input.value);
      if (auto other = request_of_.find(id); other != request_of_.end()) {
        request.in_place_of.push_back({PlanRequest::Operand::Kind::request, static_cast<int>(other->second)});
      }
      // Only results go into donated memory: callers look after what may share it for those
      // (Program::output_donor).
      if (auto donated = donated_of_.find(id); donated != donated_of_.end() && request.output) {
        request.in_place_of.push_back({PlanRequest::Operand::Kind::donated, donated->second});
      }
    }
    add_request(value, std::move(request));
  }

  /// Memory for the operands that are packed before the blocks of a product run.
  void request_packed(size_t step) {
    const CompiledProduct& product = *compiled_[step]->product;
    for (size_t i = 0; i < product.stages.size(); ++i) {
      const CompiledStage& stage = product.stages[i];
      if (stage.method == nullptr) continue;
      const FusedKernel& kernel = stage_kernel(step, i);
      for (bool is_lhs : {true, false}) {
        const CompiledOperand& operand = is_lhs ? stage.lhs : stage.rhs;
        if (!operand.ahead || graph_.constant_value(kernel.inputs[operand.input]) != nullptr) continue;
        packed_request_[{step, 2 * i + (is_lhs ? 0 : 1)}] = requests_.size();
        requests_.push_back({.bytes = packed_bytes(*stage.method, block_operand(operand), is_lhs),
                             .first_step = static_cast<int>(step),
                             .last_step = static_cast<int>(step),
                             .name = "packed operand of " + kernels_[step].name});
      }
    }
  }

  const FusedKernel& stage_kernel(size_t step, size_t stage) const {
    return *stages_of(kernels_[step])[stage];
  }

  static BlockOperand block_operand(const CompiledOperand& from) {
    BlockOperand to;
    to.dtype = from.dtype;
    to.read = from.read;
    to.lines = from.lines;
    to.copies = from.copies;
    to.in_rows = from.in_rows || from.is_fed;
    to.windows = from.windows;
    return to;
  }

  BlockOperand placed_operand(size_t step, size_t stage, bool is_lhs, const Plan& plan) {
    const CompiledStage& compiled = compiled_[step]->product->stages[stage];
    const CompiledOperand& from = is_lhs ? compiled.lhs : compiled.rhs;
    BlockOperand to = block_operand(from);
    if (from.is_fed) {
      to.place = {Place::Kind::block, 0};
      return to;
    }
    if (from.maker != nullptr) {
      to.place = {Place::Kind::block, 0};
      to.maker = block_maker(stage_kernel(step, stage), from, plan);
      if (from.ahead) to.packed = packed_place(step, stage, is_lhs, plan);
      return to;
    }
    const Value array = stage_kernel(step, stage).inputs[from.input];
    to.strides = dense_strides(graph_.type_of(array));
    to.strided_input = strided_input(array).value_or(-1);
    if (const Tensor* constant = graph_.constant_value(array); constant != nullptr && from.ahead) {
      to.place = {Place::Kind::block, 0};  // never read again
      to.packed = Place{Place::Kind::constant, static_cast<int64_t>(program_->constants.size())};
      program_->constants.push_back(packed_operand(*compiled.method, to, is_lhs, compiled.depth,
                                                   compiled_[step]->product->part_depth, constant->data()));
      return to;
    }
    to.place = read_place(array, plan);
    if (from.ahead) to.packed = packed_place(step, stage, is_lhs, plan);
    return to;
  }

  Place packed_place(size_t step, size_t stage, bool is_lhs, const Plan& plan) const {
    return place_of(plan.placements[packed_request_.at({step, 2 * stage + (is_lhs ? 0 : 1)})]);
  }

  std::shared_ptr<const BlockMaker> block_maker(const FusedKernel& kernel, const CompiledOperand& operand,
                                                const Plan& plan) {
    const CompiledMaker& from = *operand.maker;
    const auto maker = std::ranges::find(kernel.makers, operand.input, &FusedKernel::Maker::made);
    auto to = std::make_shared<BlockMaker>();
    to->code = from.code.code;
    to->kernel = from.code.loops;
    to->tasks_per_row = from.code.tasks_per_row;
    to->rows_are_lines = from.rows_are_lines;
    to->rows = from.rows;
    to->rows_at_once = from.rows_at_once;
    to->row_bytes = from.row_bytes;
    for (Value input : maker->kernel->inputs) {
      to->buffers.push_back(read_place(input, plan));
      note_strides(input, to->strided_inputs);
    }
    for (Value output : maker->kernel->outputs) {
      const bool is_operand = output == kernel.inputs[operand.input];
      to->buffers.push_back(is_operand ? Place{Place::Kind::block, 0} : written_place(output, plan));
    }
    to->buffers.resize(to->kernel->buffers.size(), {Place::Kind::arena, 0});
    if (to->kernel->bounds_checked)
      to->sites = buffer_sites(graph_, names_, *maker->kernel, *to->kernel, maker->kernel->inputs, 0);
    return to;
  }

  BlockStage block_stage(size_t step, size_t number, const Plan& plan) {
    const CompiledProduct& product = *compiled_[step]->product;
    const CompiledStage& from = product.stages[number];
    const FusedKernel& kernel = stage_kernel(step, number);
    const bool is_last = number + 1 == product.stages.size();
    BlockStage to;
    to.method = from.method;
    to.columns = from.columns;
    to.depth = from.depth;
    to.element_bytes = static_cast<int64_t>(size_of(from.sums));
    if (from.method != nullptr) {
      to.lhs = placed_operand(step, number, true, plan);
      to.rhs = placed_operand(step, number, false, plan);
    }
    to.code = from.row_code.code;
    to.kernel = from.row_code.loops;
    to.tasks_per_row = from.row_code.tasks_per_row;
    to.columns_per_task = from.row_code.columns_per_task;
    to.sums_in_result = from.sums_in_result;
    if (from.only_stores || from.sums_in_result) {
      to.result_dtype = from.sums;
      to.result = written_place(kernel.outputs[0], plan);
      to.stored = from.only_stores ? *from.only_stores
                                   : StoredSums{.batch = {}, .row_stride = from.columns * to.element_bytes};
    }
    if (from.only_stores) return to;
    if (from.method != nullptr) to.buffers.push_back({Place::Kind::block, 0});
    for (size_t input : from.inputs) {
      to.buffers.push_back(read_place(kernel.inputs[input], plan));
      note_strides(kernel.inputs[input], to.strided_inputs);
    }
    for (Value output : kernel.outputs) {
      const bool is_fed =
          !is_last && output == stage_kernel(step, number + 1).inputs[stage_kernel(step, number + 1).fed];
      to.buffers.push_back(is_fed ? Place{Place::Kind::block, 0} : written_place(output, plan));
    }
    to.buffers.resize(from.row_code.loops->buffers.size(), {Place::Kind::arena, 0});
    if (from.row_code.loops->bounds_checked) {
      std::vector<Value> inputs;
      for (size_t input : from.inputs) inputs.push_back(kernel.inputs[input]);
      to.sites =
          buffer_sites(graph_, names_, kernel, *from.row_code.loops, inputs, from.method != nullptr ? 1 : 0);
    }
    if (!is_last) {
      to.result_dtype = from.result.dtype;
      to.over_sums = from.over_sums;
      to.result_row_bytes = from.result.bytes() / (product.batch * product.rows);
    }
    return to;
  }

  /// What a mask leaves of the scores that the stage before the last makes; null where that is all.
  std::shared_ptr<const VisibleColumns> visible_columns(const FusedKernel& kernel,
                                                        const CompiledProduct& product) const {
    const size_t stages = product.stages.size();
    if (stages < 2 || !product.stages[stages - 2].masked) return nullptr;
    const std::optional<HiddenScores> hidden = find_hidden_scores(kernel);
    if (!hidden) return nullptr;
    const std::optional<VisibleColumns> visible = find_visible_columns(
        *kernel.feeder, *hidden,
        [&](size_t input) { return graph_.constant_value(kernel.feeder->inputs[input]); });
    return visible ? std::make_shared<const VisibleColumns>(*visible) : nullptr;
  }

  /// Which input of the program the value is, when its strides are known at run time only.
  std::optional<int> strided_input(Value value) const {
    const auto input = input_of_.find(static_cast<uint32_t>(value));
    if (input == input_of_.end() || layouts_[static_cast<size_t>(input->second)].dense) return std::nullopt;
    return input->second;
  }

  void note_strides(Value input, std::vector<int>& strided_inputs) const {
    if (const std::optional<int> position = strided_input(input)) strided_inputs.push_back(*position);
  }

  void add_block_step(size_t number, const Plan& plan) {
    const FusedKernel& kernel = kernels_[number];
    const CompiledProduct& product = *compiled_[number]->product;
    auto block = std::make_shared<BlockStep>();
    block->batch = {product.batch};
    block->rows = product.rows;
    block->block_rows = product.block_rows;
    block->block_columns = product.block_columns;
    block->slice_rows = product.slice_rows;
    block->block_cost = product.block_cost;
    block->mirrored_rows = product.mirrored_rows;
    block->part_depth = product.part_depth;
    block->chunk_depth = product.chunk_depth;
    for (size_t stage = 0; stage < product.stages.size(); ++stage)
      block->stages.push_back(block_stage(number, stage, plan));
    block->visible = visible_columns(kernel, product);
    Program::Step step;
    step.code = std::shared_ptr<const NativeKernel>(compiled_[number], compiled_[number]->code.get());
    step.kernel = compiled_[number]->loops;
    step.block = std::move(block);
    step.bytes_read = bytes_read(kernel);
    for (Value output : kernel.outputs) step.bytes_written += graph_.type_of(output).bytes();
    step.flops = count_flops(kernel);
    const int64_t blocks =
        product.batch * ((product.rows + product.block_rows - 1) / product.block_rows) *
        ((product.stages.back().columns + product.block_columns - 1) / product.block_columns);
    step.cost = product.block_cost * static_cast<double>(blocks);
    step.tasks = blocks;
    program_->steps.push_back(std::move(step));
  }

  void add_sort_step(size_t number, const Plan& plan) {
    const FusedKernel& kernel = kernels_[number];
    auto sort = std::make_shared<SortStep>(compiled_[number]->sort->step);
    const TensorType& result = graph_.type_of(kernel.outputs[0]);
    sort->place = read_place(kernel.inputs[0], plan);
    sort->strided_input = strided_input(kernel.inputs[0]).value_or(-1);
    sort->result = written_place(kernel.outputs[0], plan);
    Program::Step step;
    step.tasks = result.elements() / sort->read.contracted[0].extent;
    step.cost = sort->line_cost * static_cast<double>(step.tasks);
    step.code = std::shared_ptr<const NativeKernel>(compiled_[number], nullptr);
    step.kernel = compiled_[number]->loops;
    step.sort = std::move(sort);
    step.bytes_read = bytes_read(kernel);
    step.bytes_written = result.bytes();
    step.flops = count_flops(kernel);
    program_->steps.push_back(std::move(step));
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

  KernelMemory memory_of(const FusedKernel& kernel, const Plan& plan) {
    KernelMemory memory;
    for (Value value : values_read(kernel)) {
      if (graph_.constant_value(value) == nullptr) memory.reads.push_back({value, read_place(value, plan)});
    }
    for (Value value : values_written(kernel)) memory.writes.push_back({value, written_place(value, plan)});
    return memory;
  }

  void add_step(size_t number, const Plan& plan) {
    const FusedKernel& kernel = kernels_[number];
    const bool has_effect = std::any_of(kernel.outputs.begin(), kernel.outputs.end(), [&](Value value) {
      return graph_.type_of(value).elements() != 0 || rules::only_checks(graph_, graph_[value]);
    });
    if (!has_effect) return;
    if (compiled_[number]->product != nullptr) return add_block_step(number, plan);
    if (compiled_[number]->sort != nullptr) return add_sort_step(number, plan);
    Program::Step step;
    // The step keeps the whole kernel in use, and so known to the cache.
    step.code = std::shared_ptr<const NativeKernel>(compiled_[number], compiled_[number]->code.get());
    step.kernel = compiled_[number]->loops;
    step.numbers = compiled_[number]->numbers;
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      step.buffers.push_back(read_place(kernel.inputs[i], plan));
      if (!kernel.offsets.empty()) step.buffers.back().offset = kernel.offsets[i];
      note_strides(kernel.inputs[i], step.strided_inputs);
    }
    step.bytes_read = bytes_read(kernel);
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
    if (step.kernel->bounds_checked)
      step.sites = buffer_sites(graph_, names_, kernel, *step.kernel, kernel.inputs, 0);
    step.flops = count_flops(kernel.body);
    if (const size_t checking = nests_that_check(graph_, kernel, *compiled_[number]); checking != 0)
      checking_.emplace_back(program_->steps.size(), checking);
    if (const size_t nests = step.kernel->nests.size(); nests > 1) {
      const BufferId output = output_buffer(kernel, *step.kernel, 0);
      for (size_t nest = 0; nest < nests && !step.copy; ++nest) {
        if (const std::optional<BufferId> from = copied_by(*step.kernel, nest, output))
          step.copy = {nest, *from, output};
      }
    }
    for (const Nest& nest : step.kernel->nests) {
      step.grains.push_back(even_grain(nest.task_cost, nest.root.extent));
      step.cost += nest.task_cost * static_cast<double>(nest.root.extent);
      step.tasks = std::max(step.tasks, nest.root.extent);
    }
    program_->steps.push_back(std::move(step));
  }

  /// Runs what only checks arguments before anything is written to any of them.
  void check_first(std::vector<int>& step_of) {
    std::vector<Program::Step> checks;
    for (const auto& [position, nests] : checking_) {
      Program::Step& step = program_->steps[position];
      Program::Step& check = checks.emplace_back(step);
      check.end_nest = step.first_nest = nests;
      check.bytes_read = check.bytes_written = 0;
      check.flops = 0;
      check.cost = 0;
    }
    program_->steps.insert(program_->steps.begin(), checks.begin(), checks.end());
    for (int& step : step_of)
      if (step >= 0) step += static_cast<int>(checks.size());
  }

  struct PairHash {
    size_t operator()(const std::pair<size_t, size_t>& pair) const { return pair.first * 31 + pair.second; }
  };

  const Graph& graph_;
  const std::vector<std::string> names_;
  std::span<const Layout> layouts_;
  const CompileOptions& options_;
  const std::vector<FusedKernel>& kernels_;
  const std::vector<std::shared_ptr<const CompiledKernel>>& compiled_;
  const OutputsInPlace& in_place_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::unordered_map<uint32_t, int> input_of_;
  std::unordered_map<uint32_t, int> output_of_;
  std::unordered_map<uint32_t, int> last_reader_;
  std::unordered_map<uint32_t, int> donated_of_;
  std::unordered_map<uint32_t, size_t> request_of_;
  std::unordered_map<uint32_t, int64_t> constant_of_;
  std::unordered_map<std::pair<size_t, size_t>, size_t, PairHash> partial_request_;
  std::unordered_map<std::pair<size_t, size_t>, size_t, PairHash> packed_request_;
  /// By value that may lie where an input does: the one before it in that memory, if there is one.
  std::unordered_map<Value, std::optional<Value>> before_;
  std::vector<std::pair<size_t, size_t>>
      checking_;  ///< steps that begin with checks of arguments: how many nests
  std::vector<PlanRequest> requests_;
  std::vector<DonatedInput> donated_;
};

}  // namespace

Assembled assemble(const Graph& graph, std::vector<std::string> names, std::span<const Layout> layouts,
                   const CompileOptions& options, const std::vector<FusedKernel>& kernels,
                   const std::vector<std::shared_ptr<const CompiledKernel>>& compiled,
                   const OutputsInPlace& in_place) {
  return Assembly(graph, std::move(names), layouts, options, kernels, compiled, in_place).run();
}

}  // namespace tokamak
