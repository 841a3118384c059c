#include "schedule/hand_over.h"

#include <algorithm>
#include <functional>
#include <map>

#include "loops/walk.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

class HandOver {
 public:
  HandOver(LoopKernel& kernel, LoopVar var, int64_t extent) : kernel_(kernel), var_(var), extent_(extent) {}

  void run(std::vector<Stmt>& body) {
    find_sources(body);
    read_rows(body);
    for (const auto& [value, row] : rows_) {
      std::vector<Stmt>& group = sources_.at(value)->body;
      const auto made = std::find_if(group.begin(), group.end(), [&, value = value](const Stmt& stmt) {
        return result_of(stmt) == value;
      });
      group.insert(made + 1, Store{row, {Index::of(var_)}, value});
    }
  }

 private:
  void for_each_group(std::vector<Stmt>& body, const std::function<void(Loop&)>& visit) {
    for (Stmt& stmt : body) {
      Loop* loop = as_loop(stmt);
      if (loop == nullptr) continue;
      if (loop->var == var_) {
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
          loads.emplace_back(Load{name, row_of(value), {Index::of(var_)}, {}});
        });
      }
      if (loads.empty()) return;
      auto name = [&](ValueId value) { return names.count(value) != 0 ? names.at(value) : value; };
      for (Stmt& stmt : group.body) rename_operands(stmt, name);
      group.body.insert(group.body.begin(), loads.begin(), loads.end());
    });
  }

  BufferId row_of(ValueId value) {
    const auto [place, is_new] = rows_.emplace(value, BufferId{});
    if (is_new) place->second = add_scratch(kernel_, "row", {kernel_[value], {extent_}});
    return place->second;
  }

  LoopKernel& kernel_;
  LoopVar var_;
  int64_t extent_;
  std::map<ValueId, Loop*> sources_;
  std::map<ValueId, BufferId> rows_;
};

}  // namespace

void hand_over(LoopKernel& kernel, LoopVar var, int64_t extent, std::vector<Stmt>& body) {
  HandOver(kernel, var, extent).run(body);
}

}  // namespace tokamak
