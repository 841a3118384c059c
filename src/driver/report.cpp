#include "driver/report.h"

#include <algorithm>
#include <sstream>

#include "ir/text.h"
#include "runtime/profiler.h"
#include "support/log.h"

namespace tokamak {
namespace {

/// What KernelReport::code points to.
struct ReportedCode {
  std::shared_ptr<const LoopKernel> loops;
  Cpu cpu;
};

const ReportedCode& reported_code(const KernelReport& report) {
  return *static_cast<const ReportedCode*>(report.code.get());
}

constexpr PrintOptions kForPeople{.types = false, .locations = false, .max_constant_elements = 16};

/// The lines that the operations of all stages were written on. Parameters have none: theirs is that of the
/// call.
std::vector<SourceLocation> lines_of(const FusedKernel& kernel) {
  std::vector<SourceLocation> lines;
  for (const FusedKernel* stage : stages_of(kernel)) {
    for (const Node& node : stage->body.nodes()) {
      if (node.op != Op::parameter && node.where.known() &&
          std::find(lines.begin(), lines.end(), node.where) == lines.end())
        lines.push_back(node.where);
    }
  }
  return lines;
}

std::string bytes_text(int64_t bytes) {
  std::ostringstream text;
  text.precision(3);
  if (bytes < 1024) {
    text << bytes << " B";
  } else if (bytes < 1024 * 1024) {
    text << static_cast<double>(bytes) / 1024 << " KB";
  } else if (bytes < int64_t{1024} * 1024 * 1024) {
    text << static_cast<double>(bytes) / (1024 * 1024) << " MB";
  } else {
    text << static_cast<double>(bytes) / (1024.0 * 1024 * 1024) << " GB";
  }
  return text.str();
}

int64_t naive_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    const OpFamily family = family_of(node.op);
    if (family != OpFamily::View && (family != OpFamily::Source || node.op == Op::iota))
      bytes += node.type.bytes();
  }
  return bytes;
}

void log_explanation(const Explanation& explanation) {
  using logging::Channel;
  if (logging::enabled(Channel::passes))
    logging::log(Channel::passes, "optimized\n" + explanation.optimized());
  if (logging::enabled(Channel::fusion)) {
    for (const KernelReport& kernel : explanation.kernels())
      logging::log(Channel::fusion, "kernel " + kernel.name);
    for (const RefusedFusion& refused : explanation.refused()) {
      logging::log(Channel::fusion,
                   refused.consumer + " does not join " + refused.producer + ": " + refused.reason);
    }
  }
  if (logging::enabled(Channel::memory)) logging::log(Channel::memory, explanation.memory().plan);
  if (logging::enabled(Channel::codegen)) {
    for (const KernelReport& kernel : explanation.kernels()) logging::log(Channel::codegen, kernel.loops);
  }
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

std::shared_ptr<const Explanation> explain(const Journey& journey) {
  auto explanation = std::make_shared<Explanation>();
  explanation->graph_ = print(journey.traced, kForPeople);
  explanation->optimized_ = print(journey.optimized, kForPeople);
  explanation->refused_ = journey.fusion.refused;
  explanation->times_ = journey.times;
  for (size_t i = 0; i < journey.kernels.size(); ++i) {
    const FusedKernel& fused = journey.fusion.kernels[i];
    const CompiledKernel& compiled = *journey.kernels[i];
    KernelReport report;
    report.name = fused.name;
    report.ops = op_names(fused);
    for (const FusedKernel* stage : stages_of(fused))
      report.graph += (report.graph.empty() ? "" : "\n") + print(stage->body, kForPeople);
    report.loops = compiled.product != nullptr ? compiled.product->description
                   : compiled.sort != nullptr  ? compiled.sort->description
                                               : print(*compiled.loops);
    report.schedule = compiled.decisions;
    for (Value input : values_read(fused)) report.bytes_read += journey.optimized.type_of(input).bytes();
    for (Value output : fused.outputs) report.bytes_written += journey.optimized.type_of(output).bytes();
    report.flops = count_flops(fused);
    report.lines = lines_of(fused);
    report.code = std::make_shared<const ReportedCode>(ReportedCode{compiled.loops, journey.cpu});
    explanation->kernels_.push_back(std::move(report));
  }
  const Program& program = *journey.assembled.program;
  for (const Program::Step& step : program.steps) {
    explanation->steps_.push_back(step.kernel->name + ": reads " + bytes_text(step.bytes_read) + ", writes " +
                                  bytes_text(step.bytes_written));
  }
  const Plan& plan = journey.assembled.plan;
  explanation->memory_ = {plan.peak_bytes(), naive_bytes(journey.optimized), plan.arena_bytes,
                          plan.output_bytes, journey.assembled.plan_text};
  log_explanation(*explanation);
  return explanation;
}

std::string KernelReport::llvm() const {
  return emit_llvm(*reported_code(*this).loops, reported_code(*this).cpu);
}
std::string KernelReport::assembly() const {
  return emit_assembly(*reported_code(*this).loops, reported_code(*this).cpu);
}

std::string Explanation::to_string() const {
  std::ostringstream text;
  text << kernels_.size() << (kernels_.size() == 1 ? " kernel" : " kernels") << "\n";
  for (const KernelReport& kernel : kernels_) {
    text << "  " << kernel.name << "  reads " << bytes_text(kernel.bytes_read) << ", writes "
         << bytes_text(kernel.bytes_written) << "\n";
  }
  text << "memory: " << bytes_text(memory_.peak_bytes) << " planned, " << bytes_text(memory_.naive_bytes)
       << " with a buffer for every operation\n";
  if (!refused_.empty()) text << "not fused:\n";
  for (const RefusedFusion& refused : refused_) {
    text << "  " << refused.consumer << " with " << refused.producer << ": " << refused.reason
         << (refused.times > 1 ? " (" + std::to_string(refused.times) + " times)" : "") << "\n";
  }
  double total = 0;
  for (const StageTime& time : times_) total += time.milliseconds;
  text.precision(3);
  text << "compiled in " << total << " ms (";
  for (size_t i = 0; i < times_.size(); ++i) {
    text << (i == 0 ? "" : ", ") << times_[i].stage << " " << times_[i].milliseconds;
  }
  text << ")\n";
  return text.str();
}

}  // namespace tokamak
