#pragma once

// What the axes of a kernel are like for a vector loop.

#include <optional>
#include <vector>

#include "fusion/kernel.h"
#include "loops/nest.h"
#include "loops/walk.h"

namespace tokamak {

/// The distance in bytes between neighbours along an axis; nullopt when it is not the same everywhere, or not
/// known, as in scratch, which has no strides yet.
std::optional<int64_t> stride_along(const LoopKernel& kernel, const Access& access, LoopVar axis);

/// Whether data says where an access goes.
bool depends_on_data(const std::vector<Index>& index);

/// The distance in bytes along the lanes of an access that lies across them: its neighbours in memory are
/// those along `along`. Nullopt for one that does not, that has a guard, or whose place depends on data.
std::optional<int64_t> distance_across(const LoopKernel& kernel, const Stmt& stmt, LoopVar along,
                                       LoopVar lanes);

/// How well each axis suits the vector loop: bytes that lie next to each other along it. What is read again
/// and again counts once.
std::vector<double> contiguity(LoopKernel& kernel, size_t axes);

/// What is not the same for all lanes of a vector loop.
class Varying {
 public:
  Varying(const LoopKernel& kernel, LoopVar lanes, bool lanes_are_rows);
  bool operator()(const Stmt& stmt) const;

 private:
  LoopVar lanes_;
  bool lanes_are_rows_;
  std::vector<bool> values_;
};

/// Bytes of the widest element that a loop works on, and what it costs to do so once; of all statements, or
/// of those that vary.
struct Sizes {
  int64_t widest = 1;
  double cost = 0;
};
Sizes sizes_of(const LoopKernel& kernel, const Loop& loop, const Varying* varying = nullptr);

/// About how many instructions it takes to run everything with this axis in lanes.
double time_along(LoopKernel& kernel, const Domain& domain, size_t axis, int64_t lanes);

}  // namespace tokamak
