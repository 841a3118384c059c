// Any bytes as text IR: they are a program, or an error that says where. libFuzzer makes them up (make
// fuzz-parser).

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ir/text.h"
#include "ops/record.h"
#include "passes/pipeline.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// Passes compute with constants: what takes them long is not what is looked for.
constexpr int64_t kMostElements = 4096;

bool is_small(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.type.elements() > kMostElements) return false;
  return true;
}

[[noreturn]] void fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

void try_text(std::string_view text) {
  std::vector<Graph> graphs;
  try {
    graphs = parse(text);
  } catch (const UserError&) {
    return;
  }
  for (const Graph& graph : graphs) {
    verify(graph);
    const std::string printed = print(graph);
    if (print(parse_one(printed)) != printed) fail("printed and parsed, it is another", printed);
    if (!is_small(graph)) continue;
    try {
      run_pipeline(graph, {.verify = true});
    } catch (const UserError&) {  // a constant index out of range
    }
  }
}

}  // namespace
}  // namespace tokamak

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tokamak::try_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
