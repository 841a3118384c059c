#include "schedule/sink.h"

#include <set>

#include "loops/walk.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

bool can_lie_in_memory(const Accumulator& accumulator) { return accumulator.dtype != DType::boolean; }

/// Looks at statements that stay together: those between two loops of one body.
class Groups {
 public:
  explicit Groups(const LoopKernel& kernel) : kernel_(kernel) {}

  bool are_independent(const std::vector<Stmt>& body) {
    std::set<ValueId> defined;
    for (const Stmt& stmt : body) {
      if (as_branch(stmt) != nullptr) return false;
      if (const Loop* loop = as_loop(stmt)) {
        if (loop->bound && mentions_values(*loop->bound)) return false;
        if (!are_independent(loop->body)) return false;
        defined.clear();
        continue;
      }
      bool inside = true;
      for_each_operand(stmt, [&](ValueId value) { inside = inside && defined.count(value) != 0; });
      const auto* declare = std::get_if<Declare>(&stmt);
      if (!inside || (declare != nullptr && !can_lie_in_memory(kernel_[declare->accumulator]))) return false;
      if (const std::optional<ValueId> result = result_of(stmt)) defined.insert(*result);
    }
    return true;
  }

 private:
  static bool mentions_values(const Index& index) {
    bool found = false;
    for_each_value(index, [&](ValueId) { found = true; });
    return found;
  }

  const LoopKernel& kernel_;
};

const Loop* find_loop(const Loop& root, LoopVar var) {
  const Loop* found = nullptr;
  for_each_loop(root, [&](const Loop& loop) {
    if (loop.var == var) found = &loop;
  });
  return found;
}

/// The statements of `body`, which is part of the vector loop `lanes`, with that loop around each group.
std::vector<Stmt> distributed(const Loop& lanes, std::vector<Stmt> body) {
  std::vector<Stmt> result;
  std::shared_ptr<Loop> group;
  for (Stmt& stmt : body) {
    if (Loop* loop = as_loop(stmt)) {
      group = nullptr;
      loop->body = distributed(lanes, std::move(loop->body));
      result.push_back(std::move(stmt));
      continue;
    }
    if (group == nullptr) {
      group = std::make_shared<Loop>(lanes);
      group->body.clear();
      result.emplace_back(group);
    }
    group->body.push_back(std::move(stmt));
  }
  return result;
}

}  // namespace

bool can_sink(const LoopKernel& kernel, LoopVar var) {
  if (kernel.nests.size() != 1) return false;
  const Loop* lanes = find_loop(kernel.nests[0].root, var);
  return lanes != nullptr && Groups(kernel).are_independent(lanes->body);
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
      return distributed(lanes, std::move(lanes.body));
    });
  }
}

}  // namespace tokamak
