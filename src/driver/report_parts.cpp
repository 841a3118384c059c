#include "driver/report_parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "fusion/product.h"
#include "ir/text.h"
#include "ops/index_map.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.size(), false);
  for (Value output : graph.outputs()) needed[index_of(output)] = true;
  for (size_t i = graph.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (Value input : graph.nodes()[i].inputs) needed[index_of(input)] = true;
  }
  return needed;
}

/// Collects them for the whole program, then kernel by kernel.
class LayoutReports {
 public:
  explicit LayoutReports(const Journey& journey)
      : journey_(journey), graph_(journey.optimized), names_(journey.names.of(graph_)) {}

  std::vector<LayoutReport> run() {
    add_arguments();
    for (size_t i = 0; i < journey_.kernels.size(); ++i) {
      const FusedKernel& kernel = journey_.fusion.kernels[i];
      add_operands(static_cast<int>(i), kernel, *journey_.kernels[i]);
      add_results(static_cast<int>(i), kernel);
    }
    add_copies();
    return std::move(reports_);
  }

 private:
  void add(Value value, int kernel, std::string decision, int64_t bytes = 0) {
    reports_.push_back({names_[index_of(value)], kernel, std::move(decision), bytes});
  }

  void add_arguments() {
    for (size_t i = 0; i < journey_.layouts.size(); ++i) {
      const Layout& layout = journey_.layouts[i];
      if (!layout.dense)
        add(graph_.parameters()[i], -1,
            "read where it lies, with strides " + strides_text(layout) + " of an element");
    }
  }

  void add_operands(int number, const FusedKernel& kernel, const CompiledKernel& compiled) {
    if (compiled.product == nullptr) return;
    const std::vector<const FusedKernel*> stages = stages_of(kernel);
    for (size_t i = 0; i < stages.size(); ++i) {
      const CompiledStage& stage = compiled.product->stages[i];
      if (stage.method == nullptr) continue;
      for (const CompiledOperand* operand : {&stage.lhs, &stage.rhs}) {
        const int64_t bytes =
            operand->lines * stage.depth * operand->copies * static_cast<int64_t>(size_of(stage.sums));
        add(stages[i]->inputs[operand->input], number,
            (operand == &stage.lhs ? "first operand " : "second operand ") +
                std::string(reading_of(stage, *operand)),
            is_packed(stage, *operand) ? bytes : 0);
      }
    }
  }

  void add_results(int number, const FusedKernel& kernel) {
    const bool copies = op_names(kernel).empty();
    for (const FusedKernel* part : parts_of(kernel)) {
      for (size_t i = 0; i < part->outputs.size(); ++i) {
        const Value output = part->outputs[i];
        if (part->permuted[i])
          add(output, number, "transposed as it is stored");
        else if (copies)
          add(output, number, "copied", graph_.type_of(output).bytes());
      }
    }
  }

  void add_copies() {
    const Program& program = *journey_.assembled.program;
    for (const Program::Copy& copy : program.copies) {
      const Value output = graph_.outputs()[static_cast<size_t>(copy.output)];
      add(output, -1,
          "result " + std::to_string(copy.output) + " is a copy of result " + std::to_string(copy.source),
          graph_.type_of(output).bytes());
    }
    for (const WrittenInput& written : journey_.options.written) {
      const auto output = static_cast<size_t>(written.output);
      const std::string argument = names_[index_of(graph_.parameters()[static_cast<size_t>(written.input)])];
      const bool in_place = program.output_in_place[output];
      add(graph_.outputs()[output], -1,
          in_place ? "computed where " + argument + " lies" : "copied to " + argument + " at the end",
          in_place ? 0 : graph_.type_of(graph_.outputs()[output]).bytes());
    }
  }

  const Journey& journey_;
  const Graph& graph_;
  const std::vector<std::string> names_;
  std::vector<LayoutReport> reports_;
};

/// The nodes of a graph, in its order. Kernels are left open.
std::vector<OperationReport> operations_of(const Graph& graph, const PrintOptions& options) {
  const std::vector<bool> needed = needed_nodes(graph);
  std::vector<PrintedValue> printed = print_values(graph, options);
  std::vector<OperationReport> operations;
  operations.reserve(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    OperationReport report;
    report.name = std::move(printed[i].name);
    report.op = name_of(node.op);
    report.text = std::move(printed[i].text);
    report.type = node.type;
    for (Value input : node.inputs) report.inputs.push_back(static_cast<int>(index_of(input)));
    if (node.op != Op::parameter) report.line = node.where;  // a parameter has the line of the call
    report.is_view = is_view(node.op);
    report.is_dead = !needed[i];
    operations.push_back(std::move(report));
  }
  for (Value output : graph.outputs()) operations[index_of(output)].is_output = true;
  return operations;
}

/// For every value of the program the kernels that compute it, with those of what the passes made on the way
/// to it: the pieces of a product that they cut up, say. What a kernel computes for itself, as numbers and
/// masks that many kernels have, leads to no other kernel.
std::vector<std::set<int>> kernels_behind(const Graph& optimized, const std::vector<OperationReport>& fused) {
  constexpr int kNowhere = -1;
  std::vector<std::map<int, std::set<int>>> behind(fused.size());  // by the kernel that computes the value
  std::vector<std::set<int>> kernels(fused.size());
  for (size_t i = 0; i < fused.size(); ++i) {  // operands come before what reads them
    std::vector<int> computing = fused[i].kernels;
    if (computing.empty()) computing.push_back(kNowhere);
    for (int kernel : computing) {
      std::set<int>& found = behind[i][kernel];
      const auto add = [&](const std::set<int>& more) { found.insert(more.begin(), more.end()); };
      if (kernel != kNowhere) found.insert(kernel);
      for (Value input : optimized.nodes()[i].inputs) {
        if (optimized.origin_of(input) < optimized.size_at_first()) continue;
        const auto& made = behind[index_of(input)];
        if (const auto here = made.find(kernel); here != made.end()) {
          add(here->second);
        } else {
          for (const auto& [elsewhere, more] : made) add(more);
        }
      }
      kernels[i].insert(found.begin(), found.end());
    }
  }
  return kernels;
}

/// Finds which operations of the program do the work of those that were traced, where no value of theirs is
/// left: passes that move a view past an operation do it in another shape, and so make another value.
///   %1 = reshape %0 {shape=[1]};  %2 = div %1, 8.0;  %3 = reshape %2 {shape=[]}
///   =>  %3 = div %0, 8.0, which does the work of %2
class DoneElsewhere {
 public:
  DoneElsewhere(const Graph& traced, const Graph& optimized)
      : traced_(traced), optimized_(optimized), readers_(traced.size()) {
    for (size_t i = 0; i < traced.size(); ++i) {
      const std::vector<Value>& inputs = traced.nodes()[i].inputs;
      for (size_t slot = 0; slot < inputs.size(); ++slot)
        readers_[index_of(inputs[slot])].push_back({static_cast<Value>(i), slot});
    }
  }

  std::optional<Value> operator()(Value operation) const {
    if (optimized_.successor_of(operation) || is_view(traced_[operation].op)) return std::nullopt;
    return among_readers(operation, traced_[operation], kFarthest);
  }

 private:
  static constexpr int kFarthest = 8;  // operations on the way: large graphs have many ways

  struct Reader {
    Value operation;
    size_t slot;  ///< of its operands
  };

  std::optional<Value> among_readers(Value value, const Node& work, int left) const {
    if (left == 0) return std::nullopt;
    for (const Reader& reader : readers_[index_of(value)]) {
      if (const std::optional<Value> found = behind(reader, work, left - 1)) return found;
    }
    return std::nullopt;
  }

  std::optional<Value> behind(const Reader& reader, const Node& work, int left) const {
    const std::optional<Value> now = optimized_.successor_of(reader.operation);
    if (!now) return among_readers(reader.operation, work, left);
    const Node& node = optimized_[*now];
    const bool is_itself = node.op == traced_[reader.operation].op;  // it does its own work, and no other
    if (!is_itself) return does(node, work) ? now : among_operands(node, work, left);
    return reader.slot < node.inputs.size() ? search(node.inputs[reader.slot], work, left) : std::nullopt;
  }

  /// Through views, and through what is new since the trace.
  std::optional<Value> search(Value value, const Node& work, int left) const {
    const Node& node = optimized_[value];
    if (does(node, work)) return value;
    const bool is_new = optimized_.origin_of(value) >= optimized_.size_at_first();
    if (left == 0 || (!is_view(node.op) && !is_new)) return std::nullopt;
    return among_operands(node, work, left);
  }

  std::optional<Value> among_operands(const Node& node, const Node& work, int left) const {
    for (Value input : node.inputs) {
      if (const std::optional<Value> found = search(input, work, left - 1)) return found;
    }
    return std::nullopt;
  }

  /// A division by a number may be a multiplication now.
  bool does(const Node& node, const Node& work) const {
    if (node.type.dtype != work.type.dtype) return false;
    const auto is_number = [&](Value input) { return optimized_[input].op == Op::constant; };
    return node.op == work.op ||
           (work.op == Op::div && node.op == Op::mul && std::ranges::any_of(node.inputs, is_number));
  }

  const Graph& traced_;
  const Graph& optimized_;
  std::vector<std::vector<Reader>> readers_;
};

/// By operation of the program: how many of those that were traced it is the value of. Turns of a loop have
/// many that are the same.
std::vector<int> merged_into(const Graph& traced, const Graph& optimized) {
  std::vector<int> count(optimized.size());
  for (size_t i = 0; i < traced.size(); ++i) {
    if (const std::optional<Value> successor = optimized.successor_of(static_cast<Value>(i)))
      ++count[index_of(*successor)];
  }
  return count;
}

/// What both have; all of the second if that is nothing. The first is the smaller one: kernels of one reader,
/// where the second may be all that there are.
std::set<int> common_or(const std::set<int>& some, const std::set<int>& all) {
  std::set<int> common;
  std::ranges::copy_if(some, std::inserter(common, common.end()),
                       [&](int kernel) { return all.contains(kernel); });
  return common.empty() ? all : common;
}

BufferReport::Place place_of(Placement::Kind kind) {
  switch (kind) {
    case Placement::Kind::arena:
      return BufferReport::Place::arena;
    case Placement::Kind::output:
      return BufferReport::Place::output;
    case Placement::Kind::donated:
      return BufferReport::Place::argument;
  }
  throw InternalError("report: a value without a place");
}

/// What the plan gives memory to, the copies of results that are returned more than once, and what threads
/// take while kernels run.
std::vector<BufferReport> buffers_of(const Journey& journey, const std::vector<int64_t>& scratch) {
  const Assembled& assembled = journey.assembled;
  std::vector<BufferReport> buffers;
  std::map<int, std::string> results;  // the names of those that are computed
  const int last = static_cast<int>(assembled.step_of.size()) - 1;
  for (size_t i = 0; i < assembled.requests.size(); ++i) {
    const PlanRequest& request = assembled.requests[i];
    const Placement& placement = assembled.plan.placements[i];
    BufferReport report;
    report.name = display_name(assembled.requests, static_cast<int>(i));
    report.bytes = request.bytes;
    report.first_kernel = request.first_step;
    report.last_kernel = request.output ? last : request.last_step;
    report.at = placement.at;
    report.place = place_of(placement.kind);
    if (placement.overwrites && placement.overwrites->kind == PlanRequest::Operand::Kind::request)
      report.in_place_of = placement.overwrites->index;
    if (request.output) results[*request.output] = report.name;
    buffers.push_back(std::move(report));
  }
  for (const Program::Copy& copy : assembled.program->copies) {
    buffers.push_back({.name = "copy of " + results[copy.source],
                       .bytes = assembled.program->outputs[static_cast<size_t>(copy.output)].bytes(),
                       .first_kernel = last,
                       .last_kernel = last,
                       .place = BufferReport::Place::output,
                       .at = copy.output});
  }
  for (size_t i = 0; i < assembled.step_of.size(); ++i) {
    const int step = assembled.step_of[i];
    if (step < 0 || scratch[static_cast<size_t>(step)] == 0) continue;
    buffers.push_back({.name = "scratch of " + journey.fusion.kernels[i].name,
                       .bytes = scratch[static_cast<size_t>(step)],
                       .first_kernel = static_cast<int>(i),
                       .last_kernel = static_cast<int>(i),
                       .place = BufferReport::Place::scratch});
  }
  return buffers;
}

std::string plan_text(const Assembled& assembled, const MemoryReport& memory) {
  const auto bytes = [](int64_t count) { return std::to_string(count) + " bytes"; };
  const std::string scratch =
      memory.scratch_bytes == 0 ? "" : " + scratch of threads " + bytes(memory.scratch_bytes);
  int64_t of_lines = memory.scratch_bytes;
  for (const BufferReport& buffer : memory.buffers) {
    if (buffer.place != BufferReport::Place::scratch) of_lines += round_up(buffer.bytes, kPlanAlignment);
  }
  std::string text = "a call takes " + bytes(memory.peak_bytes) + ": arena " + bytes(memory.arena_bytes) +
                     " + results " + bytes(memory.output_bytes) + scratch + "\n";
  text += "without reuse " + bytes(of_lines) + ": each of the following at a place of its own" +
          (scratch.empty() ? "" : ", scratch once") + "\n";
  text += "with a buffer for every operation " + bytes(memory.naive_bytes) +
          ": those inside of kernels have one, too\n";
  text += plan_lines(assembled.plan, assembled.requests);
  for (const BufferReport& buffer : memory.buffers) {
    const bool is_copy = buffer.name.starts_with("copy of ") && buffer.place == BufferReport::Place::output;
    if (!is_copy && buffer.place != BufferReport::Place::scratch) continue;
    text += plan_line(is_copy ? "at the end" : "step " + std::to_string(buffer.first_kernel), buffer.bytes,
                      is_copy ? "output " + std::to_string(buffer.at) : "of the threads", buffer.name);
  }
  return text;
}

/// Blocks for results: those that lie where an argument does need none.
int64_t output_bytes(const Program& program) {
  int64_t bytes = 0;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (!program.output_donor[i] && !program.output_in_place[i])
      bytes += round_up(program.outputs[i].bytes(), kPlanAlignment);
  }
  return bytes;
}

}  // namespace

std::vector<OperationReport> fused_operations(const Journey& journey) {
  const std::vector<std::string> names = journey.names.of(journey.optimized);
  std::vector<OperationReport> operations = operations_of(journey.optimized, for_people(names));
  const std::vector<FusedKernel>& kernels = journey.fusion.kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    for (const FusedKernel* part : parts_of(kernels[i])) {
      for (Value member : part->members) {
        std::vector<int>& computing = operations[index_of(member)].kernels;
        if (computing.empty() || computing.back() != static_cast<int>(i))
          computing.push_back(static_cast<int>(i));
      }
    }
  }
  return operations;
}

std::vector<OperationReport> traced_operations(const Journey& journey,
                                               const std::vector<OperationReport>& fused) {
  const Graph& optimized = journey.optimized;
  std::vector<OperationReport> operations = operations_of(journey.traced, kForPeople);
  const std::vector<std::set<int>> behind = kernels_behind(optimized, fused);
  const DoneElsewhere done_elsewhere(journey.traced, optimized);
  const std::vector<int> merged = merged_into(journey.traced, optimized);
  std::vector<std::set<int>> of_readers(operations.size());
  std::vector<std::set<int>> shown(optimized.size());  // where a value is that several operations made
  for (size_t i = operations.size(); i-- > 0;) {       // readers come after what they read
    OperationReport& report = operations[i];
    const std::optional<Value> successor = optimized.successor_of(static_cast<Value>(i));
    if (successor) report.becomes = static_cast<int>(index_of(*successor));
    std::set<int> kernels = of_readers[i];
    if (successor) {
      const size_t now = index_of(*successor);
      kernels = merged[now] > 1 ? common_or(of_readers[i], behind[now]) : behind[now];
      shown[now].insert(kernels.begin(), kernels.end());
    }
    report.kernels.assign(kernels.begin(), kernels.end());
    if (const std::optional<Value> doer = done_elsewhere(static_cast<Value>(i)); doer && !report.is_dead) {
      report.done_by = static_cast<int>(index_of(*doer));
      report.kernels = fused[index_of(*doer)].kernels;
    }
    for (int input : report.inputs)
      of_readers[static_cast<size_t>(input)].insert(report.kernels.begin(), report.kernels.end());
  }
  std::vector<char> all_shown(optimized.size());
  for (OperationReport& report : operations) {  // the first of them is where none has a reader
    if (report.becomes < 0 || merged[static_cast<size_t>(report.becomes)] <= 1) continue;
    const auto now = static_cast<size_t>(report.becomes);
    if (std::exchange(all_shown[now], 1) != 0) continue;
    std::set<int> kernels(report.kernels.begin(), report.kernels.end());
    std::ranges::set_difference(behind[now], shown[now], std::inserter(kernels, kernels.end()));
    report.kernels.assign(kernels.begin(), kernels.end());
  }
  return operations;
}

MemoryReport memory_of(const Journey& journey) {
  const Assembled& assembled = journey.assembled;
  MemoryReport report;
  report.arena_bytes = assembled.plan.arena_bytes;
  report.output_bytes = output_bytes(*assembled.program);
  const std::vector<int64_t> scratch = assembled.program->scratch_of_steps();
  for (int64_t bytes : scratch) report.scratch_bytes = std::max(report.scratch_bytes, bytes);
  report.peak_bytes = report.arena_bytes + report.output_bytes + report.scratch_bytes;
  report.naive_bytes = assembled.naive_bytes + report.scratch_bytes;
  report.buffers = buffers_of(journey, scratch);
  report.plan = plan_text(assembled, report);
  return report;
}

std::vector<LayoutReport> layouts_of(const Journey& journey) { return LayoutReports(journey).run(); }

}  // namespace tokamak
