#pragma once

#include <vector>

#include "fusion/kernel.h"
#include "ir/layout.h"
#include "loops/nest.h"

namespace tokamak {

/// In which order the axes of the domain are nested: row axes outside, swept axes inside each sweep. Empty:
/// as they are.
struct LoopOrder {
  std::vector<size_t> rows;
  std::vector<size_t> swept;
};

struct LowerOptions {
  LoopOrder order;
  int64_t keep_bytes = 256 << 10;  ///< a row of values kept from one sweep to the next is at most this large
};

/// Writes a kernel as loops: one loop per axis, all serial (the schedule decides what runs how).
///
///   softmax of f32[64,1000]  =>   for i in 0..64
///                                   m := max;  for j in 0..1000 { v0 = x[i,j]; m <- v0 }
///                                   s := sum;  for j in 0..1000 { v1 = x[i,j]; v2 = sub v1, m; v3 = exp v2;
///                                   kept[j] = v3; s <- v3 } for j in 0..1000 { v4 = kept[j]; v5 = div v4, s;
///                                   out[i,j] = v5 }
///
/// Every statement stands in the outermost loop that has all it depends on. Values that several sweeps need
/// are computed again when that is cheap, and kept in a row of scratch memory when it is not.
LoopKernel lower(const FusedKernel& kernel, const std::vector<Layout>& layouts,
                 const LowerOptions& options = {});

}  // namespace tokamak
