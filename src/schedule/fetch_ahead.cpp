#include "schedule/fetch_ahead.h"

#include <algorithm>
#include <map>
#include <set>

#include "loops/walk.h"
#include "schedule/axes.h"

namespace tokamak {
namespace {

/// Rows that lie anywhere are not found by the processor itself: it takes several to hide how long each
/// takes.
constexpr int64_t kFarAhead = 8;
/// Of elements one after the other, so many bytes are on their way: what is nearer comes too late, and the
/// processor itself does not look beyond a page. Of rows it is twice as much: between their sweeps memory
/// would be idle unless what the next rows need is still being fetched when they begin.
constexpr int64_t kBytesAhead = 4096;
constexpr int64_t kBytesOfRowsAhead = 8192;
/// What is fetched goes to the second cache, which has more lines on their way at once, and leaves the first
/// one to what is worked on. So many bytes that are needed soon do not disturb that.
constexpr int64_t kFewBytes = 16 << 10;
/// Instructions for a vector of a sweep that waits for memory, whatever is fetched; and of one that reads
/// what another has brought into the cache, during which memory is idle, but not for long.
constexpr double kCheapSweep = 24;
constexpr double kShortPause = 8;
/// Arrays that are written are so many times smaller than those that are read, where reading is what takes
/// time.
constexpr int64_t kMostlyRead = 8;

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

/// The statements of a body that a read's place is computed with, in order; nullopt where they do more than
/// read and compute.
std::optional<std::vector<const Stmt*>> place_of(const std::vector<Stmt>& body, const Load& load) {
  std::set<ValueId> needed;
  for (const Index& index : load.index) for_each_value(index, [&](ValueId value) { needed.insert(value); });
  std::vector<const Stmt*> steps;
  for (size_t i = body.size(); i-- > 0;) {
    const std::optional<ValueId> result = result_of(body[i]);
    if (!result || needed.count(*result) == 0) continue;
    const auto* read = std::get_if<Load>(&body[i]);
    if (read != nullptr ? !read->guard.empty() : !std::holds_alternative<Compute>(body[i]))
      return std::nullopt;
    for_each_operand(body[i], [&](ValueId value) { needed.insert(value); });
    steps.push_back(&body[i]);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

/// Calls `visit` for what is read all along the sweeps of a row and is not the same for the next row.
void for_each_row_read(const LoopKernel& kernel, const Loop& root, const FetchAhead& where,
                       const std::function<void(const Loop&, const Load&)>& visit) {
  const bool side_by_side = where.row == where.sweep;
  for_each_loop(root, [&](const Loop& loop) {
    if (loop.var != where.sweep) return;
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      if (load == nullptr || !load->guard.empty()) continue;
      const bool by_data = side_by_side && depends_on_data(load->index) && place_of(loop.body, *load);
      if (!by_data && (!mentions(load->index, where.row) || !mentions(load->index, where.sweep))) continue;
      const auto size = static_cast<int64_t>(size_of(kernel[load->buffer].type.dtype));
      if (stride_along(kernel, *access_of(stmt), where.lanes) == size) visit(loop, *load);
    }
  });
}

/// Whether the next row begins where this one ends: the processor finds it by itself. Rows that are added to
/// sums in memory are too slow for it.
bool lies_in_order(const LoopKernel& kernel, const FetchAhead& where, const Load& load) {
  const auto size = static_cast<int64_t>(size_of(kernel[load.buffer].type.dtype));
  const int64_t columns = kernel.extents[static_cast<size_t>(where.lanes)];
  return where.row != where.sweep && !depends_on_data(load.index) &&
         stride_along(kernel, *access_of(Stmt(load)), where.row) == columns * size;
}

/// Whether arrays that the second cache does not hold are read, and little is written.
bool only_reads(const LoopKernel& kernel, const Cpu& cpu) {
  int64_t read = 0;
  int64_t written = 0;
  for (const Buffer& buffer : kernel.buffers) {
    const int64_t bytes = buffer.type.bytes();
    if (buffer.role == Buffer::Role::input && bytes > cpu.l2_bytes) read += bytes;
    if (buffer.role == Buffer::Role::output) written += bytes;
  }
  return read >= kMostlyRead * written;
}

int64_t rows_ahead(const LoopKernel& kernel, const FetchAhead& where, const Load& load) {
  if (depends_on_data(load.index)) return kFarAhead;
  const Stmt stmt = load;
  const std::optional<int64_t> distance = stride_along(kernel, *access_of(stmt), where.row);
  if (!distance || *distance <= 0) return 1;
  // Of rows that are swept side by side only those columns are read that a task has.
  const auto size = static_cast<int64_t>(size_of(kernel[load.buffer].type.dtype));
  const int64_t columns = kernel.extents[static_cast<size_t>(where.lanes)];
  const int64_t read = where.row == where.sweep ? std::min(*distance, columns * size) : *distance;
  return std::max<int64_t>(kBytesOfRowsAhead / read, 1);
}

/// What fetches a read of the next row: where the place comes from data, that is read first. After the last
/// row come the first ones of the loop around, and after all the first again.
std::vector<Stmt> fetches_of(LoopKernel& kernel, const FetchAhead& decision, const Loop& loop,
                             const Load& load) {
  const Extents extents = kernel.extents_function();
  const int64_t rows = extents(decision.row);
  const Index next = Index::of(decision.row) + Index(rows_ahead(kernel, decision, load));
  std::map<ValueId, ValueId> names;
  auto name = [&](ValueId value) { return names.count(value) != 0 ? names.at(value) : value; };
  auto moved = [&](const Index& index, bool by_data) {
    auto place = [&](LoopVar var) {
      if (var == decision.row) return by_data ? modulo(next, rows, extents) : next;
      if (var != decision.around || !by_data) return Index::of(var);
      return modulo(Index::of(var) + divide(next, rows, extents), extents(var), extents);
    };
    return renamed(substitute(index, place, extents), name);
  };
  std::vector<Stmt> fetches;
  if (depends_on_data(load.index)) {
    const std::vector<const Stmt*> steps = place_of(loop.body, load).value();
    for (const Stmt* step : steps) {
      Stmt copy = *step;
      for_each_index(copy, [&](Index& index) { index = moved(index, true); });
      const ValueId old = *result_of(*step);
      kernel.values.push_back(kernel[old]);
      const auto renamed_result = static_cast<ValueId>(kernel.values.size() - 1);
      if (auto* read = std::get_if<Load>(&copy)) read->result = renamed_result;
      if (auto* compute = std::get_if<Compute>(&copy)) {
        for (ValueId& operand : compute->operands) operand = name(operand);
        compute->result = renamed_result;
      }
      names[old] = renamed_result;
      fetches.push_back(std::move(copy));
    }
  }
  const auto size = static_cast<int64_t>(size_of(kernel[load.buffer].type.dtype));
  const int64_t row_bytes = extents(decision.lanes) * size;
  Prefetch fetch{load.buffer, load.index, depends_on_data(load.index) && kFarAhead * row_bytes <= kFewBytes};
  for (Index& index : fetch.index) index = moved(index, depends_on_data(load.index));
  fetches.emplace_back(std::move(fetch));
  return fetches;
}

/// Whether two reads go through the same row, of the rows that are swept side by side; where data says which,
/// they count as the same.
bool are_of_one_row(const LoopKernel& kernel, const FetchAhead& where, const Load& a, const Load& b) {
  if (a.buffer != b.buffer) return false;
  const std::optional<Index> one = linear_position(kernel[a.buffer], a.index);
  const std::optional<Index> other = linear_position(kernel[b.buffer], b.index);
  if (!one || !other || depends_on_data(a.index) || depends_on_data(b.index)) return true;
  const Index distance = *one - *other;
  return !distance.is_constant() ||
         std::abs(distance.constant) < kernel.extents[static_cast<size_t>(where.lanes)];
}

/// Calls `visit` for what every loop over `var` reads in the order in which it lies.
void for_each_read_in_order(const LoopKernel& kernel, LoopVar var,
                            const std::function<void(const Loop&, const Load&)>& visit) {
  for_each_loop(kernel.nests[0].root, [&](const Loop& loop) {
    if (loop.var != var) return;
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      if (load == nullptr || !load->guard.empty() || depends_on_data(load->index)) continue;
      const Buffer& buffer = kernel[load->buffer];
      const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
      if (buffer.role == Buffer::Role::input && stride_along(kernel, *access_of(stmt), var) == size)
        visit(loop, *load);
    }
  });
}

/// Where a read is among those of the rows: what is added to their number, negative if they are counted
/// backwards. Nullopt where it is not known, or the same for all rows.
std::optional<int64_t> place_among_rows(const Load& load, LoopVar row) {
  for (const Index& index : load.index) {
    if (!mentions(index, row)) continue;
    const std::optional<int64_t> step = linear_coefficient(index, row);
    return step ? std::optional(*step > 0 ? index.constant : -index.constant) : std::nullopt;
  }
  return std::nullopt;
}

/// The read of `buffer` that goes furthest in the direction in which rows follow each other, of those that the
/// loop over `kept` makes in the order in which it lies.
std::optional<Load> furthest_read(const LoopKernel& kernel, LoopVar row, LoopVar kept, BufferId buffer) {
  std::optional<Load> furthest;
  for_each_read_in_order(kernel, kept, [&](const Loop&, const Load& load) {
    const std::optional<int64_t> place = place_among_rows(load, row);
    if (load.buffer == buffer && place && (!furthest || place > place_among_rows(*furthest, row)))
      furthest = load;
  });
  return furthest;
}

/// Puts them before all else in every loop over `var`.
void insert_first(LoopKernel& kernel, LoopVar var, const std::vector<Stmt>& fetches) {
  walk(kernel.nests[0].root, {.enter = [&](Loop& loop) {
         if (loop.var == var) loop.body.insert(loop.body.begin(), fetches.begin(), fetches.end());
       }});
}

}  // namespace

std::optional<FetchAhead> choose_fetch_ahead(const LoopKernel& kernel, const SweptRows& rows,
                                             const Cpu& cpu) {
  const Loop& root = kernel.nests[0].root;
  const std::optional<LoopVar> row = rows.side_by_side ? rows.innermost : row_loop(root, rows.outermost);
  if (kernel.nests.size() != 1 || !row) return std::nullopt;
  FetchAhead decision{.row = *row,
                      .sweep = rows.innermost,
                      .around = row_loop(root, rows.innermost),
                      .number = 0,
                      .lanes = rows.lanes,
                      .buffers = {}};
  bool in_order = true;
  for_each_row_read(kernel, root, decision, [&](const Loop&, const Load& load) {
    if (kernel[load.buffer].type.bytes() <= cpu.l2_bytes || contains(decision.buffers, load.buffer)) return;
    decision.buffers.push_back(load.buffer);
    in_order = in_order && lies_in_order(kernel, decision, load);
  });
  if (decision.buffers.empty()) return std::nullopt;
  double most = -1;
  double pause = 0;
  int number = 0;
  for_each_loop(root, [&](const Loop& loop) {
    if (loop.var != rows.innermost) return;
    const double cost = sizes_of(kernel, loop).cost;
    if (cost > most) std::tie(most, decision.number) = std::pair(cost, number);
    if (number > 0) pause = std::max(pause, cost);
    ++number;
  });
  // Instructions that fetch what the processor is about to fetch only take the place of others.
  if (in_order && most <= kCheapSweep && pause <= kShortPause && only_reads(kernel, cpu)) return std::nullopt;
  return decision;
}

void fetch_ahead(LoopKernel& kernel, const FetchAhead& decision) {
  Loop& root = kernel.nests[0].root;
  std::vector<Stmt> fetches;
  std::vector<Load> fetched;
  for_each_row_read(kernel, root, decision, [&](const Loop& loop, const Load& load) {
    const bool is_new = std::none_of(fetched.begin(), fetched.end(), [&](const Load& other) {
      return are_of_one_row(kernel, decision, load, other);
    });
    if (!is_new || !contains(decision.buffers, load.buffer)) return;
    fetched.push_back(load);
    for (Stmt& stmt : fetches_of(kernel, decision, loop, load)) fetches.push_back(std::move(stmt));
  });
  int number = 0;
  walk(root, {.enter = [&](Loop& loop) {
         if (loop.var == decision.sweep && number++ == decision.number)
           loop.body.insert(loop.body.begin(), fetches.begin(), fetches.end());
       }});
}

std::optional<FetchOn> choose_fetch_on(const LoopKernel& kernel, LoopVar var, const Cpu& cpu) {
  constexpr double kLongBody = 8;  // of each array: through shorter ones the processor is soon at the next page
  if (kernel.nests.size() != 1) return std::nullopt;
  FetchOn decision{var, {}};
  double cost = 0;
  for_each_read_in_order(kernel, var, [&](const Loop& loop, const Load& load) {
    if (kernel[load.buffer].type.bytes() <= cpu.l2_bytes || contains(decision.buffers, load.buffer)) return;
    decision.buffers.push_back(load.buffer);
    cost = std::max(cost, sizes_of(kernel, loop).cost);
  });
  const bool is_long = cost >= kLongBody * static_cast<double>(decision.buffers.size());
  return decision.buffers.empty() || !is_long ? std::nullopt : std::optional(decision);
}

void fetch_on(LoopKernel& kernel, const FetchOn& decision) {
  std::vector<Stmt> fetches;
  std::vector<BufferId> missing = decision.buffers;
  for_each_read_in_order(kernel, decision.var, [&](const Loop&, const Load& load) {
    if (!contains(missing, load.buffer)) return;
    std::erase(missing, load.buffer);
    const int64_t ahead = kBytesAhead / static_cast<int64_t>(size_of(kernel[load.buffer].type.dtype));
    Prefetch fetch{load.buffer, load.index};
    const Extents extents = kernel.extents_function();
    for (Index& index : fetch.index)
      index = substitute(
          index,
          [&](LoopVar var) { return var == decision.var ? Index::of(var) + Index(ahead) : Index::of(var); },
          extents);
    fetches.emplace_back(std::move(fetch));
  });
  insert_first(kernel, decision.var, fetches);
}

std::optional<FetchToKeep> choose_fetch_to_keep(const LoopKernel& kernel, LoopVar row,
                                                const KeepNeighbours& kept, int64_t later, const Cpu& cpu) {
  if (kernel.nests.size() != 1) return std::nullopt;
  FetchToKeep decision{row, kept.var, kept.kept, later, {}};
  for_each_read_in_order(kernel, kept.kept, [&](const Loop&, const Load& load) {
    if (kernel[load.buffer].type.bytes() > cpu.l2_bytes && !contains(decision.buffers, load.buffer) &&
        furthest_read(kernel, row, kept.kept, load.buffer))
      decision.buffers.push_back(load.buffer);
  });
  return decision.buffers.empty() ? std::nullopt : std::optional(decision);
}

void fetch_to_keep(LoopKernel& kernel, const FetchToKeep& decision) {
  std::vector<Stmt> fetches;
  const Extents extents = kernel.extents_function();
  for (BufferId buffer : decision.buffers) {
    const Load load = furthest_read(kernel, decision.row, decision.kept, buffer).value();
    Prefetch fetch{load.buffer, load.index};
    for (Index& index : fetch.index)
      index = substitute(
          index,
          [&](LoopVar var) {
            if (var == decision.kept) return Index::of(decision.var);
            return var == decision.row ? Index::of(var) + Index(decision.later) : Index::of(var);
          },
          extents);
    fetches.emplace_back(std::move(fetch));
  }
  insert_first(kernel, decision.var, fetches);
}

}  // namespace tokamak
