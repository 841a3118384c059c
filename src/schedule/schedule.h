#pragma once

// Schedules are data: a list of decisions, chosen in choose.cpp and carried out, one function each, in
// apply.cpp.

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fusion/kernel.h"
#include "ir/layout.h"
#include "loops/nest.h"
#include "support/cpu.h"

namespace tokamak {

/// Two nested loops become one over their product: both walk memory as one would.
struct Collapse {
  LoopVar outer;
  LoopVar inner;  ///< keeps this name
};
/// for v in 0..n  =>  for v_tile in 0..n/tile { for v in 0..tile }
struct Split {
  LoopVar var;
  int64_t tile;
};
/// Two nested loops run tile by tile: for o, for i  =>  for o_tile, for i_tile, for o in tile, for i in tile
struct Tile {
  LoopVar outer;
  LoopVar inner;
  int64_t size;
};
/// The loop over `var` runs `lanes` iterations at once.
struct Vectorise {
  LoopVar var;
  int lanes;
};
/// The n-th loop over `var` runs more iterations at once than the others do.
struct Widen {
  LoopVar var;
  int sweep;
  int lanes;
};
/// The n-th loop over `var` runs more iterations at once than its sums have lanes: they add them in turn, as
/// before, while what is added is computed side by side.
struct Jam {
  LoopVar var;
  int sweep;
  int lanes;
};
/// The sweeps over `var` go through a part of it only (LoopKernel::range). Sums of blocks of `first_unit` are
/// joined as if all were there.
struct Limit {
  LoopVar var;
  int64_t first_unit;
  int64_t end_unit;
};
/// Every `block` iterations of the sweep are summed on their own and joined pairwise: float sums keep their
/// precision.
struct Cascade {
  LoopVar var;
  int64_t block;
};
/// Too few rows to keep all threads busy: tasks of `chunk` iterations each reduce a part of a row; a second
/// nest joins the parts.
struct SplitSweep {
  LoopVar var;
  int64_t chunk;
};
/// Where conditions on loop variables have one answer for a long time, run a body that does not ask.
struct Separate {
  bool aligned;  ///< cut vector loops only between their rounds
};
/// The outer loops of every nest, as far as they are row loops, become its parallel loop.
struct Parallelise {
  int64_t enough_tasks = 1024;  ///< more only make every task work out its place again
};
/// The output is larger than the caches and written once: stores go past them. Its memory is aligned to 64
/// bytes.
struct Stream {
  BufferId buffer;
};

/// While one sweep of a row runs, what the next row reads from `buffers` is brought into the cache.
struct FetchAhead {
  LoopVar row;
  LoopVar sweep;                  ///< the innermost swept loop
  std::optional<LoopVar> around;  ///< the loop outside of it
  int number;                     ///< of the sweep that has most to do besides
  LoopVar lanes;
  std::vector<BufferId> buffers;
};

/// What the loop over `var` reads from `buffers` a page further on is brought into the cache.
struct FetchOn {
  LoopVar var;
  std::vector<BufferId> buffers;
};

/// While the loop over `var` uses what a row has kept, what such a row, so many later, reads from `buffers` is
/// brought into the cache; but for what the rows before it have read by then.
struct FetchToKeep {
  LoopVar row;
  LoopVar var;
  LoopVar kept;
  int64_t later;
  std::vector<BufferId> buffers;
};

/// The vector loop over rows goes inside the sweeps: all rows of it are swept side by side, and their
/// accumulators lie in memory.
struct Sink {
  LoopVar var;
};

/// What lies next to each other along `along`, and far apart along the lanes, goes through tiles.
struct Stage {
  LoopVar along;
  LoopVar lanes;
};

/// A small matrix that lies across the lanes is turned around before all else, and read the other way round.
struct Turn {
  BufferId buffer;
  int64_t distance;  ///< bytes between its rows
  LoopVar along;
  LoopVar lanes;
  int64_t columns;  ///< as many as `along` counts
  int64_t rows;     ///< as many as `lanes` counts
  BufferId turned;
};

/// What the loop over `var` computes for an element and again for its neighbours is computed once, before, in
/// a loop over `kept`, and lies in a row of scratch.
struct KeepNeighbours {
  LoopVar var;
  LoopVar kept;
  std::map<int64_t, ValueId> values;  ///< all the same, at these places along the loop
};

/// Rows of a block compute what they keep before any of them goes on, so that they can share what they read:
///   for row { for kept {..} for j {..} }  =>  for before { for kept {..} } for row { for j {..} }
struct KeepRows {
  LoopVar row;
  LoopVar kept;
  LoopVar before;
};

/// What rows of a block compute after their last sweep is computed for all of them at once, in lanes:
///   for row { sweeps; w = log acc; %out[row] = w }
///   =>  for row { sweeps; %kept[row] = acc }  vector row { w = log %kept[row]; %out[row] = w }
struct FinishTogether {
  LoopVar row;
  int lanes;
};

/// The last sweep of a row of a block runs together with the sweep before it of the next row: while one waits
/// for divisions, or for memory to take what it stores, the other one computes:
///   for row { a; b; c }  =>  a(0); b(0); for row { a(row + 1); b(row + 1) and c(row) }; c(last)
struct Stagger {
  LoopVar row;
  LoopVar sweep;
  /// Rows are stored from a cache line on; the sweep is cut after a multiple of so many elements.
  std::optional<int64_t> from_lines;
};

/// Rows of the buffer begin anywhere: rounds of the loops that store to it begin at cache lines.
struct Align {
  BufferId buffer;
};

/// All iterations of a short loop over rows run at once, and share what is the same for all; scratch that
/// they need is there for each.
struct Unroll {
  LoopVar var;
};

using Decision = std::variant<Collapse, Split, Tile, Vectorise, Widen, Jam, Limit, Cascade, SplitSweep,
                              Separate, Parallelise, Stream, FetchAhead, FetchOn, Sink, Stage, Turn,
                              FetchToKeep, KeepNeighbours, KeepRows, FinishTogether, Stagger, Align, Unroll>;
using Schedule = std::vector<Decision>;

/// A kernel's loops with the decisions that made them what they are.
struct ScheduledKernel {
  LoopKernel loops;
  std::string decisions;  ///< one a line, with the names of the variables
};

/// Lowers a kernel, chooses how to run it on `cpu`, and carries that out. `own_outputs`: no output takes over
/// the memory of an input, so that all are aligned and none is in the cache. `read_soon`: outputs that the
/// last cache holds are better left there.
ScheduledKernel schedule_kernel(const FusedKernel& kernel, const std::vector<Layout>& layouts, const Cpu& cpu,
                                bool own_outputs = true, bool read_soon = true);

/// The same for a kernel that is called for one block of the columns of some rows at a time (see
/// fusion/product.h). Its tasks are, in row-major order, the rows and the parts that the columns are cut
/// into.
struct BlockKernel {
  ScheduledKernel scheduled;
  int64_t columns_per_task;  ///< the last part of a row may have fewer
};
/// `block_columns`: how many columns a part has at most; a kernel that reduces them, or whose columns do not
/// lie in one run, may not cut them so. `part_of_columns`: the one axis of columns is swept, and it is said
/// at run time which part of it.
BlockKernel schedule_block_kernel(const FusedKernel& kernel, const std::vector<Layout>& layouts,
                                  const Cpu& cpu, int64_t block_columns, bool own_outputs = true,
                                  bool part_of_columns = false);

void apply(LoopKernel& kernel, const Decision& decision);
bool can_collapse(const LoopKernel& kernel, LoopVar outer, LoopVar inner);
std::string to_string(const Decision& decision, const LoopKernel& kernel);

}  // namespace tokamak
