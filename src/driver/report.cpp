#include "driver/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "driver/prediction.h"
#include "driver/report_parts.h"
#include "fusion/product.h"
#include "ir/text.h"
#include "ops/index_map.h"
#include "runtime/profiler.h"
#include "support/log.h"
#include "support/sizes.h"

namespace tokamak {
namespace {

/// Constants of more than that are not kept for an explanation that nobody may ask for.
constexpr int64_t kKeptBytes = 1 << 16;

/// What KernelReport::code points to.
struct ReportedCode {
  std::vector<std::shared_ptr<const LoopKernel>> stages;
  Cpu cpu;
};

const ReportedCode& reported_code(const KernelReport& report) {
  return *static_cast<const ReportedCode*>(report.code.get());
}

ReportedCode code_of(const CompiledKernel& compiled, const Cpu& cpu) {
  ReportedCode code{{}, cpu};
  if (compiled.product == nullptr) {
    code.stages.push_back(compiled.loops_of_code());
  } else {
    for (const RowCode& one : codes_of(*compiled.product)) code.stages.push_back(one.loops);
  }
  return code;
}

std::string text_of_stages(const KernelReport& report,
                           std::string (*emit)(const LoopKernel& loops, const Cpu& cpu)) {
  std::string text;
  for (const auto& loops : reported_code(report).stages)
    text += (text.empty() ? "" : "\n") + emit(*loops, reported_code(report).cpu);
  return text;
}

/// The dtype that most elements are computed in.
DType main_dtype(const FusedKernel& kernel) {
  std::map<DType, double> elements;
  for (const FusedKernel* part : parts_of(kernel)) {
    for (const Node& node : part->body.nodes()) {
      if (family_of(node.op) == OpFamily::Source || is_view(node.op)) continue;
      elements[part->body.type_of(node.inputs.back()).dtype] += count_flops(part->body, node);
    }
  }
  const auto most = std::max_element(elements.begin(), elements.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == elements.end() ? DType::f32 : most->first;
}

/// The lines that the operations of all parts were written on. Parameters have none: theirs is that of the
/// call.
std::vector<SourceLocation> lines_of(const FusedKernel& kernel) {
  std::vector<SourceLocation> lines;
  for (const FusedKernel* part : parts_of(kernel)) {
    for (const Node& node : part->body.nodes()) {
      if (node.op != Op::parameter && node.where.known() &&
          std::find(lines.begin(), lines.end(), node.where) == lines.end())
        lines.push_back(node.where);
    }
  }
  return lines;
}

std::vector<int> positions_of(const std::vector<Value>& values) {
  std::vector<int> positions;
  for (Value value : values) positions.push_back(static_cast<int>(index_of(value)));
  return positions;
}

/// What all parts compute, each once, in the order of the graph.
std::vector<Value> members_of(const FusedKernel& kernel) {
  std::set<Value> members;
  for (const FusedKernel* part : parts_of(kernel)) members.insert(part->members.begin(), part->members.end());
  return {members.begin(), members.end()};
}

template <class Reports, class Condition>
std::vector<int> positions_where(const Reports& reports, Condition condition) {
  std::vector<int> positions;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (condition(reports[i])) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

std::string plural(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string place_after(const SourceLocation& line) {
  return line.known() ? "  " + line.file + ":" + std::to_string(line.line) : "";
}

void log_explanation(const Explanation& explanation) {
  using logging::Channel;
  if (logging::enabled(Channel::fusion)) {
    for (const KernelReport& kernel : explanation.kernels())
      logging::log(Channel::fusion, "kernel " + kernel.name);
    for (const RefusedFusion& refused : explanation.refused())
      logging::log(Channel::fusion, "not fused: " + to_string(refused));
  }
  if (logging::enabled(Channel::memory)) logging::log(Channel::memory, explanation.memory().plan);
  if (logging::enabled(Channel::codegen)) {
    for (const KernelReport& kernel : explanation.kernels()) logging::log(Channel::codegen, kernel.loops);
  }
}

/// With the graphs that the passes made.
std::vector<PassReport> passes_of(const Journey& journey) {
  if (journey.has_pass_graphs) return journey.passes;
  const logging::Silence silence;
  PipelineOptions options = pipeline_for(journey.options, journey.cpu);
  PassJournal journal(options, journey.traced, journey.names, true);
  run_pipeline(journey.traced, options);
  std::vector<PassReport> passes = journal.passes();
  if (passes.size() != journey.passes.size())
    throw InternalError("the passes did something else when run again");
  for (size_t i = 0; i < passes.size(); ++i) passes[i].milliseconds = journey.passes[i].milliseconds;
  return passes;
}

/// All of the explanation.
Explanation::Contents contents_of(const Journey& journey) {
  Explanation::Contents contents;
  contents.graph = print(journey.traced, kForPeople);
  contents.optimized = print(journey.optimized, for_people(journey.names.of(journey.optimized)));
  contents.refused = journey.fusion.refused;
  contents.passes = passes_of(journey);
  contents.operations = fused_operations(journey);
  contents.traced = traced_operations(journey, contents.operations);
  contents.layouts = layouts_of(journey);
  const Program& program = *journey.assembled.program;
  const Roofline expected = expected_roofline(journey.cpu, journey.threads);
  for (size_t i = 0; i < journey.kernels.size(); ++i) {
    const FusedKernel& fused = journey.fusion.kernels[i];
    const CompiledKernel& compiled = *journey.kernels[i];
    KernelReport report;
    report.name = fused.name;
    report.ops = op_names(fused);
    for (const FusedKernel* part : parts_of(fused))
      report.graph += (report.graph.empty() ? "" : "\n") + print(part->body, kForPeople);
    report.loops = compiled.product != nullptr ? compiled.product->description
                   : compiled.sort != nullptr  ? compiled.sort->description
                                               : print(*compiled.loops_of_code());
    report.schedule = compiled.decisions;
    report.bytes_read = bytes_read(fused);
    for (Value output : fused.outputs) report.bytes_written += journey.optimized.type_of(output).bytes();
    report.flops = count_flops(fused);
    report.lines = lines_of(fused);
    report.operations = positions_of(members_of(fused));
    report.reads = positions_of(values_read(fused));
    report.writes = positions_of(values_written(fused));
    report.dtype = main_dtype(fused);
    report.step = journey.assembled.step_of[i];
    if (report.step >= 0) {
      const Program::Step& step = program.steps[static_cast<size_t>(report.step)];
      report.tasks = step.tasks;
      report.work = work_of(compiled, step.tasks, journey.cpu);
      report.predicted_ns = 1e9 * predicted_seconds(report, expected);
    }
    report.has_code = compiled.has_code();
    report.from_disk_cache = compiled.is_from_disk();
    report.code = std::make_shared<const ReportedCode>(code_of(compiled, journey.cpu));
    contents.kernels.push_back(std::move(report));
  }
  for (const Program::Step& step : program.steps) {
    contents.steps.push_back(step.kernel->name + ": reads " + bytes_text(step.bytes_read) + ", writes " +
                             bytes_text(step.bytes_written));
  }
  for (const StepChain& chain : program.chains) {
    contents.steps[chain.first] += "; together with the next " + std::to_string(chain.shifts.size() - 1) +
                                   ", " + std::to_string(chain.block_tasks) + " of " +
                                   std::to_string(program.steps[chain.first].tasks) + " tasks at a time";
  }
  contents.memory = memory_of(journey);
  return contents;
}

}  // namespace

void StageClock::finish(const char* stage) {
  const auto now = std::chrono::steady_clock::now();
  times_.push_back({stage, std::chrono::duration<double, std::milli>(now - start_).count()});
  profiler::record(stage, {.category = ProfileCategory::compile,
                           .start_ns = start_.time_since_epoch() / std::chrono::nanoseconds(1),
                           .end_ns = now.time_since_epoch() / std::chrono::nanoseconds(1)});
  start_ = now;
}

PassJournal::PassJournal(PipelineOptions& options, const Graph& before, const LastingNames& names,
                         bool keeps_graphs)
    : keeps_graphs_(keeps_graphs) {
  if (keeps_graphs_) latest_ = print(before, kForPeople);
  options.record = &records_;
  options.after_pass = [this, &names](std::string_view, const Graph& graph) {
    if (!keeps_graphs_) return;
    PassRecord& record = records_.back();
    std::string text = record.changed ? print(graph, for_people(names.of(graph))) : latest_;
    record.changed = text != latest_;
    graphs_.push_back(record.changed ? text : std::string());
    if (!record.changed) return;
    latest_ = std::move(text);
    if (logging::enabled(logging::Channel::passes))
      logging::log(logging::Channel::passes, "after " + record.name + "\n" + latest_);
  };
}

std::vector<PassReport> PassJournal::passes() const {
  std::vector<PassReport> reports;
  for (size_t i = 0; i < records_.size(); ++i) {
    const PassRecord& record = records_[i];
    const auto pass = std::ranges::find(graph_passes(), record.name, &GraphPass::name);
    reports.push_back({record.name, std::string(pass->summary), pass->at_the_end ? -1 : record.round,
                       record.milliseconds, static_cast<int64_t>(record.nodes_before),
                       static_cast<int64_t>(record.nodes_after), record.changed,
                       keeps_graphs_ ? graphs_[i] : std::string()});
  }
  return reports;
}

std::vector<Layout> input_layouts(const Graph& graph, const FusedKernel& kernel,
                                  std::span<const Layout> parameters) {
  std::vector<Layout> layouts;
  for (Value input : kernel.inputs) {
    const auto& all = graph.parameters();
    const auto position = static_cast<size_t>(std::find(all.begin(), all.end(), input) - all.begin());
    layouts.push_back(position < all.size() ? parameters[position] : Layout{});
  }
  return layouts;
}

bool is_explained_at_once(const Graph& graph) {
  using logging::Channel;
  int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    // Numbers take less than the nodes that hold them.
    if (node.op == Op::constant && node.type.bytes() > static_cast<int64_t>(sizeof(Node)))
      bytes += node.type.bytes();
  }
  return bytes > kKeptBytes ||
         std::ranges::any_of(std::array{Channel::passes, Channel::fusion, Channel::memory, Channel::codegen},
                             [](Channel channel) { return logging::enabled(channel); });
}

PipelineOptions pipeline_for(const CompileOptions& options, const Cpu& cpu) {
  PipelineOptions pipeline;
  pipeline.fused_multiply_add = cpu.fma;
  pipeline.disabled = options.disabled_passes;
  if (!options.optimize) {
    pipeline.passes = {"expand-products"};  // kernels of products have a matrix on each side
    pipeline.as_recorded = true;
  }
  return pipeline;
}

std::shared_ptr<Explanation> explain(Journey journey, std::vector<StageTime> times, bool at_once) {
  auto explanation = std::make_shared<Explanation>(
      std::move(times),
      [journey = std::make_shared<const Journey>(std::move(journey))] { return contents_of(*journey); });
  if (at_once) {
    (void)explanation->contents();
    log_explanation(*explanation);
  }
  return explanation;
}

std::string KernelReport::llvm() const { return text_of_stages(*this, emit_llvm); }
std::string KernelReport::assembly() const { return text_of_stages(*this, emit_assembly); }

std::string to_string(const RefusedFusion& refused) {
  return refused.consumer + " into the kernel of " + refused.producer + ": " + refused.reason +
         (refused.times > 1 ? " (" + std::to_string(refused.times) + " times)" : "");
}

std::vector<int> Explanation::computed() const {
  return positions_where(operations(), [](const OperationReport& one) {
    return !one.kernels.empty() && !one.is_view && one.op != name_of(Op::constant);
  });
}

std::vector<int> Explanation::dead() const {
  return positions_where(traced(), [](const OperationReport& one) {
    return one.is_dead && !one.is_view && !one.inputs.empty();
  });
}

int Explanation::running() const {
  return static_cast<int>(
      std::ranges::count_if(kernels(), [](const KernelReport& one) { return one.step >= 0; }));
}

std::string Explanation::purpose() const {
  const size_t operations = computed().size();
  const std::string for_them =
      operations == 0 ? "" : "for " + plural(static_cast<int64_t>(operations), "operation");
  const auto idle = static_cast<int64_t>(kernels().size()) - running();
  if (kernels().empty()) return "needed, nothing is computed";
  if (running() == 0) return "needed" + (for_them.empty() ? "" : " " + for_them) + " without elements";
  const std::string copies = running() == 1 ? "that copies" : "that copy";
  return (for_them.empty() ? copies : for_them) +
         (idle == 0 ? "" : "; " + std::to_string(idle) + " more without elements");
}

std::string Explanation::headline() const {
  return (running() == 0 ? "no kernels" : plural(running(), "kernel")) + " " + purpose();
}

std::string Explanation::to_string() const {
  std::ostringstream text;
  text << headline() << "\n";
  for (const KernelReport& kernel : kernels()) {
    text << "  " << kernel.name << "  reads " << bytes_text(kernel.bytes_read) << ", writes "
         << bytes_text(kernel.bytes_written) << "\n";
  }
  text << "memory: " << bytes_text(memory().peak_bytes) << " planned, " << bytes_text(memory().naive_bytes)
       << " with a buffer for every operation\n";
  for (const RefusedFusion& refused : refused())
    text << "not fused: " << tokamak::to_string(refused) << place_after(refused.line) << "\n";
  for (int i : dead()) {
    const OperationReport& one = traced()[static_cast<size_t>(i)];
    text << "dead: " << one.name << " = " << one.text << place_after(one.line) << "\n";
  }
  double total = 0;
  for (const StageTime& time : times_) total += time.milliseconds;
  text.precision(3);
  text << "compiled in " << total << " ms (";
  for (size_t i = 0; i < times_.size(); ++i) {
    text << (i == 0 ? "" : ", ") << times_[i].stage << " " << times_[i].milliseconds;
  }
  text << ")\n";
  const auto from_disk = std::ranges::count_if(kernels(), &KernelReport::from_disk_cache);
  if (from_disk > 0)
    text << "from the disk cache: " << from_disk << " of "
         << std::ranges::count_if(kernels(), &KernelReport::has_code) << " kernels\n";
  return text.str();
}

}  // namespace tokamak
