// tokamak opt: text IR in, passes, text IR out.

#include <cstdio>
#include <iostream>

#include "commands.h"
#include "files.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "support/json.h"

namespace tokamak::tool {
namespace {

constexpr Option kOptions[] = {
    {"--passes", "NAMES",
     "only these, in this order, once (comma-separated, may be empty); otherwise the pipeline"},
    {"--disable", "NAMES", "leave these out (comma-separated)"},
    {"--print-after-all", "", "print the graph after every pass, to the standard error"},
    {"--time-passes", "", "print time and nodes of every pass, to the standard error"},
    {"--verify", "", "re-derive every type after every pass"},
    {"--no-fma", "", "fold constants as for a CPU without fused multiply-add"},
    {"--types", "", "print the type of every value"},
    {"--locations", "", "print the line every value comes from"},
    {"--json", "", "print JSON: each function with its graph, and what every pass did"},
    {"--list-passes", "", "list the passes in the order of the pipeline, and stop"},
};

std::string pass_json(const GraphPass& pass) {
  return "{\"name\": " + json_string(pass.name) + ", \"summary\": " + json_string(pass.summary) + "}";
}

void list_passes(bool as_json) {
  if (as_json) {
    const std::vector<GraphPass> passes(graph_passes().begin(), graph_passes().end());
    std::cout << json_list(passes, pass_json) << "\n";
    return;
  }
  for (const GraphPass& pass : graph_passes()) {
    std::string left(pass.name);
    left.resize(20, ' ');
    std::cout << left << pass.summary << "\n";
  }
}

void print_times(const Graph& graph, const std::vector<PassRecord>& records) {
  double total = 0;
  std::fprintf(stderr, "// @%s\n// %-18s %5s %10s %16s\n", graph.name().c_str(), "pass", "round", "ms",
               "nodes");
  for (const PassRecord& record : records) {
    std::fprintf(stderr, "// %-18s %5d %10.3f %7zu -> %5zu\n", record.name.c_str(), record.round,
                 record.milliseconds, record.nodes_before, record.nodes_after);
    total += record.milliseconds;
  }
  std::fprintf(stderr, "// %-18s %5s %10.3f\n", "all", "", total);
}

std::string record_json(const PassRecord& record) {
  return "{\"name\": " + json_string(record.name) + ", \"round\": " + std::to_string(record.round) +
         ", \"milliseconds\": " + json_number(record.milliseconds) +
         ", \"nodes_before\": " + std::to_string(record.nodes_before) +
         ", \"nodes_after\": " + std::to_string(record.nodes_after) +
         ", \"changed\": " + json_bool(record.changed) + "}";
}

std::string function_json(const Graph& graph, const PrintOptions& format,
                          const std::vector<PassRecord>& records) {
  return "{\"function\": " + json_string(graph.name()) + ", \"graph\": " + json_string(print(graph, format)) +
         ", \"passes\": " + json_list(records, record_json) + "}";
}

/// `--passes=` with nothing behind it only parses and prints.
Graph optimized(const Graph& graph, const PipelineOptions& options, bool any) {
  return any ? run_pipeline(graph, options) : graph;
}

}  // namespace

std::span<const Option> opt_options() { return kOptions; }

int run_opt(const Arguments& arguments) {
  if (arguments.has("--list-passes")) {
    list_passes(arguments.has("--json"));
    return kOk;
  }
  const PrintOptions format{.types = arguments.has("--types"), .locations = arguments.has("--locations")};
  std::vector<PassRecord> records;
  PipelineOptions options;
  options.fused_multiply_add = !arguments.has("--no-fma");
  options.passes = arguments.list("--passes");
  options.disabled = arguments.list("--disable");
  options.verify = options.verify || arguments.has("--verify");
  options.record = &records;
  if (arguments.has("--print-after-all")) {
    options.after_pass = [&](std::string_view pass, const Graph& graph) {
      std::cerr << "// after " << pass << "\n" << print(graph, format);
    };
  }
  const bool any = !arguments.has("--passes") || !options.passes.empty();

  const std::string& path = arguments.file();
  bool first = true;
  std::vector<std::string> functions;
  for (const Graph& graph : parse(read_file(path), shown_path(path))) {
    records.clear();
    const Graph result = optimized(graph, options, any);
    if (arguments.has("--time-passes")) print_times(result, records);
    if (arguments.has("--json")) {
      functions.push_back(function_json(result, format, records));
      continue;
    }
    if (!first) std::cout << "\n";
    first = false;
    std::cout << print(result, format);
  }
  if (arguments.has("--json")) std::cout << json_list(functions) << "\n";
  return kOk;
}

}  // namespace tokamak::tool
