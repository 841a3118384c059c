// The loops of products of bf16, for x86-64-v4 with its instructions for them: see kernels.h on what may be
// included.

#include <immintrin.h>

#include "library/kernels.h"

namespace tokamak {
namespace level_x86_64_v4_bf16 {

constexpr int kVectorBytes = 64;

#include "library/level.inc"

#include "library/pairs.inc"

}  // namespace level_x86_64_v4_bf16

constinit const ProductKernels kKernelsBf16Pairs =
    level_x86_64_v4_bf16::kernels_of_pairs<level_x86_64_v4_bf16::PairShape<8, 3>>(
        "own bf16 8x48 avx512_bf16");

}  // namespace tokamak
