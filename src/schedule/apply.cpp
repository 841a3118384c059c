// Carries decisions out on a kernel's loops. Nothing is decided here.

#include <algorithm>

#include "loops/walk.h"
#include "schedule/align.h"
#include "schedule/fetch_ahead.h"
#include "schedule/finish.h"
#include "schedule/neighbours.h"
#include "schedule/schedule.h"
#include "schedule/separate.h"
#include "schedule/sink.h"
#include "schedule/stage.h"
#include "schedule/stagger.h"
#include "schedule/transform.h"
#include "schedule/turn.h"
#include "schedule/unroll.h"

namespace tokamak {
namespace {

void apply_one(LoopKernel& kernel, const Collapse& decision) {
  flatten_dense_buffers(kernel);
  const int64_t extent = kernel.extents[static_cast<size_t>(decision.outer)] *
                         kernel.extents[static_cast<size_t>(decision.inner)];
  kernel.extents[static_cast<size_t>(decision.inner)] = extent;
  for (Nest& nest : kernel.nests) {
    walk(nest.root, {.enter = [&](Loop& loop) {
           for (Stmt& stmt : loop.body) {
             Loop* outer = as_loop(stmt);
             if (outer == nullptr || outer->var != decision.outer) continue;
             const std::shared_ptr<Loop> inner = std::get<std::shared_ptr<Loop>>(outer->body[0]);
             inner->extent = extent;
             stmt = inner;
           }
         }});
    substitute_variable(kernel, nest.root, decision.outer, Index(0));
  }
}

void apply_one(LoopKernel& kernel, const Split& decision) {
  const int64_t extent = kernel.extents[static_cast<size_t>(decision.var)];
  const LoopVar outer = add_variable(kernel, kernel.variables[static_cast<size_t>(decision.var)] + "_tile",
                                     (extent + decision.tile - 1) / decision.tile);
  kernel.extents[static_cast<size_t>(decision.var)] = decision.tile;
  for (Nest& nest : kernel.nests) {
    replace_loops(nest.root, decision.var, [&](Loop& loop) {
      return std::vector<Stmt>{split_loop(kernel, loop, decision.tile, outer, decision.var)};
    });
  }
}

void apply_one(LoopKernel& kernel, const Tile& decision) {
  apply_one(kernel, Split{decision.outer, decision.size});
  apply_one(kernel, Split{decision.inner, decision.size});
  // outer { inner_tile { inner } }  =>  inner_tile { outer { inner } }. What stood before the inner loop goes
  // with it.
  for (Nest& nest : kernel.nests) {
    replace_loops(nest.root, decision.outer, [&](Loop& outer) -> std::vector<Stmt> {
      auto inner_tiles = std::get<std::shared_ptr<Loop>>(outer.body.back());
      outer.body.back() = std::move(inner_tiles->body[0]);
      inner_tiles->body = {std::make_shared<Loop>(std::move(outer))};
      return {inner_tiles};
    });
  }
}

void apply_one(LoopKernel& kernel, const Vectorise& decision) {
  std::vector<bool> declared_inside(kernel.accumulators.size(), false);
  for (Nest& nest : kernel.nests) {
    int inside = 0;
    NestVisitor visitor;
    visitor.enter = [&](Loop& loop) {
      if (loop.var != decision.var) return;
      loop.kind = LoopKind::vector;
      loop.lanes = decision.lanes;
      if (!loop.ordered) widen_scratch(kernel, loop, ScratchAxis::innermost);
      ++inside;
    };
    visitor.leave = [&](Loop& loop) { inside -= loop.var == decision.var ? 1 : 0; };
    visitor.visit = [&](Stmt& stmt) {
      if (inside == 0) return;
      if (auto* declare = std::get_if<Declare>(&stmt)) {
        declared_inside[static_cast<size_t>(declare->accumulator)] = true;
        kernel[declare->accumulator].lanes = decision.lanes;
      }
      if (auto* step = std::get_if<Accumulate>(&stmt)) {
        Accumulator& accumulator = kernel[step->accumulator];
        accumulator.lanes = decision.lanes;
        accumulator.across_lanes = !declared_inside[static_cast<size_t>(step->accumulator)];
      }
    };
    walk(nest.root, visitor);
  }
}

void apply_one(LoopKernel& kernel, const Widen& decision) {
  int sweep = 0;
  for (Nest& nest : kernel.nests) {
    NestVisitor visitor;
    visitor.enter = [&](Loop& loop) {
      if (loop.var != decision.var || sweep++ != decision.sweep) return;
      loop.lanes = decision.lanes;
      for (const Stmt& stmt : loop.body)
        if (const auto* step = std::get_if<Accumulate>(&stmt))
          kernel[step->accumulator].lanes = decision.lanes;
    };
    walk(nest.root, visitor);
  }
}

void apply_one(LoopKernel& kernel, const Jam& decision) {
  int sweep = 0;
  for (Nest& nest : kernel.nests) {
    NestVisitor visitor;
    visitor.enter = [&](Loop& loop) {
      if (loop.var == decision.var && sweep++ == decision.sweep) loop.lanes = decision.lanes;
    };
    walk(nest.root, visitor);
  }
}

void apply_one(LoopKernel& kernel, const Limit& decision) {
  const int64_t extent = kernel.extents[static_cast<size_t>(decision.var)];
  const LoopVar first = add_variable(kernel, "first", extent / decision.first_unit + 1);
  const LoopVar end = add_variable(kernel, "end", extent / decision.end_unit + 1);
  kernel.range = SweptRange{first, end, decision.first_unit, decision.end_unit};
  const Index begin = Index::of(first) * decision.first_unit;
  for (Nest& nest : kernel.nests) {
    NestVisitor visitor;
    visitor.enter = [&](Loop& loop) {
      if (loop.var != decision.var) return;
      substitute_variable(kernel, loop, decision.var, begin + Index::of(decision.var));
      loop.bound = Index::of(end) * decision.end_unit - begin;
    };
    walk(nest.root, visitor);
  }
}

bool is_float_sum(const Accumulator& accumulator) {
  return accumulator.op == Op::reduce_sum && is_float(accumulator.dtype);
}

/// The accumulators stepped inside the loop and declared outside it.
std::vector<AccumulatorId> stepped_in(const Loop& loop) {
  std::vector<AccumulatorId> stepped;
  std::vector<AccumulatorId> declared;
  auto contains = [](const std::vector<AccumulatorId>& list, AccumulatorId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  walk(loop, [&](const Stmt& stmt) {
    if (const auto* declare = std::get_if<Declare>(&stmt)) declared.push_back(declare->accumulator);
    if (const auto* step = std::get_if<Accumulate>(&stmt)) {
      if (!contains(declared, step->accumulator) && !contains(stepped, step->accumulator)) {
        stepped.push_back(step->accumulator);
      }
    }
  });
  return stepped;
}

/// A new accumulator like `model`, stepped in its place inside the loop.
AccumulatorId part_of(LoopKernel& kernel, AccumulatorId model, Loop& loop) {
  Accumulator part = kernel[model];
  part.cascade = false;
  kernel.accumulators.push_back(part);
  const auto id = static_cast<AccumulatorId>(kernel.accumulators.size() - 1);
  walk(loop, {.visit = [&](Stmt& stmt) {
         auto* step = std::get_if<Accumulate>(&stmt);
         if (step != nullptr && step->accumulator == model) step->accumulator = id;
       }});
  return id;
}

void apply_one(LoopKernel& kernel, const Cascade& decision) {
  bool is_long = false;  // one that was cut is summed as one that was not
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      is_long = is_long || (loop.var == decision.var && loop.extent > decision.block);
    });
  }
  for (Nest& nest : kernel.nests) {
    replace_loops(nest.root, decision.var, [&](Loop& loop) -> std::vector<Stmt> {
      std::vector<AccumulatorId> sums = stepped_in(loop);
      std::erase_if(sums, [&](AccumulatorId id) { return !is_float_sum(kernel[id]); });
      if (sums.empty() || !is_long) return {std::make_shared<Loop>(std::move(loop))};
      const std::string name = kernel.variables[static_cast<size_t>(loop.var)];
      const LoopVar outer =
          add_variable(kernel, name + "_block", (loop.extent + decision.block - 1) / decision.block);
      const LoopVar inner = add_variable(kernel, name, decision.block);
      std::shared_ptr<Loop> blocks = split_loop(kernel, loop, decision.block, outer, inner);
      Loop& block = *as_loop(blocks->body[0]);
      std::vector<Stmt> body;
      std::vector<Stmt> merges;
      for (AccumulatorId sum : sums) {
        const AccumulatorId part = part_of(kernel, sum, block);
        kernel[sum].cascade = true;
        if (kernel.range) {
          kernel[sum].parts = kernel.extents[static_cast<size_t>(outer)];
          kernel[sum].parts_before =
              Index::of(kernel.range->first) * (kernel.range->first_unit / decision.block);
        }
        body.emplace_back(Declare{part});
        merges.emplace_back(Merge{sum, part});
      }
      body.push_back(std::move(blocks->body[0]));
      body.insert(body.end(), merges.begin(), merges.end());
      blocks->body = std::move(body);
      return {blocks};
    });
  }
}

void apply_one(LoopKernel& kernel, const SplitSweep& decision) {
  split_sweep(kernel, decision.var, decision.chunk);
}

void apply_one(LoopKernel& kernel, const Separate& decision) { separate_ranges(kernel, decision.aligned); }

void apply_one(LoopKernel& kernel, const Parallelise& decision) {
  for (Nest& nest : kernel.nests) parallelise(kernel, nest.root, decision.enough_tasks);
}

void apply_one(LoopKernel& kernel, const Stream& decision) {
  for (Nest& nest : kernel.nests) {
    walk(nest.root, {.visit = [&](Stmt& stmt) {
           auto* store = std::get_if<Store>(&stmt);
           if (store != nullptr && store->buffer == decision.buffer) store->non_temporal = true;
         }});
  }
}

void apply_one(LoopKernel& kernel, const Align& decision) { align(kernel, decision); }

void apply_one(LoopKernel& kernel, const Unroll& decision) { unroll(kernel, decision); }

void apply_one(LoopKernel& kernel, const Sink& decision) { sink(kernel, decision); }

void apply_one(LoopKernel& kernel, const Turn& decision) { turn(kernel, decision); }

void apply_one(LoopKernel& kernel, const Stage& decision) { stage(kernel, decision); }

void apply_one(LoopKernel& kernel, const FetchAhead& decision) { fetch_ahead(kernel, decision); }

void apply_one(LoopKernel& kernel, const FetchOn& decision) { fetch_on(kernel, decision); }

void apply_one(LoopKernel& kernel, const FetchToKeep& decision) { fetch_to_keep(kernel, decision); }

void apply_one(LoopKernel& kernel, const KeepNeighbours& decision) { keep_neighbours(kernel, decision); }

void apply_one(LoopKernel& kernel, const KeepRows& decision) { keep_rows(kernel, decision); }

void apply_one(LoopKernel& kernel, const FinishTogether& decision) { finish_together(kernel, decision); }

void apply_one(LoopKernel& kernel, const Stagger& decision) { stagger(kernel, decision); }

}  // namespace

void apply(LoopKernel& kernel, const Decision& decision) {
  std::visit([&](const auto& one) { apply_one(kernel, one); }, decision);
}

bool can_collapse(const LoopKernel& kernel, LoopVar outer, LoopVar inner) {
  const int64_t inner_extent = kernel.extents[static_cast<size_t>(inner)];
  auto walks_as_one = [&](const Index& index) {
    const std::optional<int64_t> o = linear_coefficient(index, outer);
    const std::optional<int64_t> i = linear_coefficient(index, inner);
    return o && i && *o == *i * inner_extent;
  };
  bool possible = true;
  auto check_stmt = [&](const Stmt& stmt) {
    if (const std::optional<Access> access = access_of(stmt); access && is_dense(kernel[access->buffer])) {
      possible = possible && walks_as_one(*linear_position(kernel[access->buffer], *access->index));
      if (const auto* load = std::get_if<Load>(&stmt)) {
        for (const Condition& condition : load->guard) possible = possible && walks_as_one(condition.index);
      }
      return;
    }
    for_each_index(stmt, [&](const Index& index) { possible = possible && walks_as_one(index); });
  };
  for (const Nest& nest : kernel.nests) {
    walk(nest.root, check_stmt);
    for_each_loop(nest.root, [&](const Loop& loop) {
      if (loop.var != outer) return;
      const Loop* only = loop.body.size() == 1 ? as_loop(loop.body[0]) : nullptr;
      possible = possible && only != nullptr && only->var == inner && !loop.bound && !only->bound &&
                 loop.kind == LoopKind::serial && only->kind == LoopKind::serial;
    });
  }
  return possible;
}

std::string to_string(const Decision& decision, const LoopKernel& kernel) {
  struct Visitor {
    const LoopKernel& kernel;
    const std::string& name(LoopVar var) const { return kernel.variables[static_cast<size_t>(var)]; }
    std::string names_of(const std::vector<BufferId>& buffers) const {
      std::string names;
      for (BufferId buffer : buffers) names += (names.empty() ? "" : ", ") + kernel[buffer].name;
      return names;
    }
    std::string operator()(const Collapse& d) const {
      return "collapse " + name(d.outer) + " into " + name(d.inner);
    }
    std::string operator()(const Split& d) const {
      return "split " + name(d.var) + " by " + std::to_string(d.tile);
    }
    std::string operator()(const Tile& d) const {
      return "tile " + name(d.outer) + " and " + name(d.inner) + " by " + std::to_string(d.size);
    }
    std::string operator()(const Vectorise& d) const {
      return "vectorise " + name(d.var) + " with " + std::to_string(d.lanes) + " lanes";
    }
    std::string operator()(const Widen& d) const {
      return "search with " + std::to_string(d.lanes) + " lanes in sweep " + std::to_string(d.sweep) +
             " over " + name(d.var);
    }
    std::string operator()(const Jam& d) const {
      return "compute " + std::to_string(d.lanes) + " at once in sweep " + std::to_string(d.sweep) +
             " over " + name(d.var);
    }
    std::string operator()(const Limit& d) const {
      return "sweep the part of " + name(d.var) + " that is asked for";
    }
    std::string operator()(const Cascade& d) const {
      return "sum " + name(d.var) + " pairwise in blocks of " + std::to_string(d.block);
    }
    std::string operator()(const SplitSweep& d) const {
      return "split the sweep over " + name(d.var) + " into tasks of " + std::to_string(d.chunk);
    }
    std::string operator()(const Separate&) const { return "run what is inside apart from the edges"; }
    std::string operator()(const Parallelise&) const { return "parallelise the rows"; }
    std::string operator()(const Stream& d) const {
      return "stream " + kernel[d.buffer].name + " past the caches";
    }
    std::string operator()(const Align& d) const {
      return "begin rounds at cache lines of " + kernel[d.buffer].name;
    }
    std::string operator()(const Unroll& d) const { return "run all of " + name(d.var) + " at once"; }
    std::string operator()(const Sink& d) const { return "sweep all of " + name(d.var) + " side by side"; }
    std::string operator()(const Turn& d) const {
      return "turn " + kernel[d.buffer].name + " around once, for " + name(d.lanes) + " in lanes";
    }
    std::string operator()(const Stage& d) const {
      return "turn tiles of " + name(d.along) + " and " + name(d.lanes) + " around in the cache";
    }
    std::string operator()(const KeepNeighbours& d) const {
      return "keep a row of what " + std::to_string(d.values.size()) + " neighbours along " + name(d.var) +
             " share";
    }
    std::string operator()(const KeepRows& d) const { return "do so for all of " + name(d.row) + " first"; }
    std::string operator()(const FinishTogether& d) const {
      return "finish " + name(d.row) + " with " + std::to_string(d.lanes) + " lanes after its sweeps";
    }
    std::string operator()(const Stagger& d) const {
      return "run the last sweep over " + name(d.sweep) + " with the next " + name(d.row) +
             (d.from_lines ? ", from a cache line on" : "");
    }
    std::string operator()(const FetchAhead& d) const {
      return "fetch the next " + name(d.row) + " of " + names_of(d.buffers) + " in sweep " +
             std::to_string(d.number);
    }
    std::string operator()(const FetchOn& d) const {
      return "fetch " + names_of(d.buffers) + " a page ahead along " + name(d.var);
    }
    std::string operator()(const FetchToKeep& d) const {
      return "fetch the rows of " + names_of(d.buffers) + " that are new " + std::to_string(d.later) + " " +
             name(d.row) + " later";
    }
  };
  return std::visit(Visitor{kernel}, decision);
}

}  // namespace tokamak
