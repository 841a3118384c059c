#include "ops/math/large_angles.h"

#include <math.h>

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace tokamak::math {

namespace {

__extension__ typedef unsigned __int128 Product;

/// 2/pi in binary, behind 64 zeros.
constexpr uint64_t kTwoOverPi[] = {
    0,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
};

uint64_t word_of_two_over_pi(int first_bit) {
  const int word = first_bit / 64, shift = first_bit % 64;
  return shift == 0 ? kTwoOverPi[word] : kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

/// A fraction of a quarter turn: its bits behind the point, from the third on in 192 bits.
struct Fraction {
  uint64_t high, middle, low;

  Fraction negated() const {
    const uint64_t new_low = 0 - low;
    const uint64_t new_middle = ~middle + (low == 0 ? 1 : 0);
    return {~high + (low == 0 && middle == 0 ? 1 : 0), new_middle, new_low};
  }
};

/// x = quarter_turns * pi/2 + rest, but for whole turns.
struct Reduced {
  unsigned quarter_turns;
  long double rest;
};

/// The sum of the pieces of 32 bits that the fraction has, times pi/2.
long double angle_of(Fraction fraction) {
  long double sum = 0, unit = 0x1p-30L;
  for (const uint64_t word : {fraction.high, fraction.middle, fraction.low}) {
    for (const uint64_t piece : {word >> 32, word & 0xffffffff}) {
      sum += static_cast<long double>(piece) * unit;
      unit *= 0x1p-32L;
    }
  }
  return sum * 1.57079632679489661923132169163975144L;
}

/// Of |x|. Doubles come as near as 2^-62 quarter turns to a multiple of them; the product has 137 good bits
/// behind the point.
Reduced reduce(double x) {
  const auto bits = std::bit_cast<uint64_t>(::fabs(x));
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // |x| = mantissa * 2^exponent
  const uint64_t mantissa = (bits & 0xfffffffffffff) | uint64_t{1} << 52;
  // What 2^exponent * 2/pi has from the place of 2 on; what it has above only makes whole turns.
  const int first = 64 + exponent - 2;
  const Product low = Product{mantissa} * word_of_two_over_pi(first + 128);
  const Product middle =
      Product{mantissa} * word_of_two_over_pi(first + 64) + static_cast<uint64_t>(low >> 64);
  uint64_t high = mantissa * word_of_two_over_pi(first) + static_cast<uint64_t>(middle >> 64);
  const auto turns = static_cast<unsigned>((high + (uint64_t{1} << 61)) >> 62);
  high -= uint64_t{turns} << 62;
  const Fraction fraction{high, static_cast<uint64_t>(middle), static_cast<uint64_t>(low)};
  const bool is_negative = high >> 63 != 0;
  return {turns, is_negative ? -angle_of(fraction.negated()) : angle_of(fraction)};
}

/// sin(|x| + more_turns * pi/2).
double sine_of_sum(double x, unsigned more_turns) {
  const Reduced r = reduce(x);
  const unsigned turns = r.quarter_turns + more_turns;
  const auto result = static_cast<double>(turns % 2 == 0 ? ::sinl(r.rest) : ::cosl(r.rest));
  return turns % 4 < 2 ? result : -result;
}

bool is_number(double x) { return x - x == 0; }

/// The table begins with what angles of 1 need.
bool is_small(double x) { return ::fabs(x) < 1; }

}  // namespace

double large_sin(double x) {
  if (!is_number(x)) return x - x;
  if (is_small(x)) return ::sin(x);
  const double result = sine_of_sum(x, 0);
  return x < 0 ? -result : result;
}

double large_cos(double x) {
  if (!is_number(x)) return x - x;
  return is_small(x) ? ::cos(x) : sine_of_sum(x, 1);
}

double large_tan(double x) {
  if (!is_number(x)) return x - x;
  if (is_small(x)) return ::tan(x);
  const Reduced r = reduce(x);
  const long double near = ::tanl(r.rest);
  const auto result = static_cast<double>(r.quarter_turns % 2 == 0 ? near : -1 / near);
  return x < 0 ? -result : result;
}

}  // namespace tokamak::math
