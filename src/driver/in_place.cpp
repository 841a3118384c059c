#include "driver/in_place.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "driver/kept_elements.h"
#include "fusion/fuse.h"
#include "ir/layout.h"
#include "loops/walk.h"
#include "ops/index.h"
#include "ops/index_map.h"
#include "support/parts.h"

namespace tokamak {

namespace {

/// Whether two positions are different for any values of what they are made of: 2*i + 1 and 2*j + 4 are.
bool never_meet(const Index& a, const Index& b) {
  int64_t common = 0;
  for (const IndexTerm& term : a.terms) common = std::gcd(common, term.coefficient);
  for (const IndexTerm& term : b.terms) common = std::gcd(common, term.coefficient);
  const int64_t apart = a.constant - b.constant;
  return common == 0 ? apart != 0 : apart % common != 0;
}

/// Where the nests store to a buffer, from `offset` on; nothing where that is not known.
std::optional<std::vector<Index>> stored_positions(const LoopKernel& kernel, BufferId output,
                                                   int64_t offset) {
  std::vector<Index> positions;
  bool is_known = true;
  for (const Nest& nest : kernel.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      const std::optional<Access> access = access_of(stmt);
      if (!access || access->buffer != output) return;
      const std::optional<Index> position = linear_position(kernel[output], *access->index);
      is_known = is_known && position && access->is_store;
      if (position) positions.push_back(*position + Index(offset));
    });
  }
  return is_known ? std::optional(std::move(positions)) : std::nullopt;
}

/// Whether the statements, and those of every loop and branch inside, read an element of `input` that is
/// written to only in the body that stores to that place of `output`, and before it does.
bool reads_before_it_writes(const LoopKernel& kernel, const std::vector<Stmt>& body, BufferId output,
                            BufferId input, int64_t offset,
                            const std::optional<std::vector<Index>>& all_stored) {
  std::optional<Index> stored;
  std::vector<Index> loaded;
  for (const Stmt& stmt : body) {
    if (const Loop* loop = as_loop(stmt)) {
      if (!reads_before_it_writes(kernel, loop->body, output, input, offset, all_stored)) return false;
    }
    if (const Branch* branch = as_branch(stmt)) {
      if (!reads_before_it_writes(kernel, branch->body, output, input, offset, all_stored)) return false;
      if (!reads_before_it_writes(kernel, branch->otherwise, output, input, offset, all_stored)) return false;
    }
    const auto* tile = std::get_if<TransposeTile>(&stmt);
    if (tile != nullptr && (tile->matrix == output || tile->matrix == input)) return false;
    const std::optional<Access> access = access_of(stmt);
    if (!access || (access->buffer != output && access->buffer != input)) continue;
    const std::optional<Index> position = linear_position(kernel[access->buffer], *access->index);
    const bool is_elsewhere =
        access->buffer == input && position && all_stored &&
        std::ranges::all_of(*all_stored, [&](const Index& one) { return never_meet(*position, one); });
    if (is_elsewhere) continue;
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

bool may_fail(const FusedKernel& kernel) {
  return std::ranges::any_of(parts_of(kernel), [](const FusedKernel* part) {
    return std::ranges::any_of(part->body.nodes(), rules::may_fail);
  });
}

/// What a nest does, as far as matters here.
struct NestContents {
  std::vector<BufferId> loaded;
  std::vector<BufferId> stored;
  bool checks = false;
  bool streams = false;  ///< with stores that need aligned memory
  bool sums = false;     ///< parts, for later nests

  bool touches(BufferId buffer) const {
    return std::ranges::find(loaded, buffer) != loaded.end() ||
           std::ranges::find(stored, buffer) != stored.end();
  }
};

NestContents contents_of(const Nest& nest) {
  NestContents found;
  walk(nest.root, [&](const Stmt& stmt) {
    if (const std::optional<Access> access = access_of(stmt))
      (access->is_store ? found.stored : found.loaded).push_back(access->buffer);
    if (const auto* tile = std::get_if<TransposeTile>(&stmt))
      (tile->to_matrix ? found.stored : found.loaded).push_back(tile->matrix);
    if (const auto* store = std::get_if<Store>(&stmt)) found.streams = found.streams || store->non_temporal;
    found.checks = found.checks || std::holds_alternative<CheckRange>(stmt);
    found.sums = found.sums || std::holds_alternative<Spill>(stmt);
  });
  return found;
}

size_t count_of(const std::vector<Value>& values, Value value) {
  return static_cast<size_t>(std::ranges::count(values, value));
}

/// Whether output `i` of a step may be written over the parameter by these loops of it, from its element
/// `offset` on, when nothing after the step reads that.
bool may_write_over(const Graph& graph, const FusedKernel& kernel, const CompiledKernel& compiled,
                    const LoopKernel& loops, size_t i, Value parameter, int64_t offset) {
  const auto unit = static_cast<int64_t>(size_of(graph.type_of(parameter).dtype));
  size_t allowed = 0;
  for (const ReadInput& input : inputs_read_once(graph, kernel, compiled)) {
    if (input.value != parameter || input.offset % unit != 0) continue;
    const BufferId buffer = output_buffer(kernel, loops, i);
    if (may_overwrite(loops, buffer, input.buffer, offset - input.offset / unit)) ++allowed;
  }
  return allowed == count_of(values_read(kernel), parameter);
}

}  // namespace

bool may_overwrite(const LoopKernel& kernel, BufferId output, BufferId input, int64_t offset) {
  if (size_of(kernel[input].type.dtype) != size_of(kernel[output].type.dtype)) return false;
  const std::optional<std::vector<Index>> all_stored = stored_positions(kernel, output, offset);
  if (kernel.nests.size() == 1)
    return reads_before_it_writes(kernel, kernel.nests[0].root.body, output, input, offset, all_stored);
  bool is_written = false;
  for (const Nest& nest : kernel.nests) {  // each ends before the next begins
    const NestContents contents = contents_of(nest);
    if (is_written && contents.touches(input)) return false;
    if (is_written || !contents.touches(output)) continue;
    if (!reads_before_it_writes(kernel, nest.root.body, output, input, offset, all_stored)) return false;
    is_written = true;
  }
  return true;
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

std::optional<BufferId> copied_by(const LoopKernel& kernel, size_t nest, BufferId output) {
  std::map<ValueId, const Load*> loads;
  std::optional<BufferId> copied;
  bool is_copy = true;
  walk(kernel.nests[nest].root, [&](const Stmt& stmt) {
    if (const auto* load = std::get_if<Load>(&stmt)) {
      loads[load->result] = load;
      is_copy = is_copy && load->guard.empty();
    } else if (const auto* store = std::get_if<Store>(&stmt)) {
      const auto from = loads.find(store->value);
      is_copy = is_copy && store->buffer == output && from != loads.end() &&
                copied.value_or(from->second->buffer) == from->second->buffer;
      if (!is_copy) return;
      copied = from->second->buffer;
      const std::optional<Index> read = linear_position(kernel[*copied], from->second->index);
      is_copy = read && read == linear_position(kernel[output], store->index);
    } else if (!std::holds_alternative<std::shared_ptr<Branch>>(stmt)) {
      is_copy = false;
    }
  });
  return is_copy ? copied : std::nullopt;
}

std::vector<Value> gathers_by_arguments(const Graph& graph, const FusedKernel& kernel) {
  std::vector<Value> gathers;
  if (kernel.sort || kernel.product || kernel.feeder != nullptr || kernel.domain.has_sweep) return gathers;
  const Graph& body = kernel.body;
  std::vector<bool> is_known(body.size());  // before the program runs
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Op op = graph[kernel.inputs[i]].op;
    is_known[index_of(body.parameters()[i])] = op == Op::parameter || op == Op::constant;
  }
  for (size_t i = 0; i < body.size(); ++i) {
    const Node& node = body.nodes()[i];
    if (node.op == Op::parameter) continue;
    is_known[i] = (node.op == Op::constant || is_pointwise(node.op)) &&
                  std::ranges::all_of(node.inputs, [&](Value in) { return is_known[index_of(in)]; });
    if (node.op == Op::gather && is_check_of_index(node.attributes.word(Attr::mode)) &&
        is_known[index_of(node.inputs[1])])
      gathers.push_back(static_cast<Value>(i));
  }
  return gathers;
}

size_t nests_that_check(const Graph& graph, const FusedKernel& kernel, const CompiledKernel& compiled) {
  if (kernel.sort || kernel.product || compiled.loops->checks.empty()) return 0;
  const LoopKernel& loops = *compiled.loops;
  size_t count = 0;
  for (const Nest& nest : loops.nests) {
    const NestContents contents = contents_of(nest);
    const bool reads_arguments = std::ranges::all_of(contents.loaded, [&](BufferId buffer) {
      if (loops[buffer].role == Buffer::Role::scratch) return true;
      if (loops[buffer].role != Buffer::Role::input) return false;
      const Op op = graph[kernel.inputs[static_cast<size_t>(buffer)]].op;
      return op == Op::parameter || op == Op::constant;
    });
    if (!contents.checks || !contents.stored.empty() || contents.sums || !reads_arguments) break;
    ++count;
  }
  return count;
}

namespace {

/// The steps of a program, and what may be written where.
class Writing {
 public:
  Writing(const Graph& graph, const std::vector<FusedKernel>& kernels,
          const std::vector<std::shared_ptr<const CompiledKernel>>& compiled)
      : graph_(graph), kernels_(kernels), compiled_(compiled) {
    for (size_t step = 0; step < kernels.size(); ++step) {
      for (size_t i = 0; i < kernels[step].outputs.size(); ++i) maker_[kernels[step].outputs[i]] = {step, i};
      for (Value value : values_read(kernels[step])) last_reader_[value] = step;
      if (fails_late(step)) last_to_fail_ = step;
    }
    for (Value output : graph.outputs()) outputs_.insert(stored_value(graph, output));
  }

  /// The longest chain of values that may follow each other where the parameter lies, `last` at its end. They
  /// do not where every value has a place of its own.
  /// None of them is one of those that lie elsewhere.
  std::vector<Value> chain(Value parameter, Value last, int64_t offset, const std::set<Value>& others) const {
    std::vector<Value> values;
    std::vector<Value> allowed;
    for (std::optional<Value> head = last; head && maker_.count(*head) != 0 && others.count(*head) == 0;
         head = overwritten_by(*head)) {
      values.insert(values.begin(), *head);
      const LoopKernel& loops = *compiled_[maker_.at(*head).step]->loops;
      if (may_begin(*head, parameter, offset, loops)) allowed = values;
      if (!is_enabled(Part::reuse)) break;
    }
    return allowed;
  }

  /// The loops of the step that makes the value when they may store it over the parameter, every `step`-th
  /// element there being one of its own; and which step that is.
  std::optional<std::pair<size_t, LoopKernel>> in_steps(Value parameter, Value value, int64_t offset,
                                                        int64_t step) const {
    const auto made = maker_.find(value);
    if (made == maker_.end() || needs_own_memory(made->second)) return std::nullopt;
    const auto reader = last_reader_.find(value);
    if (reader != last_reader_.end() && reader->second > made->second.step) return std::nullopt;
    const auto is_value = [&](Value output) { return stored_value(graph_, output) == value; };
    if (std::ranges::count_if(graph_.outputs(), is_value) != 1) return std::nullopt;
    const auto [maker, output] = made->second;
    LoopKernel loops = *compiled_[maker]->loops;
    Buffer& buffer = loops.buffers[static_cast<size_t>(output_buffer(kernels_[maker], loops, output))];
    for (int64_t& stride : buffer.strides) stride *= step;
    if (!may_begin(value, parameter, offset, loops)) return std::nullopt;
    return std::pair(maker, std::move(loops));
  }

  /// Lets the makers of a chain store only what changes; the number of those that found something to leave.
  size_t keep_elements(const std::vector<Value>& chain, Value parameter, int64_t offset,
                       std::vector<std::optional<LoopKernel>>& loops) const {
    size_t found = 0;
    for (size_t k = 0; k < chain.size(); ++k) {
      const auto [step, output] = maker_.at(chain[k]);
      const FusedKernel& kernel = kernels_[step];
      if (kernel.sort || kernel.product) continue;
      const auto unit = static_cast<int64_t>(size_of(graph_.type_of(parameter).dtype));
      std::vector<InputBelow> below;
      for (const ReadInput& input : inputs_read_once(graph_, kernel, *compiled_[step])) {
        if (input.value != (k == 0 ? parameter : chain[k - 1])) continue;
        below.push_back({input.buffer, (k == 0 ? offset : 0) - input.offset / unit});
      }
      const LoopKernel& before = loops[step] ? *loops[step] : *compiled_[step]->loops;
      std::optional<LoopKernel> after =
          without_kept_elements(before, output_buffer(kernel, before, output), below);
      if (!after) continue;
      loops[step] = std::move(after);
      ++found;
    }
    return found;
  }

 private:
  struct Maker {
    size_t step;
    size_t output;
  };

  /// Whether the step may fail when others have run, or when it has written something.
  bool fails_late(size_t step) const {
    if (!may_fail(kernels_[step])) return false;
    const LoopKernel& loops = *compiled_[step]->loops;
    const size_t early = nests_that_check(graph_, kernels_[step], *compiled_[step]);
    return early == 0 || std::any_of(loops.nests.begin() + static_cast<int64_t>(early), loops.nests.end(),
                                     [](const Nest& nest) { return contents_of(nest).checks; });
  }

  /// Whether the value may be the first that is written over the parameter, by these loops of its step.
  bool may_begin(Value value, Value parameter, int64_t offset, const LoopKernel& loops) const {
    const auto [step, output] = maker_.at(value);
    const auto reader = last_reader_.find(parameter);
    if (reader != last_reader_.end() && reader->second > step) return false;
    if (last_to_fail_ && *last_to_fail_ >= step) return false;
    return may_write_over(graph_, kernels_[step], *compiled_[step], loops, output, parameter, offset);
  }

  /// A value whose memory the step that makes another one may write that to, as the plan of the memory sees
  /// it, and which may itself lie anywhere.
  std::optional<Value> overwritten_by(Value value) const {
    if (graph_.type_of(value).bytes() == 0) return std::nullopt;
    const auto [step, output] = maker_.at(value);
    const FusedKernel& kernel = kernels_[step];
    const LoopKernel& loops = *compiled_[step]->loops;
    for (const ReadInput& input : inputs_read_once(graph_, kernel, *compiled_[step])) {
      const auto made = maker_.find(input.value);
      if (made == maker_.end() || made->second.step >= step || outputs_.count(input.value) != 0) continue;
      if (input.is_part || input.offset != 0 || last_reader_.at(input.value) != step) continue;
      if (graph_.type_of(input.value).bytes() != graph_.type_of(value).bytes()) continue;
      if (count_of(values_read(kernel), input.value) != 1 || needs_own_memory(made->second)) continue;
      if (may_overwrite(loops, output_buffer(kernel, loops, output), input.buffer)) return input.value;
    }
    return std::nullopt;
  }

  bool needs_own_memory(const Maker& maker) const {
    if (kernels_[maker.step].sort || kernels_[maker.step].product) return true;
    return std::ranges::any_of(compiled_[maker.step]->loops->nests,
                               [](const Nest& nest) { return contents_of(nest).streams; });
  }

  const Graph& graph_;
  const std::vector<FusedKernel>& kernels_;
  const std::vector<std::shared_ptr<const CompiledKernel>>& compiled_;
  std::map<Value, Maker> maker_;
  std::map<Value, size_t> last_reader_;
  std::set<Value> outputs_;
  std::optional<size_t> last_to_fail_;
};

}  // namespace

OutputsInPlace outputs_in_place(const Graph& graph, std::span<const Layout> layouts,
                                const CompileOptions& options, const std::vector<FusedKernel>& kernels,
                                const std::vector<std::shared_ptr<const CompiledKernel>>& scheduled) {
  OutputsInPlace found;
  found.chains.resize(graph.outputs().size());
  found.keeps.resize(graph.outputs().size());
  found.loops.resize(kernels.size());
  if (options.written.empty() || options.checks.compare_values()) return found;  // checks want all values
  const Writing writing(graph, kernels, scheduled);
  std::set<Value> taken;  // by other arguments
  for (const WrittenInput& written : options.written) {
    const auto input = static_cast<size_t>(written.input);
    if (!layouts[input].dense) continue;
    const auto output = static_cast<size_t>(written.output);
    const Value parameter = graph.parameters()[input];
    const Value last = stored_value(graph, graph.outputs()[output]);
    if (written.step != 1) {
      auto made = options.checks.any() ? std::nullopt
                                       : writing.in_steps(parameter, last, written.offset, written.step);
      if (!made || found.loops[made->first]) continue;
      found.chains[output] = {last};
      found.loops[made->first] = std::move(made->second);
      continue;
    }
    std::vector<Value> chain = writing.chain(parameter, last, written.offset, taken);
    auto loops = found.loops;
    // What another result is, too, is copied from here: all of it has to be.
    const auto is_last = [&](Value one) { return stored_value(graph, one) == last; };
    const bool is_shared = std::ranges::count_if(graph.outputs(), is_last) != 1;
    const size_t kept = is_shared ? 0 : writing.keep_elements(chain, parameter, written.offset, loops);
    if (written.keeps_others && kept != chain.size()) continue;
    taken.insert(chain.begin(), chain.end());
    found.chains[output] = std::move(chain);
    found.keeps[output] = kept != 0;
    found.loops = std::move(loops);
  }
  return found;
}

}  // namespace tokamak
