#include "schedule/stage.h"

#include <algorithm>

#include "loops/walk.h"
#include "schedule/axes.h"

namespace tokamak {
namespace {

class Staging {
 public:
  Staging(LoopKernel& kernel, const Stage& decision) : kernel_(kernel), decision_(decision) {}

  void run() {
    for (Nest& nest : kernel_.nests) visit(nest.root, nullptr);
  }

 private:
  /// `outer_lanes`: the vector loop, where it is around the other.
  void visit(Loop& loop, const Loop* outer_lanes) {
    std::vector<Stmt> body;
    for (Stmt& stmt : loop.body) {
      Loop* inner = as_loop(stmt);
      if (inner == nullptr || inner->var != decision_.along) {
        if (inner != nullptr) visit(*inner, inner->var == decision_.lanes ? inner : outer_lanes);
        body.push_back(std::move(stmt));
        continue;
      }
      before_.clear();
      after_.clear();
      if (outer_lanes != nullptr) {
        redirect(*inner, *inner, *outer_lanes);
      } else {
        walk(*inner, {.enter = [&](Loop& lanes) {
          if (lanes.var == decision_.lanes) redirect(lanes, *inner, lanes);
        }});
      }
      inner->ordered = inner->ordered || !before_.empty() || !after_.empty();  // through the tiles
      for (Stmt& tile : before_) body.push_back(std::move(tile));
      body.push_back(std::move(stmt));
      for (Stmt& tile : after_) body.push_back(std::move(tile));
    }
    loop.body = std::move(body);
  }

  /// Makes what the body of `loop` reads and writes across the lanes read and write tiles.
  void redirect(Loop& loop, const Loop& along, const Loop& lanes) {
    for (Stmt& stmt : loop.body) {
      const std::optional<int64_t> distance =
          distance_across(kernel_, stmt, decision_.along, decision_.lanes);
      if (!distance) continue;
      auto* load = std::get_if<Load>(&stmt);
      auto* store = std::get_if<Store>(&stmt);
      BufferId& buffer = load != nullptr ? load->buffer : store->buffer;
      std::vector<Index>& index = load != nullptr ? load->index : store->index;
      TransposeTile tile{.matrix = buffer,
                         .index = at_origin(index),
                         .distance = *distance,
                         .tile = add_tile(kernel_[buffer].type.dtype, along, lanes),
                         .to_matrix = store != nullptr,
                         .rows = {lanes.extent, lanes.bound},
                         .columns = {along.extent, along.bound}};
      buffer = tile.tile;
      index = {Index::of(decision_.along), Index::of(decision_.lanes)};
      (store != nullptr ? after_ : before_).emplace_back(std::move(tile));
    }
  }

  /// The index of the tile's first element.
  std::vector<Index> at_origin(std::vector<Index> index) const {
    auto origin = [&](LoopVar var) {
      return var == decision_.along || var == decision_.lanes ? Index(0) : Index::of(var);
    };
    for (Index& one : index) one = substitute(one, origin, kernel_.extents_function());
    return index;
  }

  BufferId add_tile(DType dtype, const Loop& along, const Loop& lanes) {
    Buffer buffer;
    buffer.name = "tile" + std::to_string(tiles_++);
    buffer.type = {dtype, {along.extent, lanes.extent}};
    buffer.role = Buffer::Role::scratch;
    buffer.aligned = true;
    kernel_.buffers.push_back(std::move(buffer));
    return static_cast<BufferId>(kernel_.buffers.size() - 1);
  }

  LoopKernel& kernel_;
  const Stage& decision_;
  std::vector<Stmt> before_;
  std::vector<Stmt> after_;
  int tiles_ = 0;
};

}  // namespace

bool can_stage(const LoopKernel& kernel, LoopVar along, LoopVar lanes) {
  bool found = false;
  for (const Nest& nest : kernel.nests) {
    walk(nest.root,
         [&](const Stmt& stmt) { found = found || distance_across(kernel, stmt, along, lanes).has_value(); });
  }
  return found;
}

void stage(LoopKernel& kernel, const Stage& decision) { Staging(kernel, decision).run(); }

}  // namespace tokamak
