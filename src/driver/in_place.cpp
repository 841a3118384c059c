#include "driver/in_place.h"

#include <algorithm>

#include "fusion/fuse.h"
#include "ir/layout.h"
#include "loops/walk.h"

namespace tokamak {

namespace {

/// Whether the statements, and those of every loop and branch inside, read an element of `input` only in the
/// body that stores to that place of `output`, and before it does.
bool reads_before_it_writes(const LoopKernel& kernel, const std::vector<Stmt>& body, BufferId output,
                            BufferId input, int64_t offset) {
  std::optional<Index> stored;
  std::vector<Index> loaded;
  for (const Stmt& stmt : body) {
    if (const Loop* loop = as_loop(stmt)) {
      if (!reads_before_it_writes(kernel, loop->body, output, input, offset)) return false;
    }
    if (const Branch* branch = as_branch(stmt)) {
      if (!reads_before_it_writes(kernel, branch->body, output, input, offset)) return false;
      if (!reads_before_it_writes(kernel, branch->otherwise, output, input, offset)) return false;
    }
    const auto* tile = std::get_if<TransposeTile>(&stmt);
    if (tile != nullptr && (tile->matrix == output || tile->matrix == input)) return false;
    const std::optional<Access> access = access_of(stmt);
    if (!access || (access->buffer != output && access->buffer != input)) continue;
    const std::optional<Index> position = linear_position(kernel[access->buffer], *access->index);
    if (stored || !position || access->is_store != (access->buffer == output)) return false;
    if (access->is_store) {
      stored = *position + Index(offset);
    } else {
      loaded.push_back(*position);
    }
  }
  return std::all_of(loaded.begin(), loaded.end(),
                     [&](const Index& position) { return stored && position == *stored; });
}

bool may_fail(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.attributes.has(Attr::mode) && is_check(node.attributes.word(Attr::mode));
  });
}

size_t count_of(const std::vector<Value>& values, Value value) {
  return static_cast<size_t>(std::ranges::count(values, value));
}

/// Whether output `i` of a step may be written over the parameter, from its element `offset` on, when nothing
/// after the step reads that.
bool may_write_over(const Graph& graph, const FusedKernel& kernel, const CompiledKernel& compiled, size_t i,
                    Value parameter, int64_t offset) {
  const auto unit = static_cast<int64_t>(size_of(graph.type_of(parameter).dtype));
  size_t allowed = 0;
  for (const ReadInput& input : inputs_read_once(graph, kernel, compiled)) {
    if (input.value != parameter || input.offset % unit != 0) continue;
    const BufferId buffer = output_buffer(kernel, *compiled.loops, i);
    if (may_overwrite(*compiled.loops, buffer, input.buffer, offset - input.offset / unit)) ++allowed;
  }
  return allowed == count_of(values_read(kernel), parameter);
}

}  // namespace

bool may_overwrite(const LoopKernel& kernel, BufferId output, BufferId input, int64_t offset) {
  const Buffer& from = kernel[input];
  const Buffer& to = kernel[output];
  if (kernel.nests.size() != 1 || size_of(from.type.dtype) != size_of(to.type.dtype)) return false;
  return reads_before_it_writes(kernel, kernel.nests[0].root.body, output, input, offset);
}

std::vector<ReadInput> inputs_read_once(const Graph& graph, const FusedKernel& kernel,
                                        const CompiledKernel& compiled) {
  std::vector<ReadInput> found;
  if (kernel.sort) return found;
  const CompiledProduct* product = compiled.product.get();
  if (product == nullptr) {
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const bool is_part =
          kernel.body.type_of(kernel.body.parameters()[i]) != graph.type_of(kernel.inputs[i]);
      const int64_t offset = kernel.offsets.empty() ? 0 : kernel.offsets[i];
      found.push_back({kernel.inputs[i], static_cast<BufferId>(i), offset, is_part});
    }
    return found;
  }
  const CompiledStage& stage = product->stages.back();
  const std::vector<Value> before =
      kernel.feeder == nullptr ? std::vector<Value>{} : values_read(*kernel.feeder);
  for (size_t i = 0; i < stage.inputs.size(); ++i) {
    const Value input = kernel.inputs[stage.inputs[i]];
    const bool is_operand = stage.inputs[i] == stage.lhs.input || stage.inputs[i] == stage.rhs.input;
    if (!is_operand && count_of(before, input) == 0) found.push_back({input, static_cast<BufferId>(i + 1)});
  }
  return found;
}

BufferId output_buffer(const FusedKernel& kernel, const LoopKernel& loops, size_t i) {
  const auto others_after_outputs = std::ranges::count_if(loops.buffers, [](const Buffer& buffer) {
    return buffer.role == Buffer::Role::partial || buffer.role == Buffer::Role::scratch;
  });
  return static_cast<BufferId>(loops.buffers.size() - static_cast<size_t>(others_after_outputs) -
                               kernel.outputs.size() + i);
}

std::vector<bool> outputs_in_place(const Graph& graph, std::span<const Layout> layouts,
                                   const CompileOptions& options, const std::vector<FusedKernel>& kernels,
                                   const std::vector<std::shared_ptr<const CompiledKernel>>& compiled) {
  std::vector<bool> in_place(graph.outputs().size(), false);
  if (options.written.empty() || may_fail(graph)) return in_place;
  for (const WrittenInput& written : options.written) {
    const auto input = static_cast<size_t>(written.input);
    if (!layouts[input].dense) continue;
    const Value parameter = graph.parameters()[input];
    const Value value = stored_value(graph, graph.outputs()[static_cast<size_t>(written.output)]);
    bool is_made = false;
    bool is_allowed = true;
    for (size_t step = 0; step < kernels.size(); ++step) {
      const FusedKernel& kernel = kernels[step];
      const auto found = std::ranges::find(kernel.outputs, value);
      if (found != kernel.outputs.end()) {
        const auto i = static_cast<size_t>(found - kernel.outputs.begin());
        is_allowed = may_write_over(graph, kernel, *compiled[step], i, parameter, written.offset);
        is_made = true;
      } else if (is_made && count_of(values_read(kernel), parameter) > 0) {
        is_allowed = false;
      }
      if (!is_allowed) break;
    }
    in_place[static_cast<size_t>(written.output)] = is_made && is_allowed;
  }
  return in_place;
}

}  // namespace tokamak
