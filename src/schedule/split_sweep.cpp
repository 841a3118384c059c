#include <algorithm>

#include "ir/layout.h"
#include "loops/walk.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

/// The way from the root of a nest to the loop that declares the accumulators of the sweep over `var`.
struct Path {
  std::vector<Loop*> loops;  ///< root first
  Loop& container() const { return *loops.back(); }
};

Path path_to_sweep(Loop& root, LoopVar var) {
  Path path;
  for (Loop* at = &root; at != nullptr;) {
    path.loops.push_back(at);
    Loop* next = nullptr;
    for (Stmt& stmt : at->body) {
      Loop* loop = as_loop(stmt);
      if (loop == nullptr) continue;
      if (loop->var == var) return path;
      next = loop;
    }
    at = next;
  }
  throw InternalError("schedule: there is no sweep to split");
}

/// The body of the container, cut at the sweep.
struct Sections {
  std::vector<Stmt> before;  ///< without the declarations
  std::vector<AccumulatorId> accumulators;
  std::shared_ptr<Loop> sweep;
  std::vector<Stmt> after;
};

Sections cut(Loop& container, LoopVar var) {
  Sections sections;
  for (Stmt& stmt : container.body) {
    Loop* loop = as_loop(stmt);
    if (loop != nullptr && loop->var == var) {
      sections.sweep = std::get<std::shared_ptr<Loop>>(stmt);
    } else if (auto* declare = std::get_if<Declare>(&stmt)) {
      sections.accumulators.push_back(declare->accumulator);
    } else {
      (sections.sweep ? sections.after : sections.before).push_back(stmt);
    }
  }
  return sections;
}

BufferId add_partial_buffer(LoopKernel& kernel, AccumulatorId id, int64_t slots) {
  const Accumulator& accumulator = kernel[id];
  Buffer buffer;
  buffer.name = "partial" + std::to_string(static_cast<uint32_t>(id));
  buffer.type = {DType::u8, {slots, accumulator.lanes * accumulator_lane_bytes(accumulator)}};
  buffer.role = Buffer::Role::partial;
  buffer.strides = dense_strides(buffer.type);
  buffer.aligned = true;
  kernel.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(kernel.buffers.size() - 1);
}

AccumulatorId add_accumulator(LoopKernel& kernel, const Accumulator& accumulator) {
  kernel.accumulators.push_back(accumulator);
  return static_cast<AccumulatorId>(kernel.accumulators.size() - 1);
}

}  // namespace

void split_sweep(LoopKernel& kernel, LoopVar var, int64_t chunk) {
  Loop& root = kernel.nests[0].root;
  Nest joining{Loop{root}, 0};
  joining.root.body = deep_copy(root.body);
  joining.root.var = add_variable(kernel, "row", 1);

  // The first nest: every chunk of the sweep reduces into an accumulator of its own.
  Path path = path_to_sweep(root, var);
  Sections sections = cut(path.container(), var);
  const int64_t chunks = (sections.sweep->extent + chunk - 1) / chunk;
  const LoopVar chunk_var =
      add_variable(kernel, kernel.variables[static_cast<size_t>(var)] + "_chunk", chunks);
  Index row;
  int64_t rows = 1;
  for (size_t i = 1; i < path.loops.size(); ++i) {
    const Loop& loop = *path.loops[i];
    const int64_t step = loop.kind == LoopKind::vector ? loop.lanes : 1;
    const int64_t rounds = (loop.extent + step - 1) / step;
    row = row * rounds + divide(Index::of(loop.var), step, kernel.extents_function());
    rows *= rounds;
  }
  std::vector<BufferId> partials;
  for (AccumulatorId id : sections.accumulators)
    partials.push_back(add_partial_buffer(kernel, id, rows * chunks));

  std::shared_ptr<Loop> chunk_loop = split_loop(kernel, *sections.sweep, chunk, chunk_var, var);
  kernel.extents[static_cast<size_t>(var)] = chunk;
  chunk_loop->ordered = false;
  std::vector<Stmt> body;
  for (AccumulatorId id : sections.accumulators) body.emplace_back(Declare{id});
  body.push_back(std::move(chunk_loop->body[0]));
  for (size_t i = 0; i < partials.size(); ++i) {
    body.emplace_back(Spill{sections.accumulators[i], partials[i], row * chunks + Index::of(chunk_var)});
  }
  Loop& container = path.container();
  if (container.kind == LoopKind::vector) {  // lanes are rows: the chunks go around them
    std::vector<Stmt> lanes_body = sections.before;
    lanes_body.insert(lanes_body.end(), body.begin(), body.end());
    container.body = std::move(lanes_body);
    Loop& parent = *path.loops[path.loops.size() - 2];
    chunk_loop->body = {parent.body.back()};
    parent.body.back() = chunk_loop;
  } else {
    chunk_loop->body = std::move(body);
    container.body = sections.before;
    container.body.emplace_back(chunk_loop);
  }

  // The second: the parts of each row are joined, in order, and what depends on the result follows.
  Path joining_path = path_to_sweep(joining.root, var);
  Sections joining_sections = cut(joining_path.container(), var);
  const LoopVar part_var = add_variable(kernel, "part", chunks);
  auto part_loop = std::make_shared<Loop>();
  part_loop->var = part_var;
  part_loop->extent = chunks;
  part_loop->ordered = true;
  std::vector<Stmt> joined = std::move(joining_sections.before);
  std::vector<std::pair<AccumulatorId, AccumulatorId>> totals;
  for (size_t i = 0; i < partials.size(); ++i) {
    const AccumulatorId part = sections.accumulators[i];
    Accumulator total = kernel[part];
    total.cascade = total.op == Op::reduce_sum && is_float(total.dtype);
    const AccumulatorId incoming = add_accumulator(kernel, kernel[part]);
    const AccumulatorId id = add_accumulator(kernel, total);
    totals.emplace_back(part, id);
    joined.emplace_back(Declare{id});
    part_loop->body.emplace_back(Declare{incoming});
    part_loop->body.emplace_back(Unspill{incoming, partials[i], row * chunks + Index::of(part_var)});
    part_loop->body.emplace_back(Merge{id, incoming});
  }
  joined.emplace_back(std::move(part_loop));
  for (Stmt& stmt : joining_sections.after) {
    if (auto* read = std::get_if<Read>(&stmt)) {
      for (const auto& [part, total] : totals) {
        if (read->accumulator == part) {
          read->accumulator = total;
          break;
        }
      }
    }
    joined.push_back(std::move(stmt));
  }
  joining_path.container().body = std::move(joined);
  kernel.nests.push_back(std::move(joining));
}

}  // namespace tokamak
