#include "runtime/program.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "runtime/buffer_pool.h"
#include "runtime/futex.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "support/cache_line.h"
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

/// Scratch for each of several workers. What is worked on often begins at a page: stores to scratch that begins a
/// line or two beyond one would hold up the loads of the next elements (kAlike). So large scratch begins in the
/// middle of a page.
class WorkersScratch {
 public:
  explicit WorkersScratch(int64_t bytes)
      : is_large_(bytes >= kAlike / 2), of_each_(round_up(bytes, is_large_ ? kAlike : kBlockAlignment)) {}

  int64_t bytes(int workers) const { return of_each_ * workers + (is_large_ ? kAlike : 0); }

  std::byte* of(int worker, void* memory) const {
    auto* begin = static_cast<std::byte*>(memory) + worker * of_each_;
    const auto place = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory) % kAlike);
    return is_large_ ? begin + (kAlike + kAlike / 2 - place) % kAlike : begin;
  }

 private:
  bool is_large_;
  int64_t of_each_;
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
    pool.run(
        tasks, grain, [&](int64_t begin, int64_t end, int) { function(&frame, begin, end, nullptr); },
        kMaxThreads, step.cost);
    return;
  }
  const int workers = pool.num_threads();
  const WorkersScratch places(scratch_bytes);
  const Block scratch = BufferPool::instance().borrow(places.bytes(workers));
  pool.run(
      tasks, grain,
      [&](int64_t begin, int64_t end, int worker) {
        function(&frame, begin, end, places.of(worker, scratch.data()));
      },
      workers, step.cost);
}

/// As run_nest takes it.
int64_t scratch_of_nest(const Program::Step& step, size_t nest) {
  const int64_t bytes = step.kernel->scratch_bytes;
  const bool is_shared = step.kernel->nests[nest].root.extent > step.grains[nest];
  if (!is_shared || bytes == 0) return bytes;
  return WorkersScratch(bytes).bytes(ThreadPool::instance().num_threads());
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
  const auto number = static_cast<size_t>(failed_check) - 1;
  if (number >= step.kernel->checks.size())
    throw InternalError("a check failed that the program does not have");
  throw step.kernel->checks[number].error;
}

size_t stride_slots(const Program::Step& step, const Running& running) {
  size_t slots = 0;
  for (int input : step.strided_inputs) slots += running.rank_of(input);
  return slots;
}

void fill_frame(const Program::Step& step, const Running& running, void** buffers, int64_t* strides) {
  for (size_t i = 0; i < step.buffers.size(); ++i) buffers[i] = running.find(step.buffers[i]);
  for (int input : step.strided_inputs)
    strides = std::copy_n(running.strides[input], running.rank_of(input), strides);
}

/// Runs the steps of a chain, block by block.
class ChainRun {
 public:
  ChainRun(const StepChain& chain, const Running& running)
      : chain_(chain), steps_(running.program.steps), ended_(static_cast<size_t>(chain.blocks)) {
    for (size_t i = chain.first; i < chain.end(); ++i) {
      const Program::Step& step = steps_[i];
      Frame& frame = frames_.emplace_back();
      frame.buffers.resize(step.buffers.size());
      frame.strides.resize(stride_slots(step, running));
      fill_frame(step, running, frame.buffers.data(), frame.strides.data());
    }
  }

  void run() {
    const bool is_recorded = profiler::enabled();
    if (is_recorded) times_ = std::vector<std::atomic<int64_t>>(frames_.size());
    const int64_t start = is_recorded ? profiler::now_ns() : 0;
    ThreadPool& pool = ThreadPool::instance();
    const auto workers = static_cast<int>(std::min<int64_t>(pool.num_threads(), chain_.blocks));
    int64_t per_worker = 0;
    for (size_t i = chain_.first; i < chain_.end(); ++i)
      per_worker = std::max(per_worker, round_up(steps_[i].kernel->scratch_bytes, kBlockAlignment));
    Block scratch;
    if (per_worker != 0) scratch = BufferPool::instance().borrow(per_worker * workers);
    auto* base = static_cast<std::byte*>(scratch.data());
    pool.run(
        workers, 1,
        [&](int64_t, int64_t, int worker) {
          for (int64_t block = next_++; block < chain_.blocks; block = next_++)
            run_block(block, per_worker == 0 ? nullptr : base + worker * per_worker);
        },
        workers);
    if (is_recorded) record(start, profiler::now_ns());
  }

 private:
  struct Frame {
    std::vector<void*> buffers;
    std::vector<int64_t> strides;
  };

  void run_block(int64_t block, std::byte* scratch) {
    for (size_t i = 0; i < frames_.size(); ++i) {
      if (block > 0) wait_for(block - 1, i);
      const int64_t start = times_.empty() ? 0 : profiler::now_ns();
      run_tasks(i, block, scratch);
      if (!times_.empty()) times_[i] += profiler::now_ns() - start;
      ended_[static_cast<size_t>(block)].store(i + 1, std::memory_order_release);
    }
  }

  void run_tasks(size_t i, int64_t block, std::byte* scratch) {
    const Program::Step& step = steps_[chain_.first + i];
    const int64_t first = block * chain_.block_tasks - chain_.shifts[i];
    const int64_t begin = std::max<int64_t>(first, 0);
    const int64_t end = std::min(first + chain_.block_tasks, step.kernel->nests[0].root.extent);
    if (begin >= end) return;
    int32_t failed_check = 0;  // there are none
    const KernelFrame frame{.buffers = frames_[i].buffers.data(),
                            .strides = frames_[i].strides.data(),
                            .failed_check = &failed_check,
                            .numbers = step.numbers.data()};
    step.code->nests()[0](&frame, begin, end, scratch);
  }

  /// Until the block has ended so many steps. Another thread is at it, which began before this one.
  void wait_for(int64_t block, size_t steps) const {
    constexpr int kSpins = 4000;
    const std::atomic<size_t>& ended = ended_[static_cast<size_t>(block)];
    for (int spin = 0; ended.load(std::memory_order_acquire) < steps; ++spin) {
      if (spin < kSpins) {
        spin_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  /// The steps as if they had run one after the other, each for its share of the time that threads worked.
  void record(int64_t start, int64_t end) const {
    double all = 0;
    for (const std::atomic<int64_t>& time : times_) all += static_cast<double>(time.load());
    double before = 0;
    for (size_t i = 0; i < times_.size(); ++i) {
      const double after = before + static_cast<double>(times_[i].load());
      auto moment = [&](double work) {
        return all == 0 ? start : start + std::llround(static_cast<double>(end - start) * work / all);
      };
      const Program::Step& step = steps_[chain_.first + i];
      profiler::record(step.kernel->name, {.category = ProfileCategory::kernel,
                                           .start_ns = moment(before),
                                           .end_ns = moment(after),
                                           .bytes_read = step.bytes_read,
                                           .bytes_written = step.bytes_written,
                                           .flops = step.flops});
      before = after;
    }
  }

  const StepChain& chain_;
  const std::vector<Program::Step>& steps_;
  std::vector<Frame> frames_;
  std::vector<std::atomic<size_t>> ended_;   ///< by block: steps
  std::atomic<int64_t> next_ = 0;            ///< block
  std::vector<std::atomic<int64_t>> times_;  ///< by step: nanoseconds of all threads, if somebody looks
};

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
  SmallArray<int64_t, 16> strides(stride_slots(step, running));
  fill_frame(step, running, buffers.data(), strides.data());
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

void run_steps(const Running& running) {
  const std::vector<Program::Step>& steps = running.program.steps;
  size_t begin = 0;
  auto run_until = [&](size_t end) {
    for (; begin < end; ++begin) run_step(steps[begin], running);
  };
  for (const StepChain& chain : running.program.chains) {
    run_until(chain.first);
    ChainRun(chain, running).run();
    begin = chain.end();
  }
  run_until(steps.size());
  copy_repeated_outputs(running);
}

void run_observed(const Running& running, const ProgramObserver& observer) {
  for (size_t i = 0; i < running.program.steps.size(); ++i) {
    run_step(running.program.steps[i], running);
    observer.after_step(i, running);
  }
  copy_repeated_outputs(running);
  observer.after_run(running);
}

}  // namespace

int64_t grain_for(double task_cost) {
  constexpr double kMost = 1e12;
  return static_cast<int64_t>(
      std::clamp(std::round(kChunkNanoseconds / std::max(task_cost, 1e-3)), 1.0, kMost));
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
  try {
    if (observer != nullptr) {
      run_observed(running, *observer);
    } else {
      run_steps(running);
    }
  } catch (const InternalError& error) {
    if (!with_program) throw;
    throw with_program(error);
  }
}

std::vector<int64_t> Program::scratch_of_steps() const {
  alignas(kBlockAlignment) static std::byte nothing[kBlockAlignment];  // no step looks at it
  const std::vector<const void*> input_data(inputs.size(), nothing);
  const std::vector<void*> output_data(outputs.size(), nothing);
  std::vector<std::vector<int64_t>> strides;
  std::vector<const int64_t*> input_strides;
  for (const TensorType& type : inputs) strides.push_back(dense_strides(type));
  for (const std::vector<int64_t>& of_one : strides) input_strides.push_back(of_one.data());
  const Running running(*this, input_data.data(), input_strides.data(), output_data.data(), nothing);
  std::vector<int64_t> bytes;
  for (const Step& step : steps) bytes.push_back(scratch_of_step(step, running));
  return bytes;
}

}  // namespace tokamak
