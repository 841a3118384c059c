// A driver whose programs are interpreted graphs, so that the front end can be tested without the compiler.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "driver/compile.h"
#include "interp/interpreter.h"
#include "trace/array_impl.h"
#include "trace/testing.h"

namespace tokamak {
namespace {

std::mutex mutex;
std::map<const Program*, Graph> graphs;  // never shrinks: tests are short
std::atomic<int> compiled = 0;
std::atomic<bool> fails = false;

/// An output takes over the first donated input of its type that is still free.
std::vector<std::optional<int>> donors(const Program& program, const CompileOptions& options) {
  std::vector<std::optional<int>> result(program.outputs.size());
  std::vector<int> free = options.donated;
  for (size_t i = 0; i < result.size(); ++i) {
    auto donor = std::find_if(free.begin(), free.end(), [&](int input) {
      return program.inputs[static_cast<size_t>(input)] == program.outputs[i];
    });
    if (donor == free.end()) continue;
    result[i] = *donor;
    free.erase(donor);
  }
  return result;
}

}  // namespace

namespace testing {

const bool kInterpreted = true;
int compile_count() { return compiled; }
bool fail_next_compile() {
  fails = true;
  return true;
}

}  // namespace testing

Compiled compile(const Graph& graph, std::span<const Layout>, const CompileOptions& options) {
  ++compiled;
  if (fails.exchange(false)) throw Unsupported("compile: told to fail");
  auto program = std::make_shared<Program>();
  for (Value value : graph.parameters()) program->inputs.push_back(graph.type_of(value));
  for (Value value : graph.outputs()) program->outputs.push_back(graph.type_of(value));
  program->output_donor = donors(*program, options);
  std::lock_guard lock(mutex);
  graphs.insert_or_assign(program.get(), graph);  // addresses come again
  return {program,
          std::make_shared<Explanation>(std::vector<StageTime>(), [] { return Explanation::Contents(); })};
}

void Program::run(const void* const* input_data, const int64_t* const* input_strides,
                  void* const* output_data) const {
  const Graph* graph;
  {
    std::lock_guard lock(mutex);
    graph = &graphs.at(this);
  }
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor tensor(inputs[i]);
    const std::vector<int64_t> strides =
        input_strides[i] == nullptr
            ? dense_strides(inputs[i])
            : std::vector<int64_t>(input_strides[i], input_strides[i] + inputs[i].rank());
    copy_to_dense(inputs[i], static_cast<const std::byte*>(input_data[i]), strides.data(),
                  tensor.mutable_data());
    arguments.push_back(tensor);
  }
  const std::vector<Tensor> results = interpret(*graph, arguments, false);
  for (size_t i = 0; i < results.size(); ++i)
    std::memcpy(output_data[i], results[i].data(), results[i].byte_size());
}

}  // namespace tokamak
