#include "runtime/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/buffer_pool.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "support/rounding.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// By the estimate of task_cost, which is about half as much again as it takes with registers of 64 bytes.
constexpr double kChunkNanoseconds = 8000;

/// A few elements without the heap; more with it.
template <class T, size_t kInline>
class SmallArray {
 public:
  explicit SmallArray(size_t size) : data_(inline_) {
    if (size > kInline) {
      heap_.resize(size);
      data_ = heap_.data();
    }
  }
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T inline_[kInline];  // NOLINT: left unset on purpose
  std::vector<T> heap_;
  T* data_;
};

/// What the steps of one run share.
struct Running final : BlockMemory {
  const Program& program;
  const void* const* inputs;
  const int64_t* const* strides;
  void* const* outputs;
  std::byte* arena;

  Running(const Program& program_, const void* const* inputs_, const int64_t* const* strides_,
          void* const* outputs_, std::byte* arena_)
      : program(program_), inputs(inputs_), strides(strides_), outputs(outputs_), arena(arena_) {}

  const int64_t* strides_of(int input) const override { return strides[input]; }
  size_t rank_of(int input) const override { return program.inputs[static_cast<size_t>(input)].shape.size(); }

  void* find(Place place) const override {
    std::byte* start = first_byte(place);
    return start == nullptr ? nullptr : start + place.offset;
  }

  BufferExtent extent_of(Place place, int64_t bytes) const override {
    const std::byte* first = first_byte(place);
    if (first == nullptr) return {};
    if (place.kind != Place::Kind::input || strides[place.at] == nullptr) return {first, first + bytes};
    const ByteRange range = byte_range(program.inputs[static_cast<size_t>(place.at)], strides[place.at]);
    return {first + range.begin, first + range.end};
  }

  std::byte* first_byte(Place place) const {
    switch (place.kind) {
      case Program::Place::Kind::input:  // NOLINTNEXTLINE: donated ones are written
        return static_cast<std::byte*>(const_cast<void*>(inputs[place.at]));
      case Program::Place::Kind::output:
        return static_cast<std::byte*>(outputs[place.at]);
      case Program::Place::Kind::arena:
        return arena + place.at;
      case Program::Place::Kind::constant:
        return const_cast<std::byte*>(
            program.constants[static_cast<size_t>(place.at)].data());  // NOLINT: only read
      case Place::Kind::block:
        break;
    }
    return nullptr;
  }
};

void run_nest(const Program::Step& step, size_t nest, const KernelFrame& frame) {
  const NestFunction function = step.code->nests()[nest];
  const int64_t tasks = step.kernel->nests[nest].root.extent;
  const int64_t grain = step.grains[nest];
  const int64_t scratch_bytes = step.kernel->scratch_bytes;
  if (tasks <= grain) {
    if (tasks > 0)
      function(&frame, 0, tasks, scratch_bytes == 0 ? nullptr : scratch_for_this_thread(scratch_bytes));
    return;
  }
  ThreadPool& pool = ThreadPool::instance();
  if (scratch_bytes == 0) {
    pool.run(tasks, grain, [&](int64_t begin, int64_t end, int) { function(&frame, begin, end, nullptr); });
    return;
  }
  const int workers = pool.num_threads();
  const int64_t per_worker = round_up(scratch_bytes, kBlockAlignment);
  const Block scratch = BufferPool::instance().allocate(per_worker * workers);
  auto* base = static_cast<std::byte*>(scratch.data());
  pool.run(
      tasks, grain,
      [&](int64_t begin, int64_t end, int worker) {
        function(&frame, begin, end, base + worker * per_worker);
      },
      workers);
}

/// As run_nest takes it.
int64_t scratch_of_nest(const Program::Step& step, size_t nest) {
  const int64_t bytes = step.kernel->scratch_bytes;
  const bool is_shared = step.kernel->nests[nest].root.extent > step.grains[nest];
  return is_shared ? round_up(bytes, kBlockAlignment) * ThreadPool::instance().num_threads() : bytes;
}

int64_t scratch_of_step(const Program::Step& step, const Running& running) {
  if (step.sort != nullptr) return sort_scratch_bytes(*step.sort, running);
  if (step.block != nullptr) return block_scratch_bytes(*step.block, running);
  int64_t most = 0;
  const size_t end = std::min(step.end_nest, step.kernel->nests.size());
  for (size_t nest = step.first_nest; nest < end; ++nest) most = std::max(most, scratch_of_nest(step, nest));
  return most;
}

void check(const Program::Step& step, int32_t failed_check) {
  if (failed_check == 0) return;
  throw step.kernel->checks[static_cast<size_t>(failed_check) - 1].error;
}

void run_step(const Program::Step& step, const Running& running) {
  const bool is_library = step.sort != nullptr || step.block != nullptr;
  ProfileScope profile(is_library ? ProfileCategory::library : ProfileCategory::kernel, step.kernel->name);
  profile.count(step.bytes_read, step.bytes_written, step.flops);

  if (step.sort != nullptr) return run_sort_step(*step.sort, running);
  int32_t failed_check = 0;
  if (step.block != nullptr) {
    run_block_step(*step.block, running, &failed_check);
    return check(step, failed_check);
  }
  SmallArray<void*, 16> buffers(step.buffers.size());
  for (size_t i = 0; i < step.buffers.size(); ++i) buffers[i] = running.find(step.buffers[i]);
  size_t slots = 0;
  for (int input : step.strided_inputs)
    slots += running.program.inputs[static_cast<size_t>(input)].shape.size();
  SmallArray<int64_t, 16> strides(slots);
  size_t slot = 0;
  for (int input : step.strided_inputs) {
    const size_t rank = running.program.inputs[static_cast<size_t>(input)].shape.size();
    std::copy_n(running.strides[input], rank, strides.data() + slot);
    slot += rank;
  }
  KernelFrame frame{.buffers = buffers.data(),
                    .strides = strides.data(),
                    .failed_check = &failed_check,
                    .numbers = step.numbers.data()};
  std::optional<CheckedKernel> checked;
  if (!step.sites.empty()) {
    checked.emplace();
    for (size_t i = 0; i < step.buffers.size(); ++i)
      checked->extents.push_back(running.extent_of(step.buffers[i], step.sites[i].bytes));
    checked->join(frame);
  }
  const size_t end = std::min(step.end_nest, step.code->nests().size());
  for (size_t nest = step.first_nest; nest < end && failed_check == 0; ++nest) {
    const bool is_done =
        step.copy && step.copy->nest == nest &&
        buffers[static_cast<size_t>(step.copy->from)] == buffers[static_cast<size_t>(step.copy->to)];
    if (!is_done) run_nest(step, nest, frame);
  }
  if (failed_check == kFailedAccess) checked->throw_reported(*step.kernel, step.sites);
  check(step, failed_check);
}

void copy_repeated_outputs(const Running& running) {
  for (const Program::Copy& copy : running.program.copies) {
    const int64_t bytes = running.program.outputs[static_cast<size_t>(copy.source)].bytes();
    if (bytes != 0)
      std::memcpy(running.outputs[copy.output], running.outputs[copy.source], static_cast<size_t>(bytes));
  }
}

void run_observed(const Running& running, const ProgramObserver& observer) {
  try {
    for (size_t i = 0; i < running.program.steps.size(); ++i) {
      run_step(running.program.steps[i], running);
      observer.after_step(i, running);
    }
    copy_repeated_outputs(running);
    observer.after_run(running);
  } catch (const InternalError& error) {
    throw observer.with_program(error);
  }
}

}  // namespace

int64_t grain_for(double task_cost) {
  constexpr double kMost = 1e12;
  return static_cast<int64_t>(
      std::clamp(std::ceil(kChunkNanoseconds / std::max(task_cost, 1e-3)), 1.0, kMost));
}

int64_t even_grain(double task_cost, int64_t tasks) {
  const int64_t grain = grain_for(task_cost);
  if (tasks <= grain) return grain;
  const int64_t chunks = (tasks - 1) / grain + 1;
  return (tasks - 1) / chunks + 1;
}

void Program::run(const void* const* input_data, const int64_t* const* input_strides,
                  void* const* output_data) const {
  const ProfileScope profile(ProfileCategory::call, name);
  Block arena;
  if (arena_bytes != 0) arena = BufferPool::instance().allocate(arena_bytes);
  const Running running(*this, input_data, input_strides, output_data, static_cast<std::byte*>(arena.data()));
  if (observer != nullptr) return run_observed(running, *observer);
  for (const Step& step : steps) run_step(step, running);
  copy_repeated_outputs(running);
}

int64_t Program::scratch_bytes() const {
  alignas(kBlockAlignment) static std::byte nothing[kBlockAlignment];  // no step looks at it
  const std::vector<const void*> input_data(inputs.size(), nothing);
  const std::vector<void*> output_data(outputs.size(), nothing);
  std::vector<std::vector<int64_t>> strides;
  std::vector<const int64_t*> input_strides;
  for (const TensorType& type : inputs) strides.push_back(dense_strides(type));
  for (const std::vector<int64_t>& of_one : strides) input_strides.push_back(of_one.data());
  const Running running(*this, input_data.data(), input_strides.data(), output_data.data(), nothing);
  int64_t most = 0;
  for (const Step& step : steps) most = std::max(most, scratch_of_step(step, running));
  return most;
}

}  // namespace tokamak
