#include "schedule/sink.h"

#include <algorithm>

#include "loops/walk.h"
#include "schedule/axes.h"
#include "schedule/hand_over.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

bool can_lie_in_memory(const Accumulator& accumulator) { return accumulator.dtype != DType::boolean; }

/// The same for all lanes: it can stay outside of the vector loop. (What scratch holds may come from lanes.)
bool is_uniform(const LoopKernel& kernel, const Varying& varying, const Stmt& stmt) {
  const auto* load = std::get_if<Load>(&stmt);
  const bool from_scratch = load != nullptr && kernel[load->buffer].role == Buffer::Role::scratch;
  return !from_scratch && !std::holds_alternative<Store>(stmt) && !varying(stmt);
}

/// Whether all accumulators of the body can lie in memory, and nothing in it has branches or rows of scratch,
/// of which every lane would need its own.
bool can_lie_side_by_side(const LoopKernel& kernel, const std::vector<Stmt>& body) {
  return std::all_of(body.begin(), body.end(), [&](const Stmt& stmt) {
    if (as_branch(stmt) != nullptr) return false;
    if (const Loop* loop = as_loop(stmt)) return can_lie_side_by_side(kernel, loop->body);
    if (const auto* declare = std::get_if<Declare>(&stmt))
      return can_lie_in_memory(kernel[declare->accumulator]);
    const std::optional<Access> access = access_of(stmt);
    return !access || kernel[access->buffer].role != Buffer::Role::scratch;
  });
}

/// Puts the vector loop `lanes` around each group of the statements of `body`, which is part of it.
class Distribution {
 public:
  Distribution(const LoopKernel& kernel, const Loop& lanes)
      : kernel_(kernel), lanes_(lanes), varying_(kernel, lanes.var, true) {}

  std::vector<Stmt> of(std::vector<Stmt> body) const {
    std::vector<Stmt> result;
    std::shared_ptr<Loop> group;
    for (Stmt& stmt : body) {
      if (Loop* loop = as_loop(stmt)) {
        if (group != nullptr) result.emplace_back(std::move(group));
        group = nullptr;
        loop->body = of(std::move(loop->body));
        result.push_back(std::move(stmt));
      } else if (is_uniform(kernel_, varying_, stmt)) {
        result.push_back(std::move(stmt));  // before the group, whose other statements it does not need
      } else {
        if (group == nullptr) {
          group = std::make_shared<Loop>(lanes_);
          group->body.clear();
        }
        group->body.push_back(std::move(stmt));
      }
    }
    if (group != nullptr) result.emplace_back(std::move(group));
    return result;
  }

 private:
  const LoopKernel& kernel_;
  const Loop& lanes_;
  Varying varying_;
};

}  // namespace

bool can_sink(const LoopKernel& kernel, LoopVar var) {
  if (kernel.nests.size() != 1) return false;
  const Loop* lanes = find_loop(kernel.nests[0].root, var);
  if (lanes == nullptr) return false;
  return can_lie_side_by_side(kernel, lanes->body);
}

void sink(LoopKernel& kernel, const Sink& decision) {
  for (Nest& nest : kernel.nests) {
    replace_loops(nest.root, decision.var, [&](Loop& lanes) {
      int64_t rounds = 1;  // of all loops inside
      for_each_loop(lanes, [&](const Loop& loop) { rounds *= &loop == &lanes ? 1 : loop.extent; });
      walk(lanes, [&](const Stmt& stmt) {
        const auto* declare = std::get_if<Declare>(&stmt);
        if (declare == nullptr) return;
        kernel[declare->accumulator].each = lanes.var;
        kernel[declare->accumulator].parts = rounds;
      });
      std::vector<Stmt> body = Distribution(kernel, lanes).of(std::move(lanes.body));
      hand_over(kernel, lanes.var, lanes.extent, body);
      return body;
    });
  }
}

}  // namespace tokamak
