#pragma once

#include <cstdint>

namespace tokamak {

/// Bytes of a cache line, of every processor that there is code for.
constexpr int64_t kCacheLine = 64;

}  // namespace tokamak
