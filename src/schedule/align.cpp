#include "schedule/align.h"

#include <algorithm>

#include "loops/walk.h"
#include "schedule/axes.h"
#include "schedule/transform.h"
#include "support/cache_line.h"

namespace tokamak {
namespace {

/// Rounds of a row for which the one before the first line is worth its while.
constexpr int64_t kManyRounds = 8;

const Store* store_to(const std::vector<Stmt>& body, BufferId buffer) {
  for (const Stmt& stmt : body) {
    const auto* store = std::get_if<Store>(&stmt);
    if (store != nullptr && store->buffer == buffer) return store;
  }
  return nullptr;
}

bool only_computes(const std::vector<Stmt>& body) {
  return std::all_of(body.begin(), body.end(), [](const Stmt& stmt) {
    return std::holds_alternative<Load>(stmt) || std::holds_alternative<Compute>(stmt) ||
           std::holds_alternative<Store>(stmt) || std::holds_alternative<Literal>(stmt) ||
           std::holds_alternative<IndexValue>(stmt) || std::holds_alternative<Test>(stmt) ||
           std::holds_alternative<Prefetch>(stmt);
  });
}

/// Whether lanes read what lies in steps: that takes longer than stores that cross lines, and more so where
/// it is not known which place is the last.
bool reads_in_steps(const LoopKernel& kernel, const Loop& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt& stmt) {
    const auto* load = std::get_if<Load>(&stmt);
    if (load == nullptr) return false;
    const std::optional<int64_t> step = stride_along(kernel, *access_of(stmt), loop.var);
    return step && std::abs(*step) > static_cast<int64_t>(size_of(kernel[load->buffer].type.dtype));
  });
}

/// From `first` on.
Index elements_before_line(const LoopKernel& kernel, BufferId buffer, const Index& first) {
  const int64_t in_line = elements_in_line(kernel, buffer);
  return modulo(first * (in_line - 1), in_line, kernel.extents_function());
}

/// Where the loop stores in its first iteration; nullopt where others do not follow in order.
std::optional<Index> first_stored(const LoopKernel& kernel, const Loop& loop, BufferId buffer) {
  const std::optional<Index> position = linear_position(kernel[buffer], store_to(loop.body, buffer)->index);
  if (!position || linear_coefficient(*position, loop.var) != 1) return std::nullopt;
  return *position - Index::of(loop.var);
}

/// Whether a loop that stores to the buffer was made to begin after what comes before a line.
bool begins_at_line(const LoopKernel& kernel, const Loop& loop, BufferId buffer) {
  const std::optional<Index> first = first_stored(kernel, loop, buffer);
  return first && std::any_of(first->terms.begin(), first->terms.end(), [&](const IndexTerm& term) {
           const Index added = Index::of_atom(term.atom);
           return term.coefficient == 1 && added == elements_before_line(kernel, buffer, *first - added);
         });
}

void align_inside(LoopKernel& kernel, std::vector<Stmt>& all, BufferId buffer) {
  std::vector<Stmt> body;
  for (Stmt& stmt : all) {
    Loop* loop = as_loop(stmt);
    const std::optional<Index> before =
        loop == nullptr ? std::nullopt : elements_before_line(kernel, *loop, buffer);
    if (before) {
      Stmt copy = deep_copy(stmt);
      Loop& head = *as_loop(copy);
      head.extent = std::min(head.extent, elements_in_line(kernel, buffer));
      head.bound = before;
      body.push_back(std::move(copy));
      loop->bound = Index(loop->extent) - *before;
      substitute_variable(kernel, *loop, loop->var, Index::of(loop->var) + *before);
    } else if (loop != nullptr) {
      align_inside(kernel, loop->body, buffer);
    } else if (Branch* branch = as_branch(stmt)) {
      align_inside(kernel, branch->body, buffer);
      align_inside(kernel, branch->otherwise, buffer);
    }
    body.push_back(std::move(stmt));
  }
  all = std::move(body);
}

}  // namespace

int64_t elements_in_line(const LoopKernel& kernel, BufferId buffer) {
  return kCacheLine / static_cast<int64_t>(size_of(kernel[buffer].type.dtype));
}

std::optional<Index> elements_before_line(const LoopKernel& kernel, const Loop& loop, BufferId buffer) {
  if (loop.kind != LoopKind::vector || loop.bound || store_to(loop.body, buffer) == nullptr ||
      !only_computes(loop.body) || reads_in_steps(kernel, loop) || loop.extent < kManyRounds * loop.lanes)
    return std::nullopt;
  const std::optional<Index> first = first_stored(kernel, loop, buffer);
  if (!first) return std::nullopt;
  const Index before = elements_before_line(kernel, buffer, *first);
  return before == Index(0) ? std::nullopt : std::optional(before);
}

bool is_aligned(const LoopKernel& kernel, BufferId buffer) {
  bool aligned = true;
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      aligned = aligned && !elements_before_line(kernel, loop, buffer);
    });
  }
  return aligned;
}

bool can_align(const LoopKernel& kernel, BufferId buffer) {
  bool possible = true;
  for (const Nest& nest : kernel.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      possible = possible && (store_to(loop.body, buffer) == nullptr || only_computes(loop.body) ||
                              begins_at_line(kernel, loop, buffer));
    });
  }
  return possible;
}

void align(LoopKernel& kernel, const Align& decision) {
  for (Nest& nest : kernel.nests) align_inside(kernel, nest.root.body, decision.buffer);
}

}  // namespace tokamak
