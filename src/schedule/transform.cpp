#include "schedule/transform.h"

#include <algorithm>

#include "ir/layout.h"
#include "loops/walk.h"
#include "support/cache_line.h"
#include "support/rounding.h"

namespace tokamak {

LoopVar add_variable(LoopKernel& kernel, std::string name, int64_t extent) {
  kernel.variables.push_back(std::move(name));
  kernel.extents.push_back(extent);
  return static_cast<LoopVar>(kernel.variables.size() - 1);
}

void substitute_variable(LoopKernel& kernel, Loop& inside, LoopVar var, const Index& replacement) {
  const Extents extents = kernel.extents_function();
  auto rewrite = [&](Index& index) {
    if (!mentions(index, var)) return;
    index = substitute(
        index, [&](LoopVar seen) { return seen == var ? replacement : Index::of(seen); }, extents);
  };
  NestVisitor visitor;
  visitor.visit = [&](Stmt& stmt) { for_each_index(stmt, rewrite); };
  visitor.enter = [&](Loop& loop) {
    if (loop.bound) rewrite(*loop.bound);
  };
  walk(inside, visitor);
}

void replace_loops(Loop& root, LoopVar var, const std::function<std::vector<Stmt>(Loop&)>& make) {
  std::vector<Stmt> body;
  for (Stmt& stmt : root.body) {
    Loop* loop = as_loop(stmt);
    if (loop != nullptr && loop->var == var) {
      for (Stmt& made : make(*loop)) body.push_back(std::move(made));
      continue;
    }
    if (loop != nullptr) replace_loops(*loop, var, make);
    body.push_back(std::move(stmt));
  }
  root.body = std::move(body);
}

std::shared_ptr<Loop> split_loop(LoopKernel& kernel, Loop& loop, int64_t tile, LoopVar outer, LoopVar inner) {
  auto inner_loop = std::make_shared<Loop>(std::move(loop));
  const LoopVar old = inner_loop->var;
  const int64_t extent = inner_loop->extent;
  inner_loop->var = inner;
  inner_loop->extent = tile;
  substitute_variable(kernel, *inner_loop, old, Index::of(outer) * tile + Index::of(inner));
  auto outer_loop = std::make_shared<Loop>();
  if (const std::optional<Index> bound = inner_loop->bound) {  // a tile of a split loop is split again
    const std::optional<Bounds> ends = bounds_of(*bound, kernel.extents_function());
    if (extent % tile != 0 && (!ends || ends->high > extent))
      throw InternalError("schedule: a loop of " + std::to_string(extent) +
                          ", or fewer, is cut into parts of " + std::to_string(tile) +
                          ", the last of which would go beyond its end");
    outer_loop->bound = divide(*bound + Index(tile - 1), tile, kernel.extents_function());
    inner_loop->bound = *bound - Index::of(outer) * tile;
  } else if (extent % tile != 0) {
    inner_loop->bound = Index(extent) - Index::of(outer) * tile;
  }
  outer_loop->var = outer;
  outer_loop->extent = (extent + tile - 1) / tile;
  outer_loop->ordered = inner_loop->ordered;
  outer_loop->body.emplace_back(std::move(inner_loop));
  return outer_loop;
}

Loop* only_loop(Loop& loop) {
  const auto loops = std::count_if(loop.body.begin(), loop.body.end(),
                                   [](const Stmt& stmt) { return as_loop(stmt) != nullptr; });
  return loops == 1 ? as_loop(loop.body.back()) : nullptr;
}

void parallelise(LoopKernel& kernel, Loop& root, int64_t enough_tasks) {
  std::vector<std::pair<LoopVar, int64_t>> rows;
  int64_t tasks = 1;
  for (Loop* next = only_loop(root); next != nullptr; next = only_loop(root)) {
    if (next->kind != LoopKind::serial || next->ordered || next->bound || tasks >= enough_tasks) break;
    rows.emplace_back(next->var, next->extent);
    tasks *= next->extent;
    const std::shared_ptr<Loop> keep_alive = std::get<std::shared_ptr<Loop>>(root.body.back());
    root.body.pop_back();
    for (Stmt& stmt : keep_alive->body) root.body.push_back(std::move(stmt));
  }
  root.extent = tasks;
  kernel.extents[static_cast<size_t>(root.var)] = tasks;
  const Extents extents = kernel.extents_function();
  int64_t inner = tasks;
  for (const auto& [var, extent] : rows) {
    if (tasks == 0) {  // nothing runs
      substitute_variable(kernel, root, var, Index(0));
      continue;
    }
    inner /= extent;
    substitute_variable(kernel, root, var,
                        modulo(divide(Index::of(root.var), inner, extents), extent, extents));
  }
}

bool is_dense(const Buffer& buffer) {
  return buffer.role == Buffer::Role::scratch || buffer.strides == dense_strides(buffer.type);
}

namespace {

/// By buffer: whether accesses to it become one-dimensional.
std::vector<bool> buffers_to_flatten(LoopKernel& kernel) {
  std::vector<bool> flat;
  for (const Buffer& buffer : kernel.buffers)
    flat.push_back(buffer.role != Buffer::Role::partial && is_dense(buffer));
  for (const Nest& nest : kernel.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      const auto* tile = std::get_if<TransposeTile>(&stmt);
      if (tile != nullptr)
        flat[static_cast<size_t>(tile->matrix)] = flat[static_cast<size_t>(tile->tile)] = false;
    });
  }
  return flat;
}

}  // namespace

void flatten_dense_buffers(LoopKernel& kernel) {
  const std::vector<bool> flat = buffers_to_flatten(kernel);
  auto flatten = [&](auto* access) {
    if (access == nullptr || access->index.size() == 1 || !flat[static_cast<size_t>(access->buffer)]) return;
    access->index = {*linear_position(kernel[access->buffer], access->index)};
  };
  for (Nest& nest : kernel.nests) {
    walk(nest.root, {.visit = [&](Stmt& stmt) {
           flatten(std::get_if<Load>(&stmt));
           flatten(std::get_if<Store>(&stmt));
           flatten(std::get_if<Prefetch>(&stmt));
         }});
  }
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    Buffer& buffer = kernel.buffers[i];
    if (!flat[i]) continue;
    buffer.type.shape = {buffer.type.elements()};
    if (buffer.role != Buffer::Role::scratch) buffer.strides = dense_strides(buffer.type);
  }
}

BufferId add_scratch(LoopKernel& kernel, const std::string& name, TensorType type) {
  Buffer buffer;
  buffer.name = name + std::to_string(kernel.buffers.size());
  buffer.type = std::move(type);
  buffer.role = Buffer::Role::scratch;
  buffer.aligned = true;
  kernel.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(kernel.buffers.size() - 1);
}

void widen_scratch(LoopKernel& kernel, Loop& loop, ScratchAxis where) {
  std::vector<bool> widened(kernel.buffers.size(), false);
  auto add_axis = [&](auto& list, const auto& one) {
    list.insert(where == ScratchAxis::outermost ? list.begin() : list.end(), one);
  };
  auto widen = [&](auto* access) {
    if (access == nullptr || kernel[access->buffer].role != Buffer::Role::scratch) return;
    if (std::any_of(access->index.begin(), access->index.end(),
                    [&](const Index& part) { return mentions(part, loop.var); }))
      return;  // it has one already
    add_axis(access->index, Index::of(loop.var));
    if (!widened[static_cast<size_t>(access->buffer)])
      add_axis(kernel[access->buffer].type.shape, loop.extent);
    widened[static_cast<size_t>(access->buffer)] = true;
  };
  walk(loop, {.visit = [&](Stmt& stmt) {
         widen(std::get_if<Load>(&stmt));
         widen(std::get_if<Store>(&stmt));
       }});
}

namespace {

/// How many bytes apart rows of scratch begin, of which some are read while others are written.
int64_t distance_of_rows(int64_t row_bytes, int64_t rows) {
  constexpr int64_t kMostRows = 8;  // of more, each would be next to another one anyway
  if (rows < 2 || rows > kMostRows || row_bytes < kAlike / 2) return row_bytes;
  const int64_t apart = round_down(kAlike / rows, kCacheLine);
  const int64_t beyond = row_bytes % kAlike;
  if (beyond >= apart / 2 && beyond <= kAlike - apart / 2) return row_bytes;
  return round_up(row_bytes - apart, kAlike) + apart;
}

}  // namespace

void place_scratch(LoopKernel& kernel) {
  int64_t offset = 0;
  for (Buffer& buffer : kernel.buffers) {
    if (buffer.role != Buffer::Role::scratch) continue;
    buffer.strides = dense_strides(buffer.type);
    buffer.scratch_offset = offset;
    if (buffer.type.shape.size() > 1)
      buffer.strides[0] = distance_of_rows(buffer.strides[0], buffer.type.shape[0]);
    offset += round_up(byte_range(buffer.type, buffer.strides.data()).end, kCacheLine);
  }
  kernel.scratch_bytes = offset;
}

}  // namespace tokamak
