#pragma once

// Walks over the statements of a kernel.

#include <functional>

#include "loops/nest.h"

namespace tokamak {

/// Calls `visit` for every statement that is not a loop, and `enter` / `leave` around the body of every loop.
/// What is inside a branch comes after the branch itself.
struct NestVisitor {
  std::function<void(Stmt&)> visit = [](Stmt&) {};
  std::function<void(Loop&)> enter = [](Loop&) {};
  std::function<void(Loop&)> leave = [](Loop&) {};
};
void walk(Loop& loop, const NestVisitor& visitor);
void walk(const Loop& loop, const std::function<void(const Stmt&)>& visit);
/// The loop itself and every loop inside it, outermost first.
void for_each_loop(const Loop& loop, const std::function<void(const Loop&)>& visit);

/// The last loop over `var` inside `root`, or that one.
const Loop* find_loop(const Loop& root, LoopVar var);

/// Every index expression of a statement (not of loops inside it), for rewriting.
void for_each_index(Stmt& stmt, const std::function<void(Index&)>& visit);
void for_each_index(const Stmt& stmt, const std::function<void(const Index&)>& visit);

/// An access to memory: Load, Store.
struct Access {
  BufferId buffer;
  const std::vector<Index>* index;
  bool is_store;
};
std::optional<Access> access_of(const Stmt& stmt);

/// The loop, when the statement is one.
inline Loop* as_loop(Stmt& stmt) {
  auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
  return loop == nullptr ? nullptr : loop->get();
}
inline const Loop* as_loop(const Stmt& stmt) {
  const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
  return loop == nullptr ? nullptr : loop->get();
}

inline Branch* as_branch(Stmt& stmt) {
  auto* branch = std::get_if<std::shared_ptr<Branch>>(&stmt);
  return branch == nullptr ? nullptr : branch->get();
}
inline const Branch* as_branch(const Stmt& stmt) {
  const auto* branch = std::get_if<std::shared_ptr<Branch>>(&stmt);
  return branch == nullptr ? nullptr : branch->get();
}

/// The value that a statement assigns.
std::optional<ValueId> result_of(const Stmt& stmt);
/// The values that a statement uses, those in its indices among them (not in loops and branches inside it).
void for_each_operand(const Stmt& stmt, const std::function<void(ValueId)>& visit);

/// Gives them other names.
void rename_operands(Stmt& stmt, const std::function<ValueId(ValueId)>& name);

/// A copy that shares no loops with the original.
Stmt deep_copy(const Stmt& stmt);
std::vector<Stmt> deep_copy(const std::vector<Stmt>& body);

/// The position of an access in elements from the start of the buffer, when all strides are constant.
std::optional<Index> linear_position(const Buffer& buffer, const std::vector<Index>& index);

}  // namespace tokamak
