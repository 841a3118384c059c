// The loops of products for x86-64-v3. Compiled for that level: see kernels.h on what may be included.

#include <immintrin.h>

#include "library/kernels.h"

namespace tokamak {
namespace level_x86_64_v3 {

constexpr int kVectorBytes = 32;

#include "library/level.inc"

}  // namespace level_x86_64_v3

constinit const LevelKernels kKernelsX86_64V3 = {{
    level_x86_64_v3::kernels_of<level_x86_64_v3::Shape<float, 6, 2>>("own f32 6x16 avx2"),
    level_x86_64_v3::kernels_of<level_x86_64_v3::Shape<double, 6, 2>>("own f64 6x8 avx2"),
    level_x86_64_v3::kernels_of<level_x86_64_v3::Shape<uint32_t, 4, 2>>("own i32 4x16 avx2"),
    level_x86_64_v3::kernels_of<level_x86_64_v3::Shape<uint64_t, 4, 2>>("own i64 4x8 avx2"),
}};

}  // namespace tokamak
