#pragma once

// Angles of any size without the quarter turns in them, exactly enough: fdlibm's way for floats of up to 32
// bits.

#include <bit>
#include <cstdint>
#include <limits>

namespace tokamak::exhaustive {

__extension__ typedef unsigned __int128 Fixed;
__extension__ typedef __int128 SignedFixed;

struct QuarterTurns {
  unsigned count;  ///< modulo 4
  double rest;     ///< from -pi/4 to pi/4
};

/// 2/pi in binary, behind 64 zeros.
inline constexpr uint64_t kTwoOverPi[] = {0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
                                          0xFE5163ABDEBBC561};

/// 128 bits of it.
inline Fixed bits_of_two_over_pi(unsigned first) {
  const auto word_from = [](unsigned bit) {
    const unsigned word = bit / 64, shift = bit % 64;
    return shift == 0 ? kTwoOverPi[word] : kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
  };
  return Fixed{word_from(first)} << 64 | word_from(first + 64);
}

/// Of a number that an f32 holds and that is at least 1.
inline QuarterTurns quarter_turns(double x) {
  if (x == std::numeric_limits<double>::infinity()) return {0, std::numeric_limits<double>::quiet_NaN()};
  const auto bits = std::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52) - 1023 - 23;
  const uint64_t mantissa = (bits >> 29 & 0x7fffff) | 0x800000;  // x = mantissa * 2^exponent
  // What 2^exponent * 2/pi has from the place of 2 on; what it has above only makes whole turns. The product
  // has 126 bits behind the point, of which the last 24 are wrong.
  const Fixed product = mantissa * bits_of_two_over_pi(static_cast<unsigned>(64 + exponent - 2));
  const auto count = static_cast<unsigned>((product + (Fixed{1} << 125)) >> 126);
  const auto rest = static_cast<SignedFixed>(product - (Fixed{count} << 126));
  constexpr double kHalfPi = 1.57079632679489661923;
  return {count, static_cast<double>(rest) * 0x1p-126 * kHalfPi};
}

}  // namespace tokamak::exhaustive
