// tokamak explain: what the compiler makes of the functions of a file.

#include <iostream>

#include "commands.h"
#include "driver/compile.h"
#include "files.h"
#include "ir/text.h"

namespace tokamak::tool {
namespace {

constexpr Option kOptions[] = {
    {"--no-fuse", "", "one kernel per operation"},
    {"--show", "WHAT",
     "a list: graph, schedule, loops, llvm, asm of each kernel, and memory; graph when not given"},
    {"--summary", "", "kernels, traffic, memory and times in a few lines"},
};

void show(const KernelReport& kernel, const std::string& what) {
  if (what == "graph") {
    std::cout << kernel.graph;
  } else if (what == "schedule") {
    std::cout << kernel.schedule;
  } else if (what == "loops") {
    std::cout << kernel.loops;
  } else if (what == "llvm") {
    std::cout << kernel.llvm();
  } else if (what == "asm") {
    std::cout << kernel.assembly();
  } else if (what != "memory") {
    throw UsageError("--show: there is no '" + what +
                     "'; choose from graph, schedule, loops, llvm, asm and memory");
  }
}

void print_kernel(const KernelReport& kernel, const std::vector<std::string>& wanted) {
  std::cout << "kernel @" << kernel.name << ":";
  for (const std::string& op : kernel.ops) std::cout << " " << op;
  std::cout << "\n";
  for (const std::string& what : wanted) show(kernel, what);
}

}  // namespace

std::span<const Option> explain_options() { return kOptions; }

int run_explain(const Arguments& arguments) {
  std::vector<std::string> wanted = arguments.list("--show");
  if (wanted.empty() && !arguments.has("--summary")) wanted = {"graph"};
  const std::string& path = arguments.file();
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
