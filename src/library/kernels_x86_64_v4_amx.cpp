// The loops of products of bf16 for x86-64-v4 with AMX: see kernels.h on what may be included.

#include <immintrin.h>

#include "library/kernels.h"

namespace tokamak {
namespace level_x86_64_v4_amx {

constexpr int kVectorBytes = 64;

#include "library/level.inc"

#include "library/pairs.inc"

#include "library/tiles.inc"

}  // namespace level_x86_64_v4_amx

constinit const ProductKernels kKernelsBf16Tiles =
    level_x86_64_v4_amx::kernels_of_tiles("own bf16 32x32 amx");

}  // namespace tokamak
