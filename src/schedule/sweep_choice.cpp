#include "schedule/sweep_choice.h"

#include <algorithm>
#include <optional>

#include "loops/walk.h"
#include "schedule/axes.h"
#include "support/cache_line.h"

namespace tokamak {
namespace {

/// What `choose` says of every loop over `var` and its number.
template <class Choose>
std::vector<Decision> for_sweeps(const LoopKernel& kernel, LoopVar var, Choose choose) {
  std::vector<Decision> decisions;
  int sweep = 0;
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      if (loop.var != var) return;
      if (const std::optional<Decision> decision = choose(loop, sweep++)) decisions.push_back(*decision);
    });
  }
  return decisions;
}

bool sums_long_chains(const LoopKernel& kernel, const Loop& loop) {
  constexpr double kLongChain = 16;
  bool sums = false;
  for (const Stmt& stmt : loop.body) {
    if (as_loop(stmt) != nullptr) return false;
    const auto* step = std::get_if<Accumulate>(&stmt);
    if (step == nullptr) continue;
    const Accumulator& accumulator = kernel[step->accumulator];
    if (accumulator.op != Op::reduce_sum || !is_float(accumulator.dtype)) return false;
    sums = true;
  }
  return sums && sizes_of(kernel, loop).cost > kLongChain;
}

/// Whether a sweep adds up what lies in memory, as it lies.
bool sums_what_lies_there(const LoopKernel& kernel, const Loop& loop) {
  int reads = 0;
  for (const Stmt& stmt : loop.body) {
    if (const auto* load = std::get_if<Load>(&stmt)) {
      const Buffer& buffer = kernel[load->buffer];
      const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
      if (buffer.role != Buffer::Role::input || stride_along(kernel, *access_of(stmt), loop.var) != size)
        return false;
      ++reads;
      continue;
    }
    const auto* step = std::get_if<Accumulate>(&stmt);
    if (step == nullptr) return false;
    const Accumulator& accumulator = kernel[step->accumulator];
    if (accumulator.op != Op::reduce_sum || !is_float(accumulator.dtype)) return false;
  }
  return reads == 1;
}

/// Whether a sweep reads a register of what is the same for all rows.
bool reads_the_same(const LoopKernel& kernel, const Loop& loop, LoopVar row, LoopVar lanes) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt& stmt) {
    const auto* load = std::get_if<Load>(&stmt);
    if (load == nullptr || !load->guard.empty() || depends_on_data(load->index)) return false;
    const auto size = static_cast<int64_t>(size_of(kernel[load->buffer].type.dtype));
    return stride_along(kernel, *access_of(stmt), lanes) == size &&
           std::none_of(load->index.begin(), load->index.end(),
                        [&](const Index& index) { return mentions(index, row); });
  });
}

}  // namespace

std::vector<Decision> choose_wide_searches(const LoopKernel& kernel, LoopVar var, int lanes,
                                           const LaneChoice& choice) {
  return for_sweeps(kernel, var, [&](const Loop& loop, int sweep) -> std::optional<Decision> {
    const int wide = std::min(4 * lanes, choice.of_search(loop));
    return wide > lanes ? std::optional<Decision>(Widen{var, sweep, wide}) : std::nullopt;
  });
}

std::vector<Decision> choose_jammed_counts(const LoopKernel& kernel, LoopVar var, int lanes,
                                           const LaneChoice& choice) {
  return for_sweeps(kernel, var, [&](const Loop& loop, int sweep) -> std::optional<Decision> {
    const int wide = choice.of_count(loop);
    return wide > lanes ? std::optional<Decision>(Jam{var, sweep, wide}) : std::nullopt;
  });
}

std::vector<Decision> choose_jammed_sums(const LoopKernel& kernel, LoopVar var, int lanes,
                                         const LaneChoice& choice) {
  const int64_t extent = kernel.extents[static_cast<size_t>(var)];
  if (extent % (2 * lanes) != 0 || lanes < choice.of_a_register()) return {};
  return for_sweeps(kernel, var, [&](const Loop& loop, int sweep) -> std::optional<Decision> {
    return sums_long_chains(kernel, loop) ? std::optional<Decision>(Jam{var, sweep, 2 * lanes})
                                          : std::nullopt;
  });
}

std::vector<Decision> choose_jammed_reads(const LoopKernel& kernel, LoopVar var, int lanes, const Cpu& cpu) {
  constexpr int64_t kRounds = 4;  // of a row: of fewer, what comes before and after takes as long
  if (cpu.vector_bytes < kCacheLine) return {};
  return for_sweeps(kernel, var, [&](const Loop& loop, int sweep) -> std::optional<Decision> {
    if (loop.extent < kRounds * 2 * lanes || !sums_what_lies_there(kernel, loop)) return std::nullopt;
    return Jam{var, sweep, 2 * lanes};
  });
}

int64_t choose_rows_together(const LoopKernel& kernel, LoopVar row, LoopVar sweep, LoopVar lanes,
                             const Cpu& cpu) {
  constexpr double kCheapStep = 12;  // instructions: longer ones wait for themselves, not for what they read
  constexpr int64_t kMostSums = 4;   // of each register, so that they all stay in registers
  if (kernel.nests.size() != 1) return 1;
  const Loop* rows = find_loop(kernel.nests[0].root, row);
  if (rows == nullptr || rows->bound || rows->ordered) return 1;
  int sweeps = 0;
  bool fits = true;
  for_each_loop(*rows, [&](const Loop& loop) {
    if (loop.var != sweep) return;
    ++sweeps;
    fits = fits && sizes_of(kernel, loop).cost <= kCheapStep && reads_the_same(kernel, loop, row, lanes);
  });
  if (sweeps != 1 || !fits) return 1;
  int64_t together = cpu.avx512 ? kMostSums : kMostSums / 2;
  while (rows->extent % together != 0) together /= 2;
  return together;
}

}  // namespace tokamak
