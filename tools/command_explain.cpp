// tokamak explain: what the compiler makes of the functions of a file.

#include <algorithm>
#include <iostream>

#include "commands.h"
#include "driver/compile.h"
#include "files.h"
#include "ir/text.h"
#include "json_text.h"

namespace tokamak::tool {
namespace {

constexpr Option kOptions[] = {
    {"--no-fuse", "", "one kernel per operation"},
    {"--show", "WHAT",
     "a list: graph, schedule, loops, llvm, asm of each kernel, and memory; graph when not given"},
    {"--summary", "", "kernels, traffic, memory and times in a few lines"},
    {"--json", "", "print JSON instead of text"},
};

/// What --show names, of a kernel.
struct Shown {
  std::string_view name;
  std::string (*of)(const KernelReport& kernel);
};
constexpr Shown kShown[] = {
    {"graph", [](const KernelReport& kernel) { return kernel.graph; }},
    {"schedule", [](const KernelReport& kernel) { return kernel.schedule; }},
    {"loops", [](const KernelReport& kernel) { return kernel.loops; }},
    {"llvm", [](const KernelReport& kernel) { return kernel.llvm(); }},
    {"asm", [](const KernelReport& kernel) { return kernel.assembly(); }},
};

const Shown* shown_named(const std::string& name) {
  const auto* const found = std::ranges::find(kShown, name, &Shown::name);
  return found == std::end(kShown) ? nullptr : found;
}

void check_shown(const std::vector<std::string>& wanted) {
  for (const std::string& what : wanted) {
    if (what == "memory" || shown_named(what) != nullptr) continue;
    throw UsageError("--show: there is no '" + what +
                     "'; choose from graph, schedule, loops, llvm, asm and memory");
  }
}

void print_kernel(const KernelReport& kernel, const std::vector<std::string>& wanted) {
  std::cout << "kernel @" << kernel.name << ":";
  for (const std::string& op : kernel.ops) std::cout << " " << op;
  std::cout << "\n";
  for (const std::string& what : wanted)
    if (const Shown* shown = shown_named(what)) std::cout << shown->of(kernel);
}

std::string kernel_json(const KernelReport& kernel, const std::vector<std::string>& wanted) {
  std::string texts;
  for (const std::string& what : wanted)
    if (const Shown* shown = shown_named(what))
      texts += ", " + json_string(what) + ": " + json_string(shown->of(kernel));
  return "{\"name\": " + json_string(kernel.name) + ", \"ops\": " + json_list(kernel.ops, json_string) +
         ", \"bytes_read\": " + std::to_string(kernel.bytes_read) +
         ", \"bytes_written\": " + std::to_string(kernel.bytes_written) +
         ", \"flops\": " + json_number(kernel.flops) + texts + "}";
}

std::string refused_json(const RefusedFusion& refused) {
  return "{\"producer\": " + json_string(refused.producer) +
         ", \"consumer\": " + json_string(refused.consumer) + ", \"reason\": " + json_string(refused.reason) +
         "}";
}

std::string explanation_json(const std::string& name, const Explanation& explanation,
                             const std::vector<std::string>& wanted) {
  const MemoryReport& memory = explanation.memory();
  const bool with_plan = std::ranges::find(wanted, "memory") != wanted.end();
  const auto kernel_text = [&](const KernelReport& kernel) { return kernel_json(kernel, wanted); };
  return "{\"function\": " + json_string(name) +
         ", \"kernels\": " + json_list(explanation.kernels(), kernel_text) +
         ", \"memory\": {\"peak_bytes\": " + std::to_string(memory.peak_bytes) +
         ", \"naive_bytes\": " + std::to_string(memory.naive_bytes) +
         ", \"arena_bytes\": " + std::to_string(memory.arena_bytes) +
         ", \"output_bytes\": " + std::to_string(memory.output_bytes) +
         ", \"scratch_bytes\": " + std::to_string(memory.scratch_bytes) +
         (with_plan ? ", \"plan\": " + json_string(memory.plan) : "") +
         "}, \"refused\": " + json_list(explanation.refused(), refused_json) + "}";
}

int print_json(const std::string& path, bool fuse, const std::vector<std::string>& wanted) {
  std::vector<std::string> functions;
  for (const Graph& graph : parse(read_file(path), shown_path(path))) {
    const std::vector<Layout> layouts(graph.parameters().size());
    const Compiled compiled = compile(graph, layouts, {.fuse = fuse});
    functions.push_back(explanation_json(graph.name(), *compiled.explanation, wanted));
  }
  std::cout << json_list(functions) << "\n";
  return kOk;
}

/// Functions of Python are for the command of the Python package, which takes them before they get here.
void refuse_python(const std::string& path) {
  if (path.ends_with(".py") || path.find(".py:") != std::string::npos) {
    throw UsageError("'" + path +
                     "' is Python: it needs the command of the Python package; this one takes text IR");
  }
}

}  // namespace

std::span<const Option> explain_options() { return kOptions; }

int run_explain(const Arguments& arguments) {
  std::vector<std::string> wanted = arguments.list("--show");
  check_shown(wanted);
  const std::string& path = arguments.file();
  refuse_python(path);
  if (arguments.has("--json")) return print_json(path, !arguments.has("--no-fuse"), wanted);
  if (wanted.empty() && !arguments.has("--summary")) wanted = {"graph"};
  for (const Graph& graph : parse(read_file(path), shown_path(path))) {
    const std::vector<Layout> layouts(graph.parameters().size());
    const Compiled compiled = compile(graph, layouts, {.fuse = !arguments.has("--no-fuse")});
    const Explanation& explanation = *compiled.explanation;
    std::cout << "@" << graph.name() << ": " << explanation.kernels().size()
              << (explanation.kernels().size() == 1 ? " kernel\n" : " kernels\n");
    if (arguments.has("--summary")) std::cout << explanation.to_string();
    for (const KernelReport& kernel : explanation.kernels()) {
      if (!wanted.empty()) print_kernel(kernel, wanted);
    }
    for (const RefusedFusion& refused : explanation.refused()) {
      std::cout << "refused: " << refused.consumer << " with " << refused.producer << ": " << refused.reason
                << "\n";
    }
    for (const std::string& what : wanted) {
      if (what == "memory") std::cout << explanation.memory().plan;
    }
  }
  return kOk;
}

}  // namespace tokamak::tool
