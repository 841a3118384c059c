#include "driver/kept_program/sound.h"

#include <algorithm>

namespace tokamak::kept {
namespace {

class Soundness {
 public:
  explicit Soundness(const Program& program) : program_(program) {}

  bool holds() const {
    const size_t outputs = program_.outputs.size();
    if (program_.arena_bytes < 0 || program_.output_donor.size() != outputs ||
        program_.output_in_place.size() != outputs)
      return false;
    if (!program_.output_keeps.empty() && program_.output_keeps.size() != outputs) return false;
    for (const std::optional<int>& donor : program_.output_donor)
      if (donor && !is_below(*donor, program_.inputs.size())) return false;
    for (const auto& [output, source] : program_.copies)
      if (!is_below(output, outputs) || !is_below(source, outputs)) return false;
    return std::ranges::all_of(program_.steps, [&](const Program::Step& step) { return is_step(step); }) &&
           are_chains();
  }

 private:
  static bool is_below(int64_t number, size_t count) {
    return number >= 0 && static_cast<uint64_t>(number) < count;
  }

  bool is_place(const Place& place) const {
    switch (place.kind) {
      case Place::Kind::input:
        return is_below(place.at, program_.inputs.size());
      case Place::Kind::output:
        return is_below(place.at, program_.outputs.size());
      case Place::Kind::constant:
        return is_below(place.at, program_.constants.size());
      case Place::Kind::arena:
        return place.at >= 0 && place.at <= program_.arena_bytes;
      case Place::Kind::block:
        return true;
    }
    return false;
  }
  bool are_places(const std::vector<Place>& places) const {
    return std::ranges::all_of(places, [&](const Place& place) { return is_place(place); });
  }
  bool are_inputs(const std::vector<int>& inputs) const {
    return std::ranges::all_of(inputs, [&](int input) { return is_below(input, program_.inputs.size()); });
  }

  static bool has_nests(const std::shared_ptr<const NativeKernel>& code,
                        const std::shared_ptr<const LoopKernel>& kernel) {
    return code != nullptr && kernel != nullptr && code->nests().size() == kernel->nests.size();
  }

  bool is_step(const Program::Step& step) const {
    if (step.kernel == nullptr || !are_places(step.buffers) || !are_inputs(step.strided_inputs)) return false;
    if (step.block != nullptr) return is_block(*step.block);
    if (!has_nests(step.code, step.kernel) || step.grains.size() != step.kernel->nests.size()) return false;
    if (std::ranges::any_of(step.grains, [](int64_t grain) { return grain < 1; })) return false;
    return !step.copy || (step.copy->nest < step.kernel->nests.size() &&
                          static_cast<size_t>(step.copy->from) < step.buffers.size() &&
                          static_cast<size_t>(step.copy->to) < step.buffers.size());
  }

  bool is_block(const BlockStep& block) const {
    return !block.stages.empty() && block.block_rows > 0 && block.block_columns > 0 &&
           block.slice_rows >= 0 &&
           std::ranges::all_of(block.stages, [&](const BlockStage& stage) { return is_stage(stage); });
  }

  bool is_stage(const BlockStage& stage) const {
    if (stage.method == nullptr && stage.code == nullptr) return false;
    if (stage.code != nullptr && (!has_nests(stage.code, stage.kernel) || stage.kernel->nests.size() != 1))
      return false;
    return is_operand(stage.lhs) && is_operand(stage.rhs) && are_places(stage.buffers) &&
           are_inputs(stage.strided_inputs) && is_place(stage.result) && stage.result_dtype <= DType::f64;
  }

  bool is_operand(const BlockOperand& operand) const {
    if (operand.dtype > DType::f64 || !is_place(operand.place) || operand.strided_input < -1) return false;
    if (operand.strided_input >= 0 && !is_below(operand.strided_input, program_.inputs.size())) return false;
    if (operand.packed && !is_place(*operand.packed)) return false;
    const BlockMaker* const maker = operand.maker.get();
    return maker == nullptr || (has_nests(maker->code, maker->kernel) && are_places(maker->buffers) &&
                                are_inputs(maker->strided_inputs));
  }

  bool are_chains() const {
    size_t end = 0;  // of the chain before
    for (const StepChain& chain : program_.chains) {
      if (chain.first < end || chain.first >= program_.steps.size() || chain.block_tasks < 1 ||
          chain.blocks < 0)
        return false;
      if (chain.shifts.size() > program_.steps.size() - chain.first) return false;
      end = chain.end();
      for (size_t i = chain.first; i < end; ++i) {
        const Program::Step& step = program_.steps[i];
        if (step.block != nullptr || step.kernel->nests.size() != 1) return false;
        const int64_t tasks = step.kernel->nests[0].root.extent;
        const int64_t shift = chain.shifts[i - chain.first];
        if (shift < 0 || shift > INT64_MAX - tasks) return false;
        if (tasks > 0 && (tasks + shift - 1) / chain.block_tasks >= chain.blocks) return false;
      }
    }
    return true;
  }

  const Program& program_;
};

}  // namespace

bool is_sound(const Program& program) { return Soundness(program).holds(); }

}  // namespace tokamak::kept
