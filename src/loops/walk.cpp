#include "loops/walk.h"

namespace tokamak {

namespace {

void walk_body(std::vector<Stmt>& body, const NestVisitor& visitor) {
  for (Stmt& stmt : body) {
    if (Loop* inner = as_loop(stmt)) {
      walk(*inner, visitor);
      continue;
    }
    visitor.visit(stmt);
    if (Branch* branch = as_branch(stmt)) {
      walk_body(branch->body, visitor);
      walk_body(branch->otherwise, visitor);
    }
  }
}

void walk_body(const std::vector<Stmt>& body, const std::function<void(const Stmt&)>& visit) {
  for (const Stmt& stmt : body) {
    if (const Loop* inner = as_loop(stmt)) {
      walk_body(inner->body, visit);
      continue;
    }
    visit(stmt);
    if (const Branch* branch = as_branch(stmt)) {
      walk_body(branch->body, visit);
      walk_body(branch->otherwise, visit);
    }
  }
}

void for_each_loop_in(const std::vector<Stmt>& body, const std::function<void(const Loop&)>& visit) {
  for (const Stmt& stmt : body) {
    if (const Loop* inner = as_loop(stmt)) for_each_loop(*inner, visit);
    if (const Branch* branch = as_branch(stmt)) {
      for_each_loop_in(branch->body, visit);
      for_each_loop_in(branch->otherwise, visit);
    }
  }
}

}  // namespace

void walk(Loop& loop, const NestVisitor& visitor) {
  visitor.enter(loop);
  walk_body(loop.body, visitor);
  visitor.leave(loop);
}

void walk(const Loop& loop, const std::function<void(const Stmt&)>& visit) { walk_body(loop.body, visit); }

void for_each_loop(const Loop& loop, const std::function<void(const Loop&)>& visit) {
  visit(loop);
  for_each_loop_in(loop.body, visit);
}

const Loop* find_loop(const Loop& root, LoopVar var) {
  const Loop* found = nullptr;
  for_each_loop(root, [&](const Loop& loop) { found = loop.var == var ? &loop : found; });
  return found;
}

void for_each_index(Stmt& stmt, const std::function<void(Index&)>& visit) {
  struct Visitor {
    const std::function<void(Index&)>& visit;
    void guard(Guard& conditions) const {
      for (Condition& condition : conditions) visit(condition.index);
    }
    void all(std::vector<Index>& indices) const {
      for (Index& index : indices) visit(index);
    }
    void operator()(Literal&) const {}
    void operator()(IndexValue& s) const { visit(s.index); }
    void operator()(Test& s) const { guard(s.guard); }
    void operator()(Load& s) const {
      all(s.index);
      guard(s.guard);
    }
    void operator()(Compute&) const {}
    void operator()(Store& s) const { all(s.index); }
    void operator()(Declare&) const {}
    void operator()(Accumulate& s) const {
      if (s.position) visit(*s.position);
    }
    void operator()(Merge&) const {}
    void operator()(Read&) const {}
    void operator()(Spill& s) const { visit(s.slot); }
    void operator()(Unspill& s) const { visit(s.slot); }
    void operator()(CheckRange&) const {}
    void operator()(Prefetch& s) const { all(s.index); }
    void operator()(TransposeTile& s) const {
      all(s.index);
      if (s.rows.bound) visit(*s.rows.bound);
      if (s.columns.bound) visit(*s.columns.bound);
    }
    void operator()(std::shared_ptr<Branch>& branch) const { guard(branch->guard); }
    void operator()(std::shared_ptr<Loop>& loop) const {
      if (loop->bound) visit(*loop->bound);
    }
  };
  std::visit(Visitor{visit}, stmt);
}

void for_each_index(const Stmt& stmt, const std::function<void(const Index&)>& visit) {
  for_each_index(const_cast<Stmt&>(stmt),
                 [&](Index& index) { visit(index); });  // NOLINT: visited, not changed
}

std::optional<Access> access_of(const Stmt& stmt) {
  if (const auto* load = std::get_if<Load>(&stmt)) return Access{load->buffer, &load->index, false};
  if (const auto* store = std::get_if<Store>(&stmt)) return Access{store->buffer, &store->index, true};
  return std::nullopt;
}

std::optional<ValueId> result_of(const Stmt& stmt) {
  if (const auto* s = std::get_if<Literal>(&stmt)) return s->result;
  if (const auto* s = std::get_if<IndexValue>(&stmt)) return s->result;
  if (const auto* s = std::get_if<Test>(&stmt)) return s->result;
  if (const auto* s = std::get_if<Load>(&stmt)) return s->result;
  if (const auto* s = std::get_if<Compute>(&stmt)) return s->result;
  if (const auto* s = std::get_if<Read>(&stmt)) return s->result;
  if (const auto* s = std::get_if<Accumulate>(&stmt)) return s->running;
  return std::nullopt;
}

void for_each_operand(const Stmt& stmt, const std::function<void(ValueId)>& visit) {
  for_each_index(stmt, [&](const Index& index) { for_each_value(index, visit); });
  if (const auto* compute = std::get_if<Compute>(&stmt)) {
    for (ValueId operand : compute->operands) visit(operand);
  }
  if (const auto* store = std::get_if<Store>(&stmt)) {
    visit(store->value);
    if (store->mask) visit(*store->mask);
  }
  if (const auto* step = std::get_if<Accumulate>(&stmt)) visit(step->value);
  if (const auto* check = std::get_if<CheckRange>(&stmt)) visit(check->value);
}

void rename_operands(Stmt& stmt, const std::function<ValueId(ValueId)>& name) {
  for_each_index(stmt, [&](Index& index) { index = renamed(index, name); });
  if (auto* compute = std::get_if<Compute>(&stmt))
    for (ValueId& operand : compute->operands) operand = name(operand);
  if (auto* store = std::get_if<Store>(&stmt)) {
    store->value = name(store->value);
    if (store->mask) store->mask = name(*store->mask);
  }
  if (auto* step = std::get_if<Accumulate>(&stmt)) step->value = name(step->value);
  if (auto* check = std::get_if<CheckRange>(&stmt)) check->value = name(check->value);
}

Stmt deep_copy(const Stmt& stmt) {
  if (const Branch* branch = as_branch(stmt)) {
    return std::make_shared<Branch>(
        Branch{branch->guard, deep_copy(branch->body), deep_copy(branch->otherwise)});
  }
  const Loop* loop = as_loop(stmt);
  if (loop == nullptr) return stmt;
  auto copy = std::make_shared<Loop>(*loop);
  copy->body = deep_copy(loop->body);
  return copy;
}

std::vector<Stmt> deep_copy(const std::vector<Stmt>& body) {
  std::vector<Stmt> copy;
  copy.reserve(body.size());
  for (const Stmt& stmt : body) copy.push_back(deep_copy(stmt));
  return copy;
}

std::optional<Index> linear_position(const Buffer& buffer, const std::vector<Index>& index) {
  const auto unit = static_cast<int64_t>(size_of(buffer.type.dtype));
  if (buffer.role == Buffer::Role::scratch) {
    Index position;
    int64_t stride = 1;
    for (size_t axis = index.size(); axis-- > 0;) {
      position = position + index[axis] * stride;
      stride *= buffer.type.shape[axis];
    }
    return position;
  }
  Index position;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    if (buffer.strides[axis] == kDynamicStride || buffer.strides[axis] % unit != 0) return std::nullopt;
    position = position + index[axis] * (buffer.strides[axis] / unit);
  }
  return position;
}

}  // namespace tokamak
