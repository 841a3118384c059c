// tokamak explain: what the compiler makes of the functions of a file.

#include <algorithm>
#include <iostream>

#include "commands.h"
#include "driver/compile.h"
#include "driver/report_json.h"
#include "files.h"
#include "ir/text.h"
#include "support/json.h"

namespace tokamak::tool {
namespace {

constexpr Option kOptions[] = {
    {"--no-fuse", "", "one kernel per operation"},
    {"--show", "WHAT",
     "a list: graph, schedule, loops, llvm, asm of each kernel, and memory; graph when not given"},
    {"--summary", "", "kernels, traffic, memory and times in a few lines, before what --show names"},
    {"--json", "", "print JSON instead of text"},
};

void check_shown(const std::vector<std::string>& wanted) {
  for (const std::string& what : wanted) {
    if (what == "memory" || level_named(what) != nullptr) continue;
    throw UsageError("--show: there is no '" + what +
                     "'; choose from graph, schedule, loops, llvm, asm and memory");
  }
}

void print_kernel(const KernelReport& kernel, const std::vector<std::string>& wanted) {
  std::cout << "kernel @" << kernel.name << ":";
  for (const std::string& op : kernel.ops) std::cout << " " << op;
  std::cout << "\n";
  for (const std::string& what : wanted)
    if (const KernelLevel* level = level_named(what)) std::cout << level->of(kernel);
}

/// A summary has what is not fused, and kernels where they are not shown.
void print_explanation(const Explanation& explanation, const std::vector<std::string>& wanted,
                       bool is_summary) {
  std::cout << (is_summary ? explanation.to_string() : explanation.headline() + "\n");
  if (wanted.empty()) return;
  for (const KernelReport& kernel : explanation.kernels()) print_kernel(kernel, wanted);
  for (const RefusedFusion& refused : explanation.refused())
    if (!is_summary) std::cout << "not fused: " << to_string(refused) << "\n";
  if (std::ranges::find(wanted, "memory") != wanted.end()) std::cout << explanation.memory().plan;
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
    std::cout << "@" << graph.name() << ": ";
    print_explanation(*compiled.explanation, wanted, arguments.has("--summary"));
  }
  return kOk;
}

}  // namespace tokamak::tool
