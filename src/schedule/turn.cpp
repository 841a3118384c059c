#include "schedule/turn.h"

#include <algorithm>

#include "ir/layout.h"
#include "loops/walk.h"
#include "schedule/axes.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

int64_t extent_of(const LoopKernel& kernel, LoopVar var) { return kernel.extents[static_cast<size_t>(var)]; }

/// Whether the load walks over the buffer's first elements by these two loops alone, and across the lanes.
bool lies_across(const LoopKernel& kernel, const Stmt& stmt, LoopVar along, LoopVar lanes) {
  const auto* load = std::get_if<Load>(&stmt);
  if (load == nullptr || kernel[load->buffer].role != Buffer::Role::input) return false;
  bool by_both_alone = true;
  for (const Index& index : load->index) {
    by_both_alone = by_both_alone && index.constant == 0;
    for (const IndexTerm& term : index.terms) {
      const auto* var = std::get_if<LoopVar>(&term.atom);
      by_both_alone = by_both_alone && var != nullptr && (*var == along || *var == lanes);
    }
  }
  const std::optional<int64_t> distance = distance_across(kernel, stmt, along, lanes);
  return by_both_alone && distance && *distance > 0;
}

/// How often the whole nest runs over what these two loops do once.
int64_t repetitions(const LoopKernel& kernel, LoopVar along, LoopVar lanes) {
  int64_t rounds = 1;
  for_each_loop(kernel.nests[0].root, [&](const Loop& loop) {
    if (loop.var != along && loop.var != lanes) rounds *= std::max<int64_t>(loop.extent, 1);
  });
  return rounds;
}

}  // namespace

std::vector<Turn> choose_turns(const LoopKernel& kernel, LoopVar along, LoopVar lanes, const Cpu& cpu) {
  constexpr int64_t kOften = 8;
  std::vector<Turn> turns;
  if (kernel.nests.size() != 1 || repetitions(kernel, along, lanes) < kOften) return turns;
  walk(kernel.nests[0].root, [&](const Stmt& stmt) {
    if (!lies_across(kernel, stmt, along, lanes)) return;
    const BufferId buffer = std::get<Load>(stmt).buffer;
    const int64_t bytes = extent_of(kernel, along) * extent_of(kernel, lanes) *
                          static_cast<int64_t>(size_of(kernel[buffer].type.dtype));
    const bool is_new =
        std::none_of(turns.begin(), turns.end(), [&](const Turn& other) { return other.buffer == buffer; });
    if (bytes <= cpu.l2_bytes / 2 && is_new)
      turns.push_back({buffer, *distance_across(kernel, stmt, along, lanes), along, lanes,
                       extent_of(kernel, along), extent_of(kernel, lanes), BufferId{}});
  });
  for (size_t i = 0; i < turns.size(); ++i)
    turns[i].turned = static_cast<BufferId>(kernel.buffers.size() + i);
  return turns;
}

void turn(LoopKernel& kernel, const Turn& decision) {
  walk(kernel.nests[0].root, {.visit = [&](Stmt& stmt) {
         if (!lies_across(kernel, stmt, decision.along, decision.lanes)) return;
         auto& load = std::get<Load>(stmt);
         if (load.buffer != decision.buffer) return;
         load.buffer = decision.turned;
         load.index = {Index::of(decision.along), Index::of(decision.lanes)};
       }});
  Buffer buffer;
  buffer.name = "turned_" + kernel[decision.buffer].name;
  buffer.type = {kernel[decision.buffer].type.dtype, {decision.columns, decision.rows}};
  buffer.role = Buffer::Role::partial;
  buffer.strides = dense_strides(buffer.type);
  buffer.aligned = true;
  kernel.buffers.push_back(std::move(buffer));
}

void add_turning_nest(LoopKernel& kernel, const std::vector<Turn>& decisions) {
  if (decisions.empty()) return;
  Loop& root = kernel.nests.emplace(kernel.nests.begin())->root;
  root.var = add_variable(kernel, "once", 1);
  root.kind = LoopKind::parallel;
  root.extent = 1;
  for (const Turn& decision : decisions) {
    const size_t rank = kernel[decision.buffer].type.shape.size();
    root.body.emplace_back(TransposeTile{.matrix = decision.buffer,
                                         .index = std::vector<Index>(rank),
                                         .distance = decision.distance,
                                         .tile = decision.turned,
                                         .to_matrix = false,
                                         .rows = {decision.rows, std::nullopt},
                                         .columns = {decision.columns, std::nullopt}});
  }
}

}  // namespace tokamak
