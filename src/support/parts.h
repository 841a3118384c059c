#pragma once

#include <span>
#include <string_view>

namespace tokamak {

/// Parts that make programs fast, and without which they are right all the same. TOKAMAK_DISABLE names those
/// to do without, so that it can be measured what each is worth.
enum class Part {
  reuse,        ///< values of a program share memory when their lives do not meet
  pool,         ///< memory of freed arrays is kept for the next ones
  vector_math,  ///< elementary functions on vectors, not by a call of the C library for every element
  streaming,    ///< large results are stored past the caches
  skipping,     ///< scores of attention that a mask hides are not computed
  blocking,     ///< steps of a program that follow one another run a block of rows at a time
  winograd,     ///< convolutions with windows of 3x3 by fewer products than there are weights
  amx,          ///< products of bfloat16 by the tiles of AMX, where the processor has it
  disk_cache,   ///< compiled objects are kept for other processes
};
inline constexpr int kParts = 9;

bool is_enabled(Part part);

/// Their names, as TOKAMAK_DISABLE has them.
std::span<const std::string_view> part_names();

}  // namespace tokamak
