// The loops of products for x86-64. Compiled for that level: see kernels.h on what may be included.

#include <immintrin.h>

#include "library/kernels.h"

namespace tokamak {
namespace level_x86_64 {

constexpr int kVectorBytes = 16;

#include "library/level.inc"

}  // namespace level_x86_64

constinit const LevelKernels kKernelsX86_64 = {{
    level_x86_64::kernels_of<level_x86_64::Shape<float, 4, 2>>("own f32 4x8 sse2"),
    level_x86_64::kernels_of<level_x86_64::Shape<double, 4, 2>>("own f64 4x4 sse2"),
    level_x86_64::kernels_of<level_x86_64::Shape<uint32_t, 2, 2>>("own i32 2x8 sse2"),
    level_x86_64::kernels_of<level_x86_64::Shape<uint64_t, 2, 2>>("own i64 2x4 sse2"),
}};

}  // namespace tokamak
