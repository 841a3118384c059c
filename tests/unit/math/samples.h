#pragma once

// Arguments that functions of one float are tried with where not all can be.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "math/reference.h"

namespace tokamak::test {

template <typename T>
void append_neighbours(std::vector<T>& samples, T x, int count = 4) {
  T up = x;
  T down = x;
  samples.push_back(x);
  samples.push_back(-x);
  for (int i = 0; i < count; ++i) {
    up = std::nextafter(up, std::numeric_limits<T>::infinity());
    down = std::nextafter(down, -std::numeric_limits<T>::infinity());
    for (T value : {up, down, -up, -down}) samples.push_back(value);
  }
}

template <typename T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> samples = {Limits::quiet_NaN(), -Limits::quiet_NaN()};
  for (T x :
       {T(0), Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), T(1), T(2), T(0.5),
        T(10), T(100), T(1000), Limits::epsilon(), T(1) / Limits::epsilon(), T(3), T(27), T(1e10), T(1e30)}) {
    append_neighbours(samples, x);
  }
  // Where exp and its relatives overflow, underflow or reach their limit.
  for (double x : {88.722839,
                   89.4159851,
                   87.336544,
                   103.278929,
                   103.972076,
                   709.782712893384,
                   710.4758600739439,
                   708.3964185322641,
                   744.4400719213812,
                   745.1332191019411,
                   127.0,
                   128.0,
                   126.0,
                   149.0,
                   150.0,
                   1023.0,
                   1024.0,
                   1022.0,
                   1074.0,
                   1075.0,
                   17.328679,
                   36.7368005696771,
                   9.010913,
                   19.061547465398498,
                   3.9192059,
                   5.921587195794507,
                   10.05,
                   9.19455,
                   26.543258,
                   27.2263,
                   0.34657359,
                   1.03972077,
                   0.6931471805599453,
                   0.70710678118654752,
                   1.41421356237309505,
                   0.7071067,
                   0.41421356,
                   2.41421356,
                   4096.0,
                   131072.0,
                   1048576.0,
                   134217728.0}) {
    append_neighbours(samples, static_cast<T>(x), 20);
  }
  // Nearer to a multiple of pi/2 than others of their size.
  for (double x : {0x1.6ac5b262ca1ffp+849, 1.6914244059593698e+95, 1.2094912707964283e+23})
    append_neighbours(samples, static_cast<T>(x), 2);
  // Near multiples of pi/2, and powers of two.
  for (int k = 1; k < 2000; ++k) append_neighbours(samples, static_cast<T>(k * 1.57079632679489661923L), 1);
  for (double k = 2000; k < 1e9; k = std::floor(k * 1.3))
    append_neighbours(samples, static_cast<T>(k * 1.57079632679489661923L), 2);
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e)
    append_neighbours(samples, std::ldexp(T(1), e), 1);
  return samples;
}

template <typename T>
T random_bits(std::mt19937_64& random) {
  return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(random()));
}

template <typename T>
T random_in(std::mt19937_64& random, Interval interval) {
  return static_cast<T>(std::uniform_real_distribution<double>(interval.low, interval.high)(random));
}

/// The special values, and so many random ones: of any bits, from the range where the function does
/// something, and from the most delicate part of it.
template <typename T>
std::vector<T> unary_samples(size_t any, size_t in_range, size_t in_center, Interval range, Interval center) {
  std::vector<T> samples = special_values<T>();
  std::mt19937_64 random(7);
  for (size_t i = 0; i < any; ++i) samples.push_back(random_bits<T>(random));
  for (size_t i = 0; i < in_range; ++i) samples.push_back(random_in<T>(random, range));
  for (size_t i = 0; i < in_center; ++i) samples.push_back(random_in<T>(random, center));
  // Either side of the center, at distances of every order of magnitude.
  for (size_t i = 0; i < in_center / 4; ++i) {
    double distance = std::exp2(random_in<double>(random, {-60, 1}));
    for (double base : {0.0, 1.0}) {
      samples.push_back(static_cast<T>(base + distance));
      samples.push_back(static_cast<T>(base - distance));
    }
  }
  return samples;
}

}  // namespace tokamak::test
