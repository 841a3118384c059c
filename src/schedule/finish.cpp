#include "schedule/finish.h"

#include <algorithm>

#include "loops/walk.h"
#include "schedule/axes.h"
#include "schedule/cost.h"
#include "schedule/hand_over.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

/// Where the statements behind the last sweep begin.
std::vector<Stmt>::const_iterator behind_sweeps(const std::vector<Stmt>& body) {
  return std::find_if(body.rbegin(), body.rend(), [](const Stmt& stmt) { return as_loop(stmt) != nullptr; })
      .base();
}

/// Whether it can be done for rows in lanes: it needs no state but accumulators that are read, which each row
/// does by itself, nor scratch, of which every row would need its own.
bool can_be_in_lanes(const LoopKernel& kernel, const Stmt& stmt) {
  if (const std::optional<Access> access = access_of(stmt))
    return kernel[access->buffer].role != Buffer::Role::scratch;
  return std::holds_alternative<Literal>(stmt) || std::holds_alternative<IndexValue>(stmt) ||
         std::holds_alternative<Test>(stmt) || std::holds_alternative<Compute>(stmt) ||
         std::holds_alternative<Read>(stmt) || std::holds_alternative<CheckRange>(stmt);
}

}  // namespace

std::optional<FinishTogether> choose_finish(const LoopKernel& kernel, LoopVar row, const Cpu& cpu) {
  constexpr double kLong = 16;              // instructions
  constexpr double kShareOfRow = 1.0 / 32;  // of its instructions
  if (kernel.nests.size() != 1) return std::nullopt;
  const Loop* loop = find_loop(kernel.nests[0].root, row);
  if (loop == nullptr || loop->kind != LoopKind::serial || loop->ordered) return std::nullopt;
  const auto begin = behind_sweeps(loop->body);
  Loop rest;
  for (auto stmt = begin; stmt != loop->body.end(); ++stmt) {
    if (!can_be_in_lanes(kernel, *stmt)) return std::nullopt;
    if (std::holds_alternative<Compute>(*stmt)) rest.body.push_back(*stmt);
  }
  const bool has_sweeps = begin != loop->body.begin();
  const Sizes sizes = sizes_of(kernel, rest);
  Nest one_row;
  one_row.root.body = loop->body;
  const TaskWork work = task_work(kernel, one_row, cpu);
  if (!has_sweeps || sizes.cost < kLong || sizes.cost < kShareOfRow * (work.instructions + work.accesses))
    return std::nullopt;
  const auto lanes = static_cast<int>(cpu.vector_bytes / std::max<int64_t>(sizes.widest, 4));
  return lanes > 1 ? std::optional(FinishTogether{row, lanes}) : std::nullopt;
}

void finish_together(LoopKernel& kernel, const FinishTogether& decision) {
  replace_loops(kernel.nests[0].root, decision.row, [&](Loop& loop) {
    auto finish = std::make_shared<Loop>(loop);
    finish->kind = LoopKind::vector;
    finish->lanes = decision.lanes;
    finish->body.clear();
    std::vector<Stmt> result;  // begins with what is the same for all rows
    std::vector<Stmt> sweeps;
    const auto begin = behind_sweeps(loop.body);
    for (auto stmt = loop.body.cbegin(); stmt != loop.body.cend(); ++stmt) {
      const bool is_behind = stmt >= begin && !std::holds_alternative<Read>(*stmt);
      (std::holds_alternative<Literal>(*stmt) ? result : is_behind ? finish->body : sweeps).push_back(*stmt);
    }
    loop.body = std::move(sweeps);
    const int64_t extent = loop.extent;
    result.emplace_back(std::make_shared<Loop>(std::move(loop)));
    result.emplace_back(finish);
    hand_over(kernel, decision.row, extent, result);
    return result;
  });
}

}  // namespace tokamak
