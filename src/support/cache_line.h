#pragma once

#include <cstdint>

namespace tokamak {

/// Bytes of a cache line, of every processor that there is code for.
constexpr int64_t kCacheLine = 64;

/// Processors compare the last 12 bits of addresses to find the stores that a load has to wait for, and choose
/// places in the first cache by them: what is a multiple of this apart is in each other's way.
constexpr int64_t kAlike = 4096;

}  // namespace tokamak
