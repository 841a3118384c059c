#pragma once

#include <cstddef>
#include <cstdint>

namespace tokamak::python {

/// A hash of bytes that follow each other, to notice whether they have changed: nearly as fast as they can be
/// read, by several threads where there are many. Means something only while this process runs.
uint64_t hash_block(const char* data, size_t bytes, uint64_t seed);

}  // namespace tokamak::python
