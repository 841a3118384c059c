#include "schedule/fetch_ahead.h"

#include <algorithm>

#include "loops/walk.h"
#include "schedule/axes.h"

namespace tokamak {
namespace {

/// The loop whose iterations are rows, or blocks of rows in lanes: the last one outside of the sweeps.
std::optional<LoopVar> row_loop(const Loop& root, LoopVar sweep) {
  std::optional<LoopVar> row;
  bool found = false;
  for_each_loop(root, [&](const Loop& loop) {
    found = found || loop.var == sweep;
    if (!found && loop.kind != LoopKind::vector && &loop != &root) row = loop.var;
  });
  return row;
}

bool mentions(const std::vector<Index>& index, LoopVar var) {
  return std::any_of(index.begin(), index.end(), [&](const Index& one) { return mentions(one, var); });
}

bool contains(const std::vector<BufferId>& buffers, BufferId buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

/// Calls `visit` for what is read all along the sweeps of a row and is not the same for the next row.
void for_each_row_read(const LoopKernel& kernel, const Loop& root, const FetchAhead& where,
                       const std::function<void(const Load&)>& visit) {
  for_each_loop(root, [&](const Loop& loop) {
    if (loop.var != where.sweep) return;
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      if (load == nullptr || !load->guard.empty()) continue;
      if (!mentions(load->index, where.row) || !mentions(load->index, where.sweep)) continue;
      const auto size = static_cast<int64_t>(size_of(kernel[load->buffer].type.dtype));
      if (stride_along(kernel, *access_of(stmt), where.lanes) == size) visit(*load);
    }
  });
}

}  // namespace

std::optional<FetchAhead> choose_fetch_ahead(const LoopKernel& kernel, const SweptRows& rows,
                                             const Cpu& cpu) {
  const Loop& root = kernel.nests[0].root;
  const std::optional<LoopVar> row = rows.side_by_side ? rows.innermost : row_loop(root, rows.outermost);
  if (kernel.nests.size() != 1 || !row) return std::nullopt;
  FetchAhead decision{
      .row = *row, .sweep = rows.innermost, .number = 0, .lanes = rows.lanes, .buffers = {}};
  for_each_row_read(kernel, root, decision, [&](const Load& load) {
    if (kernel[load.buffer].type.bytes() > cpu.l2_bytes && !contains(decision.buffers, load.buffer))
      decision.buffers.push_back(load.buffer);
  });
  if (decision.buffers.empty()) return std::nullopt;
  double most = -1;
  int number = 0;
  for_each_loop(root, [&](const Loop& loop) {
    if (loop.var != rows.innermost) return;
    const double cost = sizes_of(kernel, loop).cost;
    if (cost > most) std::tie(most, decision.number) = std::pair(cost, number);
    ++number;
  });
  return decision;
}

void fetch_ahead(LoopKernel& kernel, const FetchAhead& decision) {
  Loop& root = kernel.nests[0].root;
  std::vector<Stmt> fetches;
  std::vector<BufferId> missing = decision.buffers;
  auto next = [&](LoopVar var) { return Index::of(var) + Index(var == decision.row ? 1 : 0); };
  for_each_row_read(kernel, root, decision, [&](const Load& load) {
    if (!contains(missing, load.buffer)) return;
    std::erase(missing, load.buffer);
    Prefetch fetch{load.buffer, load.index};
    for (Index& index : fetch.index) index = substitute(index, next, kernel.extents_function());
    fetches.emplace_back(std::move(fetch));
  });
  int number = 0;
  walk(root, {.enter = [&](Loop& loop) {
         if (loop.var == decision.sweep && number++ == decision.number)
           loop.body.insert(loop.body.begin(), fetches.begin(), fetches.end());
       }});
}

}  // namespace tokamak
