#include "driver/report_json.h"

#include <algorithm>

#include "support/json.h"

namespace tokamak {
namespace {

constexpr KernelLevel kLevels[] = {
    {"graph", [](const KernelReport& kernel) { return kernel.graph; }},
    {"schedule", [](const KernelReport& kernel) { return kernel.schedule; }},
    {"loops", [](const KernelReport& kernel) { return kernel.loops; }},
    {"llvm", [](const KernelReport& kernel) { return kernel.llvm(); }},
    {"asm", [](const KernelReport& kernel) { return kernel.assembly(); }},
};

std::string line_json(const SourceLocation& line) {
  return line.known() ? json_string(line.file + ":" + std::to_string(line.line)) : "null";
}

/// Each once: parts of a line have columns of their own.
std::string lines_json(const std::vector<SourceLocation>& lines) {
  std::vector<std::string> texts;
  for (const SourceLocation& line : lines) {
    if (std::string text = line_json(line); std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  }
  return json_list(texts);
}

std::string kernel_json(const KernelReport& kernel, const std::vector<std::string>& shown) {
  std::string texts;
  for (const std::string& name : shown) {
    if (const KernelLevel* level = level_named(name))
      texts += ", " + json_string(name) + ": " + json_string(level->of(kernel));
  }
  return "{\"name\": " + json_string(kernel.name) + ", \"ops\": " + json_list(kernel.ops, json_string) +
         ", \"bytes_read\": " + std::to_string(kernel.bytes_read) +
         ", \"bytes_written\": " + std::to_string(kernel.bytes_written) +
         ", \"flops\": " + json_number(kernel.flops) + ", \"runs\": " + json_bool(kernel.step >= 0) +
         ", \"has_code\": " + json_bool(kernel.has_code) +
         ", \"from_disk_cache\": " + json_bool(kernel.from_disk_cache) +
         ", \"lines\": " + lines_json(kernel.lines) + texts + "}";
}

std::string memory_json(const MemoryReport& memory, bool has_plan) {
  const auto in_place =
      std::ranges::count_if(memory.buffers, [](const BufferReport& one) { return one.in_place_of >= 0; });
  return "{\"peak_bytes\": " + std::to_string(memory.peak_bytes) +
         ", \"naive_bytes\": " + std::to_string(memory.naive_bytes) +
         ", \"arena_bytes\": " + std::to_string(memory.arena_bytes) +
         ", \"output_bytes\": " + std::to_string(memory.output_bytes) +
         ", \"scratch_bytes\": " + std::to_string(memory.scratch_bytes) +
         ", \"in_place\": " + std::to_string(in_place) +
         (has_plan ? ", \"plan\": " + json_string(memory.plan) : "") + "}";
}

std::string refused_json(const RefusedFusion& refused) {
  return "{\"consumer\": " + json_string(refused.consumer) +
         ", \"producer\": " + json_string(refused.producer) + ", \"reason\": " + json_string(refused.reason) +
         ", \"times\": " + std::to_string(refused.times) + ", \"line\": " + line_json(refused.line) + "}";
}

std::string operation_json(const OperationReport& operation) {
  return "{\"name\": " + json_string(operation.name) + ", \"text\": " + json_string(operation.text) +
         ", \"type\": " + json_string(to_string(operation.type)) +
         ", \"line\": " + line_json(operation.line) + "}";
}

std::string times_json(const std::vector<StageTime>& times) {
  std::string text;
  for (const StageTime& time : times)
    text += (text.empty() ? "" : ", ") + json_string(time.stage) + ": " + json_number(time.milliseconds);
  return "{" + text + "}";
}

}  // namespace

const KernelLevel* level_named(std::string_view name) {
  const auto* const found = std::ranges::find(kLevels, name, &KernelLevel::name);
  return found == std::end(kLevels) ? nullptr : found;
}

std::string explanation_json(std::string_view function, const Explanation& explanation,
                             const std::vector<std::string>& shown) {
  const bool has_plan = std::ranges::find(shown, "memory") != shown.end();
  const auto dead_json = [&](int i) { return operation_json(explanation.traced()[static_cast<size_t>(i)]); };
  return "{\"function\": " + json_string(function) +
         ", \"operations\": " + std::to_string(explanation.computed().size()) + ", \"kernels\": " +
         json_list(explanation.kernels(), [&](const KernelReport& one) { return kernel_json(one, shown); }) +
         ", \"memory\": " + memory_json(explanation.memory(), has_plan) +
         ", \"refused\": " + json_list(explanation.refused(), refused_json) +
         ", \"dead\": " + json_list(explanation.dead(), dead_json) +
         ", \"times\": " + times_json(explanation.times()) + "}";
}

}  // namespace tokamak
