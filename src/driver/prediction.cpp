#include "driver/prediction.h"

#include <algorithm>

#include "schedule/cost.h"

namespace tokamak {
namespace {

/// Of the time of a multiplication with an addition, what an instruction takes on average: others go on
/// beside it, in other parts of the core.
constexpr double kInstruction = 0.65;
constexpr double kSortedPerNanosecond = 100;  // of `work_of`, while sort_cost counts nanoseconds
constexpr double kStepping = 5e-8;            // seconds, of any kernel
constexpr double kStarting = 1e-6;            // until other threads work

double work_of_nest(const LoopKernel& loops, const Nest& nest, const Cpu& cpu) {
  const TaskWork work = task_work(loops, nest, cpu);
  const double in_a_register = cpu.vector_bytes / 4.0;
  return kInstruction * (work.instructions + work.accesses) * 2 * in_a_register;
}

/// As long as so many of f32 take.
double work_of_one(ProductType type, const Cpu& cpu) {
  switch (type) {
    case ProductType::f32:
    case ProductType::i32:
      return 1;
    case ProductType::f64:
      return 2;
    case ProductType::i64:
      return 8;  // of several instructions
    case ProductType::bf16:
      return cpu.amx_bf16 ? 0.1 : 0.5;  // tiles wait for memory, of which they need as much in less time
  }
  throw InternalError("prediction: a product of no type");
}

double work_of_product(const CompiledProduct& product, const Cpu& cpu) {
  double work = 0;
  for (const CompiledStage& stage : product.stages) {
    const auto rows = static_cast<double>(product.batch * product.rows);
    const auto sums = rows * static_cast<double>(stage.columns);
    const double computed = product.mirrored_rows != 0 ? sums / 2 : sums;
    if (stage.method != nullptr)
      work += 2 * computed * static_cast<double>(stage.depth) * work_of_one(stage.type, cpu);
    if (stage.row_code.loops != nullptr)
      work += rows * static_cast<double>(stage.row_code.tasks_per_row) *
              work_of_nest(*stage.row_code.loops, stage.row_code.loops->nests[0], cpu);
  }
  return work;
}

/// Bytes a second when so many are touched: between two sizes that were measured, what lies between.
double rate_of(const Roofline& roofline, int64_t touched) {
  const auto above =
      std::ranges::find_if(roofline.levels, [&](const Roofline::Level& one) { return one.bytes >= touched; });
  if (above == roofline.levels.begin()) return above->bytes_per_second;
  const Roofline::Level& below = *(above - 1);
  if (above == roofline.levels.end()) return below.bytes_per_second;
  const double share =
      static_cast<double>(touched - below.bytes) / static_cast<double>(above->bytes - below.bytes);
  return below.bytes_per_second + share * (above->bytes_per_second - below.bytes_per_second);
}

}  // namespace

double work_of(const CompiledKernel& kernel, int64_t tasks, const Cpu& cpu) {
  if (kernel.product != nullptr) return work_of_product(*kernel.product, cpu);
  if (kernel.sort != nullptr)
    return kernel.sort->step.line_cost * static_cast<double>(tasks) * kSortedPerNanosecond;
  double work = 0;
  for (const Nest& nest : kernel.loops->nests)
    work += work_of_nest(*kernel.loops, nest, cpu) * static_cast<double>(nest.root.extent);
  return work;
}

double predicted_seconds(const KernelReport& kernel, const Roofline& roofline) {
  const int64_t touched = kernel.bytes_read + kernel.bytes_written;
  const double rate = rate_of(roofline, touched);
  const auto seconds_with = [&](int64_t threads) {
    const double share = static_cast<double>(threads) / roofline.threads;
    return std::max(kernel.work / (roofline.f32_flops * share),
                    static_cast<double>(touched) / (rate * share));
  };
  const int64_t threads = std::clamp<int64_t>(kernel.tasks, 1, roofline.threads);
  // What is done before others have begun is left to one.
  return kStepping + std::min(seconds_with(1), seconds_with(threads) + kStarting);
}

}  // namespace tokamak
