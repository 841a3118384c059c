#include "driver/in_place.h"

#include <algorithm>

#include "ir/layout.h"
#include "loops/walk.h"

namespace tokamak {

namespace {

/// Whether the statements, and those of every loop and branch inside, read an element of `input` only in the
/// body that stores that element of `output`, and before it does.
bool reads_before_it_writes(const LoopKernel& kernel, const std::vector<Stmt>& body, BufferId output,
                            BufferId input) {
  std::optional<Index> stored;
  std::vector<Index> loaded;
  for (const Stmt& stmt : body) {
    if (const Loop* loop = as_loop(stmt)) {
      if (!reads_before_it_writes(kernel, loop->body, output, input)) return false;
    }
    if (const Branch* branch = as_branch(stmt)) {
      if (!reads_before_it_writes(kernel, branch->body, output, input)) return false;
      if (!reads_before_it_writes(kernel, branch->otherwise, output, input)) return false;
    }
    const std::optional<Access> access = access_of(stmt);
    if (!access || (access->buffer != output && access->buffer != input)) continue;
    const std::optional<Index> position = linear_position(kernel[access->buffer], *access->index);
    if (stored || !position || access->is_store != (access->buffer == output)) return false;
    if (access->is_store) {
      stored = position;
    } else {
      loaded.push_back(*position);
    }
  }
  return std::all_of(loaded.begin(), loaded.end(),
                     [&](const Index& position) { return stored && position == *stored; });
}

}  // namespace

bool may_overwrite(const LoopKernel& kernel, BufferId output, BufferId input) {
  const Buffer& from = kernel[input];
  const Buffer& to = kernel[output];
  if (kernel.nests.size() != 1 || from.type.bytes() != to.type.bytes() ||
      from.strides != dense_strides(from.type) || size_of(from.type.dtype) != size_of(to.type.dtype)) {
    return false;
  }
  return reads_before_it_writes(kernel, kernel.nests[0].root.body, output, input);
}

}  // namespace tokamak
