#include "schedule/sink.h"

#include <algorithm>
#include <map>

#include "loops/walk.h"
#include "schedule/axes.h"
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

const Loop* find_loop(const Loop& root, LoopVar var) {
  const Loop* found = nullptr;
  for_each_loop(root, [&](const Loop& loop) {
    if (loop.var == var) found = &loop;
  });
  return found;
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

/// What one group of statements computes and another needs goes through a row of scratch.
class HandOver {
 public:
  HandOver(LoopKernel& kernel, const Loop& lanes) : kernel_(kernel), lanes_(lanes) {}

  void run(std::vector<Stmt>& body) {
    find_sources(body);
    read_rows(body);
    for (const auto& [value, row] : rows_) {
      std::vector<Stmt>& group = sources_.at(value)->body;
      const auto made = std::find_if(group.begin(), group.end(), [&, value = value](const Stmt& stmt) {
        return result_of(stmt) == value;
      });
      group.insert(made + 1, Store{row, {Index::of(lanes_.var)}, value});
    }
  }

 private:
  void for_each_group(std::vector<Stmt>& body, const std::function<void(Loop&)>& visit) {
    for (Stmt& stmt : body) {
      Loop* loop = as_loop(stmt);
      if (loop == nullptr) continue;
      if (loop->var == lanes_.var) {
        visit(*loop);
      } else {
        for_each_group(loop->body, visit);
      }
    }
  }

  void find_sources(std::vector<Stmt>& body) {
    for_each_group(body, [&](Loop& group) {
      for (const Stmt& stmt : group.body)
        if (const std::optional<ValueId> result = result_of(stmt)) sources_[*result] = &group;
    });
  }

  void read_rows(std::vector<Stmt>& body) {
    for_each_group(body, [&](Loop& group) {
      std::map<ValueId, ValueId> names;
      std::vector<Stmt> loads;
      for (const Stmt& stmt : group.body) {
        for_each_operand(stmt, [&](ValueId value) {
          const auto source = sources_.find(value);
          if (source == sources_.end() || source->second == &group || names.count(value) != 0) return;
          kernel_.values.push_back(kernel_[value]);
          const auto name = static_cast<ValueId>(kernel_.values.size() - 1);
          names[value] = name;
          loads.emplace_back(Load{name, row_of(value), {Index::of(lanes_.var)}, {}});
        });
      }
      if (loads.empty()) return;
      for (Stmt& stmt : group.body) rename(stmt, names);
      group.body.insert(group.body.begin(), loads.begin(), loads.end());
    });
  }

  BufferId row_of(ValueId value) {
    const auto [place, is_new] = rows_.emplace(value, BufferId{});
    if (is_new) {
      Buffer row;
      row.name = "row" + std::to_string(kernel_.buffers.size());
      row.type = {kernel_[value], {lanes_.extent}};
      row.role = Buffer::Role::scratch;
      row.aligned = true;
      kernel_.buffers.push_back(std::move(row));
      place->second = static_cast<BufferId>(kernel_.buffers.size() - 1);
    }
    return place->second;
  }

  static void rename(Stmt& stmt, const std::map<ValueId, ValueId>& names) {
    auto name = [&](ValueId value) {
      const auto found = names.find(value);
      return found == names.end() ? value : found->second;
    };
    for_each_index(stmt, [&](Index& index) { index = renamed(index, name); });
    if (auto* compute = std::get_if<Compute>(&stmt))
      for (ValueId& operand : compute->operands) operand = name(operand);
    if (auto* store = std::get_if<Store>(&stmt)) store->value = name(store->value);
    if (auto* step = std::get_if<Accumulate>(&stmt)) step->value = name(step->value);
    if (auto* check = std::get_if<CheckRange>(&stmt)) check->value = name(check->value);
  }

  LoopKernel& kernel_;
  const Loop& lanes_;
  std::map<ValueId, Loop*> sources_;
  std::map<ValueId, BufferId> rows_;
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
      HandOver(kernel, lanes).run(body);
      return body;
    });
  }
}

}  // namespace tokamak
