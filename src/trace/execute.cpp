#include "trace/execute.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "trace/array_impl.h"

namespace tokamak {
namespace {

constexpr uintptr_t kOutputAlignment = 64;

/// The bytes from the first to past the last that an array may touch.
struct Extent {
  const std::byte* begin;
  const std::byte* end;
};

Extent extent_of(const TensorType& type, const Memory& memory) {
  const ByteRange range = byte_range(type, memory.strides.data());
  return {memory.data + range.begin, memory.data + range.end};
}

bool overlap(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

/// One run: what Program::run takes, and what keeps it alive.
struct Run {
  std::vector<Array> inputs;  ///< a donated one may stand replaced by a copy
  std::vector<Array> outputs;
  std::vector<const void*> input_data;
  std::vector<const int64_t*> input_strides;
  std::vector<void*> output_data;
};

/// Whether the output may be written over this input: nothing else may read that memory, and it must lie as
/// outputs do.
bool can_take_over(const Run& run, size_t donor) {
  const Memory& memory = *run.inputs[donor].impl().memory();
  if (!memory.writeable || !memory.layout.dense ||
      reinterpret_cast<uintptr_t>(memory.data) % kOutputAlignment != 0)
    return false;
  const Extent mine = extent_of(run.inputs[donor].type(), memory);
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    if (i == donor) continue;
    if (overlap(mine, extent_of(run.inputs[i].type(), *run.inputs[i].impl().memory()))) return false;
  }
  return true;
}

Array take_over(Run& run, size_t donor) {
  if (!can_take_over(run, donor)) {
    // The program overwrites its input wherever that is: give it a copy to do so.
    const Memory& memory = *run.inputs[donor].impl().memory();
    Array copy = allocate_array(run.inputs[donor].type());
    copy_to_dense(copy.type(), memory.data, memory.strides.data(), copy.impl().memory()->data);
    run.inputs[donor] = copy;
    return copy;
  }
  const Memory& memory = *run.inputs[donor].impl().memory();
  return make_array(run.inputs[donor].type(), memory);
}

}  // namespace

std::vector<Array> run_program(const Program& program, std::span<const Array> inputs, std::string_view name,
                               const std::source_location& where) {
  Run run;
  run.inputs.assign(inputs.begin(), inputs.end());
  const std::string function(name);
  for (const Array& input : inputs) memory_of(input, function.c_str(), where);
  return with_user_line(where, [&] {
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const bool donated = i < program.output_donor.size() && program.output_donor[i].has_value();
      run.outputs.push_back(donated ? take_over(run, static_cast<size_t>(*program.output_donor[i]))
                                    : allocate_array(program.outputs[i]));
      run.output_data.push_back(run.outputs.back().impl().memory()->data);
    }
    for (const Array& input : run.inputs) {
      const Memory& memory = *input.impl().memory();
      run.input_data.push_back(memory.data);
      run.input_strides.push_back(memory.layout.dense ? nullptr : memory.strides.data());
    }
    program.run(run.input_data.data(), run.input_strides.data(), run.output_data.data());
    for (const auto& donor : program.output_donor) {
      if (donor) inputs[static_cast<size_t>(*donor)].impl().donate();
    }
    return std::move(run.outputs);
  });
}

}  // namespace tokamak
