#include "driver/in_place.h"

#include "ir/layout.h"
#include "loops/walk.h"

namespace tokamak {

bool may_overwrite(const LoopKernel& kernel, BufferId output, BufferId input) {
  const Buffer& from = kernel[input];
  const Buffer& to = kernel[output];
  if (kernel.nests.size() != 1 || from.type.bytes() != to.type.bytes() ||
      from.strides != dense_strides(from.type) || size_of(from.type.dtype) != size_of(to.type.dtype)) {
    return false;
  }
  std::optional<Index> stored;
  std::vector<Index> loaded;
  bool possible = true;
  walk(kernel.nests[0].root, [&](const Stmt& stmt) {
    const std::optional<Access> access = access_of(stmt);
    if (!access) return;
    if (access->buffer == output) {
      if (stored || !access->is_store) possible = false;
      stored = linear_position(to, *access->index);
    } else if (access->buffer == input) {
      const std::optional<Index> position = linear_position(from, *access->index);
      if (stored || !position) possible = false;  // it would read what has been overwritten
      if (position) loaded.push_back(*position);
    }
  });
  if (!possible || !stored) return false;
  for (const Index& position : loaded) possible = possible && position == *stored;
  return possible;
}

}  // namespace tokamak
