#pragma once

// The sizes in which blocks are kept: multiples of 64 bytes up to 512, then eight per doubling, so that a
// block is at most an eighth larger than asked (or 63 bytes), and the next class at most a quarter.

#include <bit>
#include <cstdint>

namespace tokamak {

inline constexpr int64_t kLargestBlock = int64_t{1} << 60;

/// The class of the smallest block that holds `bytes`, from 0 to kLargestBlock.
constexpr int size_class_of(int64_t bytes) {
  const uint64_t units = bytes <= 64 ? 1 : (static_cast<uint64_t>(bytes) + 63) / 64;
  if (units <= 8) return static_cast<int>(units) - 1;
  const int octave = std::bit_width(units - 1) - 1;  // 2^octave < units <= 2^(octave + 1)
  const int shift = octave - 3;
  const uint64_t step = ((units - (uint64_t{1} << octave)) + (uint64_t{1} << shift) - 1) >> shift;  // 1 to 8
  return 8 * shift + 7 + static_cast<int>(step);
}

constexpr int64_t size_of_class(int size_class) {
  if (size_class < 8) return 64 * int64_t{size_class + 1};
  const int shift = (size_class - 8) / 8;
  const int step = (size_class - 8) % 8 + 1;
  return (int64_t{8} + step) << shift << 6;
}

inline constexpr int kSizeClasses = size_class_of(kLargestBlock) + 1;
/// Blocks of these classes, up to 64 KB, are kept per thread.
inline constexpr int kSmallClasses = size_class_of(64 << 10) + 1;

static_assert(size_of_class(size_class_of(kLargestBlock)) == kLargestBlock);
static_assert(kSmallClasses == 64);

}  // namespace tokamak
