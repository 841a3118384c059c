#include "driver/kept_elements.h"

#include <algorithm>
#include <map>

#include "driver/in_place.h"
#include "ir/tensor.h"
#include "loops/walk.h"

namespace tokamak {

namespace {

class KeptElements {
 public:
  KeptElements(LoopKernel& kernel, BufferId output, const std::vector<InputBelow>& inputs)
      : kernel_(kernel), output_(output), inputs_(inputs) {}

  void rewrite(std::vector<Stmt>& body) {
    std::vector<Stmt> rewritten;
    for (Stmt& stmt : body) {
      if (const auto* store = std::get_if<Store>(&stmt); store != nullptr && store->buffer == output_) {
        add_store(*store, rewritten);
        continue;
      }
      if (const std::optional<ValueId> result = result_of(stmt)) made_by_[*result] = stmt;
      if (Loop* loop = as_loop(stmt)) {
        rewrite(loop->body);
        if (!has_effect(loop->body)) continue;
      }
      if (Branch* branch = as_branch(stmt)) {
        rewrite(branch->body);
        rewrite(branch->otherwise);
      }
      rewritten.push_back(std::move(stmt));
    }
    body = std::move(rewritten);
  }

  bool changed() const { return changed_; }

 private:
  /// Where an element that is computed for a place is another one than was there.
  struct Change {
    enum class Where : uint8_t { nowhere, under_mask, everywhere } where;
    ValueId mask{};   ///< under_mask
    ValueId value{};  ///< the same elements there
  };

  void add_store(Store store, std::vector<Stmt>& body) {
    const std::optional<Index> place = linear_position(kernel_[output_], store.index);
    known_.clear();
    const Change change = change_of(store.value, *place, body);
    changed_ = changed_ || change.where != Change::Where::everywhere;
    if (change.where == Change::Where::nowhere) return;
    store.value = change.value;
    if (change.where == Change::Where::under_mask) store.mask = change.mask;
    body.emplace_back(std::move(store));
  }

  /// Adds to the body what masks are computed from.
  Change change_of(ValueId value, const Index& place, std::vector<Stmt>& body) {
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    const Change change = find_change(value, place, body);
    known_.emplace(value, change);
    return change;
  }

  Change find_change(ValueId value, const Index& place, std::vector<Stmt>& body) {
    using enum Change::Where;
    const auto made = made_by_.find(value);
    if (made == made_by_.end()) return {everywhere, {}, value};
    if (const auto* load = std::get_if<Load>(&made->second))
      return {is_what_was_there(*load, place) ? nowhere : everywhere, {}, value};
    const auto* select = std::get_if<Compute>(&made->second);
    if (select == nullptr || select->op != Op::select) return {everywhere, {}, value};
    const ValueId condition = select->operands[0];
    const Change yes = change_of(select->operands[1], place, body);
    const Change no = change_of(select->operands[2], place, body);
    if (yes.where == no.where && yes.where != under_mask) return {yes.where, {}, value};
    if (yes.where == everywhere && no.where == nowhere) return {under_mask, condition, yes.value};
    if (yes.where == nowhere && no.where == everywhere)
      return {under_mask, compute(Op::bit_not, {condition}, body), no.value};
    const ValueId if_yes = mask_of(yes, body);
    const ValueId if_no = mask_of(no, body);
    return {under_mask, compute(Op::select, {condition, if_yes, if_no}, body), value};
  }

  bool is_what_was_there(const Load& load, const Index& place) const {
    const auto input = std::ranges::find(inputs_, load.buffer, &InputBelow::buffer);
    return input != inputs_.end() && load.guard.empty() &&
           linear_position(kernel_[load.buffer], load.index) == place + Index(input->offset);
  }

  ValueId mask_of(const Change& change, std::vector<Stmt>& body) {
    if (change.where == Change::Where::under_mask) return change.mask;
    const ValueId value = new_bool();
    const int64_t holds = change.where == Change::Where::everywhere ? 1 : 0;
    body.emplace_back(Literal{value, scalar_tensor(DType::boolean, holds)});
    return value;
  }

  ValueId compute(Op op, std::vector<ValueId> operands, std::vector<Stmt>& body) {
    const ValueId result = new_bool();
    body.emplace_back(Compute{result, op, std::move(operands)});
    return result;
  }

  ValueId new_bool() {
    kernel_.values.push_back(DType::boolean);
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }

  static bool has_effect(const std::vector<Stmt>& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) {
      if (const Loop* loop = as_loop(stmt)) return has_effect(loop->body);
      if (const Branch* branch = as_branch(stmt))
        return has_effect(branch->body) || has_effect(branch->otherwise);
      return !result_of(stmt) || std::holds_alternative<Accumulate>(stmt);
    });
  }

  LoopKernel& kernel_;
  BufferId output_;
  const std::vector<InputBelow>& inputs_;
  /// The statement that assigned a value last: bodies of which only one runs may share names.
  std::map<ValueId, Stmt> made_by_;
  std::map<ValueId, Change> known_;  ///< of what is stored now
  bool changed_ = false;
};

}  // namespace

std::optional<LoopKernel> without_kept_elements(const LoopKernel& kernel, BufferId output,
                                                const std::vector<InputBelow>& inputs) {
  LoopKernel made = kernel;
  bool is_other = false;
  for (size_t nest = 0; nest < made.nests.size(); ++nest) {
    if (made.nests.size() > 1 && copied_by(kernel, nest, output)) {
      is_other = true;
      continue;
    }
    made.nests[nest].root.body = deep_copy(made.nests[nest].root.body);
    KeptElements kept(made, output, inputs);
    kept.rewrite(made.nests[nest].root.body);
    is_other = is_other || kept.changed();
  }
  return is_other ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace tokamak
