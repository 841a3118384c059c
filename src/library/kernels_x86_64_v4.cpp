// The loops of products for x86-64-v4. Compiled for that level: see kernels.h on what may be included.

#include <immintrin.h>

#include "library/kernels.h"

namespace tokamak {
namespace level_x86_64_v4 {

constexpr int kVectorBytes = 64;

#include "library/level.inc"

}  // namespace level_x86_64_v4

constinit const LevelKernels kKernelsX86_64V4 = {{
    level_x86_64_v4::kernels_of<level_x86_64_v4::Shape<float, 8, 3>>("own f32 8x48 avx512"),
    level_x86_64_v4::kernels_of<level_x86_64_v4::Shape<double, 8, 3>>("own f64 8x24 avx512"),
    level_x86_64_v4::kernels_of<level_x86_64_v4::Shape<uint32_t, 8, 2>>("own i32 8x32 avx512"),
    level_x86_64_v4::kernels_of<level_x86_64_v4::Shape<uint64_t, 8, 2>>("own i64 8x16 avx512"),
}};

}  // namespace tokamak
