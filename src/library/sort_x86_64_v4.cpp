// Sorting for x86-64-v4. Compiled for that level: see sort_kernels.h on what may be included.

#include <immintrin.h>

#include "library/sort_kernels.h"

namespace tokamak {
namespace level_x86_64_v4 {

#include "library/sort.inc"
#include "library/sort_lanes.inc"

using Narrow = Lanes<int32_t>;
using Wide = Lanes<int64_t>;

}  // namespace level_x86_64_v4

constinit const SortKernels kSortX86_64V4 = {
    "quicksort avx512",
    {level_x86_64_v4::sort_keys<level_x86_64_v4::Narrow>,
     level_x86_64_v4::divide_keys<level_x86_64_v4::Narrow>},
    {level_x86_64_v4::sort_keys<level_x86_64_v4::Wide>, level_x86_64_v4::divide_keys<level_x86_64_v4::Wide>},
};

}  // namespace tokamak
