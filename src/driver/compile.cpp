// The whole journey of a function, from the graph its trace recorded to a program that runs.

#include "driver/compile.h"

#include <algorithm>

#include "driver/assemble.h"
#include "driver/bug_report.h"
#include "driver/checks/observer.h"
#include "driver/dump.h"
#include "driver/in_place.h"
#include "driver/kept_program/kept_program.h"
#include "driver/kernel_cache.h"
#include "driver/prepare_pages.h"
#include "driver/report.h"
#include "driver/share_code.h"
#include "fusion/fuse.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "support/cpu.h"
#include "support/log.h"

namespace tokamak {

namespace {

/// The results that will need memory of their own, as far as is known before the plan is made.
std::vector<TensorType> new_results(const Graph& graph, const CompileOptions& options) {
  std::vector<TensorType> types;
  if (!options.donated.empty()) return types;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const bool is_written = std::ranges::find(options.written, static_cast<int>(i), &WrittenInput::output) !=
                            options.written.end();
    if (!is_written) types.push_back(graph.type_of(graph.outputs()[i]));
  }
  return types;
}

/// By value, of one that the passes made on the way to another: that one.
std::vector<std::optional<Value>> made_for(const Graph& graph) {
  std::vector<std::optional<Value>> found(graph.size());
  for (size_t i = graph.size(); i-- > 0;) {  // readers come after what they read
    for (Value input : graph.nodes()[i].inputs) {
      if (graph.origin_of(input) >= graph.size_at_first())
        found[index_of(input)] = found[i].value_or(static_cast<Value>(i));
    }
  }
  return found;
}

/// Whether the kernel makes new elements of an input, which may go where that lies.
bool writes_input(const Graph& graph, const CompileOptions& options, const FusedKernel& kernel) {
  return std::ranges::any_of(options.written, [&](const WrittenInput& written) {
    const Value value = stored_value(graph, graph.outputs()[static_cast<size_t>(written.output)]);
    return std::ranges::find(kernel.outputs, value) != kernel.outputs.end();
  });
}

/// Whether another kernel reads an output of this one, or the last cache has room for all that it works on.
bool is_read_soon(const Graph& graph, const std::vector<FusedKernel>& kernels, const FusedKernel& kernel,
                  const Cpu& cpu) {
  int64_t bytes = 0;
  for (Value input : kernel.inputs) bytes += graph.type_of(input).bytes();
  for (Value output : kernel.outputs) bytes += graph.type_of(output).bytes();
  if (bytes <= cpu.l3_bytes / 2) return true;
  return std::ranges::any_of(kernels, [&](const FusedKernel& other) {
    return std::ranges::any_of(parts_of(other), [&](const FusedKernel* part) {
      return std::ranges::any_of(part->inputs,
                                 [&](Value input) { return std::ranges::count(kernel.outputs, input) != 0; });
    });
  });
}

/// A bug of ours that a run of a program meets, with the graph it was made from.
std::function<InternalError(const InternalError&)> report_of(std::shared_ptr<const Graph> graph) {
  return [graph = std::move(graph)](const InternalError& error) { return with_bug_report(error, *graph); };
}

Compiled make_program(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
                      const ProgramEntry* entry);

/// The program that a process before has left, if it has, and nobody wants to see more than a program. It is
/// compiled when an explanation is asked for.
std::optional<Compiled> find_program(const Graph& graph, std::span<const Layout> layouts,
                                     const CompileOptions& options, const ProgramEntry& entry) {
  StageClock clock;
  std::optional<KeptProgram> found = entry.find();
  if (!found) return std::nullopt;
  Program& program = *found->program;
  program.name = options.called.empty() ? graph.name() : options.called;
  const auto kept = std::make_shared<const Graph>(graph);
  program.with_program = report_of(kept);
  log_kernels(found->kernels, found->codes, found->codes);
  clock.finish("disk cache");
  auto explain_later = [kept, layouts = std::vector<Layout>(layouts.begin(), layouts.end()), options] {
    const logging::Silence silence;
    return make_program(*kept, layouts, options, nullptr).explanation->contents();
  };
  return Compiled{std::move(found->program),
                  std::make_shared<Explanation>(clock.times(), std::move(explain_later))};
}

Compiled make_program(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
                      const ProgramEntry* entry) {
  const Cpu& cpu = current_cpu();
  StageClock clock;

  // 1. Passes: fold, simplify, merge what is equal, drop what is dead, compose views.
  PipelineOptions pipeline = pipeline_for(options, cpu);
  LastingNames names(graph);
  const bool explained_at_once = is_explained_at_once(graph);
  PassJournal journal(pipeline, graph, names, explained_at_once);
  const std::unique_ptr<ProgramDump> dump = ProgramDump::begin(graph);
  if (dump != nullptr) {
    pipeline.after_pass = [&dump, note = pipeline.after_pass](std::string_view pass, const Graph& after) {
      note(pass, after);
      dump->after_pass(pass, after);
    };
  }
  if (logging::enabled(logging::Channel::passes))
    logging::log(logging::Channel::passes, "before the passes\n" + print(graph, kForPeople));
  Graph optimized = run_pipeline(graph, pipeline);
  clock.finish("passes");

  // 2. Fusion: which operations share a kernel.
  FusionResult fusion = fuse(
      optimized, {.fuse = options.fuse,
                  .keep_dead = !options.optimize,
                  .made_for = options.optimize ? std::vector<std::optional<Value>>() : made_for(optimized),
                  .l2_bytes = cpu.l2_bytes,
                  .l3_bytes = cpu.l3_bytes});
  share_code(optimized, layouts, fusion.kernels);
  if (!options.written.empty()) {
    for (FusedKernel& kernel : fusion.kernels) kernel.checked_first = gathers_by_arguments(optimized, kernel);
  }
  clock.finish("fusion");

  // 3. Every kernel becomes loops, the loops are scheduled for this processor, and LLVM makes them machine
  // code. Meanwhile the memory of large results is made ready.
  std::vector<KernelRequest> requests;
  for (const FusedKernel& kernel : fusion.kernels) {
    std::vector<std::vector<Layout>> by_part;
    for (const FusedKernel* part : parts_of(kernel))
      by_part.push_back(input_layouts(optimized, *part, layouts));
    requests.push_back({&kernel, std::move(by_part),
                        options.donated.empty() && !writes_input(optimized, options, kernel),
                        is_read_soon(optimized, fusion.kernels, kernel, cpu)});
  }
  OutputsInPlace in_place;
  auto kernels = [&] {
    const PagePreparation while_compiling(new_results(optimized, options));
    const CodeOptions code{.fast_math = options.fast_math,
                           .bounds_checked = options.checks.has(Check::bounds)};
    KernelCompilation compilation(requests, code, cpu);
    in_place = outputs_in_place(optimized, layouts, options, fusion.kernels, compilation.scheduled());
    for (size_t i = 0; i < in_place.loops.size(); ++i) {
      if (in_place.loops[i]) compilation.replace_loops(i, std::move(*in_place.loops[i]));
    }
    return compilation.finish();
  }();
  clock.finish("code");

  // 4. The memory plan, and the steps of the program on it.
  Assembled assembled =
      assemble(optimized, names.of(optimized), layouts, options, fusion.kernels, kernels, in_place);
  if (options.checks.any())
    assembled.program->observer = make_observer({graph, optimized, options, fusion.kernels, assembled});
  clock.finish("plan");
  if (entry != nullptr) entry->keep(*assembled.program, kernels.size());

  Compiled compiled{assembled.program, nullptr};
  Program& program = *assembled.program;
  if (!options.called.empty()) program.name = options.called;
  compiled.explanation = explain({graph,
                                  std::move(optimized),
                                  std::move(names),
                                  journal.passes(),
                                  explained_at_once,
                                  {layouts.begin(), layouts.end()},
                                  options,
                                  std::move(fusion),
                                  std::move(kernels),
                                  std::move(assembled),
                                  cpu,
                                  ThreadPool::instance().num_threads()},
                                 clock.times(), explained_at_once);
  // A program that goes wrong while it runs is told with its constants, unless those are large: nobody is to
  // keep them alive, but who looks for bugs.
  if (!explained_at_once || options.checks.any()) {
    program.with_program = report_of(std::make_shared<const Graph>(graph));
  } else {
    program.with_program = [text = compiled.explanation->graph()](const InternalError& error) {
      return with_bug_report(error, text);
    };
  }
  if (dump != nullptr) dump->finish(*compiled.explanation);
  return compiled;
}

}  // namespace

Compiled compile(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options) {
  if (logging::enabled(logging::Channel::trace)) {
    logging::log(logging::Channel::trace,
                 print(graph, {.types = true, .locations = true, .max_constant_elements = 16}));
  }
  const std::string what = profiler::enabled()
                               ? "compile " + (options.called.empty() ? graph.name() : options.called)
                               : std::string();
  const ProfileScope profile(ProfileCategory::compile, what);
  try {
    if (is_explained_at_once(graph) || ProgramDump::is_wanted())
      return make_program(graph, layouts, options, nullptr);
    const ProgramEntry entry(graph, layouts, options, current_cpu());
    if (std::optional<Compiled> found = find_program(graph, layouts, options, entry))
      return std::move(*found);
    return make_program(graph, layouts, options, &entry);
  } catch (const InternalError& error) {
    throw with_bug_report(error, graph);
  }
}

}  // namespace tokamak
