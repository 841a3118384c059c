#include "schedule/cost.h"

#include <algorithm>

#include "loops/walk.h"
#include "ops/record.h"
#include "schedule/axes.h"

namespace tokamak {
namespace {

/// Of task_cost, in nanoseconds.
constexpr double kInstruction = 0.3;
constexpr double kMemoryByte = 0.05;
constexpr double kScratchByte = 0.01;

/// Instructions that a lane takes whose element lies apart from that of its neighbour, and one that lies
/// anywhere, in a line of the cache that nobody knew of.
constexpr double kApart = 1.5;
constexpr double kAnywhere = 6;

/// Of arrays that the second cache does not hold: instructions that a part of a row takes when the next part
/// begins on another page: the address has to be looked up, and what was fetched ahead may come too late.
constexpr double kNextPage = 130;
constexpr int64_t kPageBytes = 4096;

/// Where statements stand: the loop whose steps are lanes, if any, and the one around it, inside the task.
struct Lanes {
  int count = 1;
  std::optional<LoopVar> var = std::nullopt;
  int64_t extent = 1;  ///< of the loop of lanes
  std::optional<LoopVar> around = std::nullopt;
};

TaskWork& operator+=(TaskWork& sum, const TaskWork& more) {
  sum.instructions += more.instructions;
  sum.accesses += more.accesses;
  sum.memory_bytes += more.memory_bytes;
  sum.scratch_bytes += more.scratch_bytes;
  return sum;
}

TaskWork operator*(double times, const TaskWork& work) {
  return {times * work.instructions, times * work.accesses, times * work.memory_bytes,
          times * work.scratch_bytes};
}

double total(const TaskWork& work) {
  return kInstruction * work.instructions + kMemoryByte * work.memory_bytes +
         kScratchByte * work.scratch_bytes;
}

class WorkCounter {
 public:
  WorkCounter(const LoopKernel& kernel, const Cpu& cpu) : kernel_(kernel), cpu_(cpu) {}

  TaskWork of(const std::vector<Stmt>& body, const Lanes& lanes) const {
    TaskWork work;
    for (const Stmt& stmt : body) {
      if (const Branch* branch = as_branch(stmt)) {
        const TaskWork one = of(branch->body, lanes), other = of(branch->otherwise, lanes);
        work += total(one) < total(other) ? other : one;
      } else if (const Loop* inner = as_loop(stmt)) {
        const bool is_vector = inner->kind == LoopKind::vector;
        const int64_t step = is_vector ? inner->lanes : 1;
        work += static_cast<double>((inner->extent + step - 1) / step) *
                of(inner->body, is_vector ? Lanes{inner->lanes, inner->var, inner->extent, lanes.around}
                                          : Lanes{lanes.count, lanes.var, lanes.extent, inner->var});
      } else {
        work += of(stmt, lanes);
      }
    }
    return work;
  }

 private:
  TaskWork of(const Stmt& stmt, const Lanes& lanes) const {
    if (const std::optional<Access> access = access_of(stmt)) {
      const Buffer& buffer = kernel_[access->buffer];
      const double bytes = lanes.count * static_cast<double>(size_of(buffer.type.dtype));
      const bool is_scratch = buffer.role == Buffer::Role::scratch;
      return {.accesses = instructions_of(*access, buffer, lanes),
              .memory_bytes = is_scratch ? 0 : bytes,
              .scratch_bytes = is_scratch ? bytes : 0};
    }
    if (const auto* compute = std::get_if<Compute>(&stmt)) {
      const DType dtype = kernel_[compute->operands.back()];
      const auto bytes = static_cast<double>(std::max<size_t>(size_of(dtype), 4));
      const double registers = std::max(1.0, lanes.count * bytes / cpu_.vector_bytes);
      return {.instructions = registers * scalar_cost(compute->op, dtype, kernel_[compute->result])};
    }
    if (const auto* tile = std::get_if<TransposeTile>(&stmt))
      return {.instructions = 1,
              .accesses = kApart * static_cast<double>(tile->rows.extent * tile->columns.extent)};
    return {.instructions = 1};
  }

  double instructions_of(const Access& access, const Buffer& buffer, const Lanes& lanes) const {
    const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
    const double together = std::max(1.0, static_cast<double>(lanes.count * size) / cpu_.vector_bytes);
    if (buffer.role == Buffer::Role::scratch || !lanes.var) return together;
    bool is_read_from_data = false;
    for (const Index& one : *access.index) for_each_value(one, [&](ValueId) { is_read_from_data = true; });
    if (is_read_from_data) return kAnywhere * lanes.count;
    const std::optional<int64_t> stride = stride_along(kernel_, access, *lanes.var);
    if (stride == size) return together + kNextPage * pages_begun(access, buffer, lanes);
    return !stride || *stride == 0 ? together : kApart * lanes.count;
  }

  /// By one access to lanes that lie next to each other.
  double pages_begun(const Access& access, const Buffer& buffer, const Lanes& lanes) const {
    if (!lanes.around || buffer.type.bytes() <= cpu_.l2_bytes) return 0;
    const int64_t distance = std::abs(stride_along(kernel_, access, *lanes.around).value_or(0));
    const int64_t part = lanes.extent * static_cast<int64_t>(size_of(buffer.type.dtype));
    if (distance < kPageBytes || distance <= part) return 0;
    return static_cast<double>(lanes.count) /
           static_cast<double>(std::max<int64_t>(lanes.extent, lanes.count));
  }

  const LoopKernel& kernel_;
  const Cpu& cpu_;
};

}  // namespace

TaskWork task_work(const LoopKernel& kernel, const Nest& nest, const Cpu& cpu) {
  return WorkCounter(kernel, cpu).of(nest.root.body, {});
}

double task_cost(const LoopKernel& kernel, const Nest& nest, const Cpu& cpu) {
  return total(task_work(kernel, nest, cpu));
}

}  // namespace tokamak
