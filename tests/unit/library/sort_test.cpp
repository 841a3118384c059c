// Sorting of lines against std::stable_sort, on every level that this machine has.

#include "library/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace tokamak {
namespace {

std::vector<Cpu> cpus() {
  std::vector<Cpu> found;
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    Cpu cpu = cpu_named(name);
    if (cpu.runs_here) found.push_back(std::move(cpu));
  }
  return found;
}

/// An element by its bits, and as a number; all numbers of the types here fit into a long double.
struct Element {
  uint64_t bits;
  long double number;
};

float bf16(uint64_t bits) {
  const auto wide = static_cast<uint32_t>(bits << 16);
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

long double f16(uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<int>(bits & 1023);
  long double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(static_cast<long double>(fraction), -24)
                                      : std::ldexp(static_cast<long double>(fraction + 1024), exponent - 25);
  return (bits >> 15 & 1) != 0 ? -value : value;
}

template <class T>
T as(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

Element element(DType dtype, uint64_t random) {
  const size_t width = size_of(dtype);
  uint64_t bits = width == 8 ? random : random & ((uint64_t{1} << 8 * width) - 1);
  if (dtype == DType::boolean) bits = random & 1;
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return {bits, static_cast<long double>(bits)};
    case DType::i8:
      return {bits, static_cast<long double>(as<int8_t>(bits))};
    case DType::i16:
      return {bits, static_cast<long double>(as<int16_t>(bits))};
    case DType::i32:
      return {bits, static_cast<long double>(as<int32_t>(bits))};
    case DType::i64:
      return {bits, static_cast<long double>(as<int64_t>(bits))};
    case DType::f16:
      return {bits, f16(bits)};
    case DType::bf16:
      return {bits, bf16(bits)};
    case DType::f32:
      return {bits, as<float>(bits)};
    case DType::f64:
      return {bits, as<double>(bits)};
  }
  return {};
}

bool before(const Element& a, const Element& b) {
  if (std::isnan(a.number) || std::isnan(b.number)) return !std::isnan(a.number) && std::isnan(b.number);
  return a.number < b.number;
}

class Sort : public ::testing::Test {
 protected:
  /// What elements look like: anything, or few different ones, or most agree in all but their lowest bits.
  enum class Kind { any, few, close, rising, falling };

  std::vector<Element> elements(DType dtype, int64_t count, Kind kind) {
    std::vector<Element> made;
    const uint64_t base = random_();
    for (int64_t i = 0; i < count; ++i) {
      const bool is_far = kind == Kind::close && random_() % 16 == 0;
      const uint64_t random = kind == Kind::any || is_far ? random_()
                              : kind == Kind::few         ? base + random_() % 3 * (uint64_t{1} << 62)
                                                          : base ^ (random_() % 5);
      made.push_back(element(dtype, random));
      if (is_float(dtype) && random_() % 8 == 0) made.back() = special(dtype);
    }
    if (kind == Kind::rising || kind == Kind::falling) std::stable_sort(made.begin(), made.end(), before);
    if (kind == Kind::falling) std::reverse(made.begin(), made.end());
    return made;
  }

  Element special(DType dtype) {
    const auto bits = 8 * size_of(dtype);
    const uint64_t sign = uint64_t{1} << (bits - 1);
    const uint64_t infinity = dtype == DType::f16    ? 0x7c00
                              : dtype == DType::bf16 ? 0x7f80
                              : dtype == DType::f32  ? 0x7f800000
                                                     : 0x7ff0000000000000;
    const uint64_t all[] = {
        0, sign, infinity, sign | infinity, infinity | 1, sign | infinity | 1, sign - 1, ~uint64_t{0}};
    return element(dtype, all[random_() % std::size(all)]);
  }

  static void write(std::byte* to, uint64_t bits, size_t width) { std::memcpy(to, &bits, width); }
  static uint64_t read(const std::byte* from, size_t width) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, width);
    return bits;
  }

  void check(DType dtype, const std::vector<Element>& line, const std::vector<uint64_t>& got, bool positions,
             const std::string& what, size_t first = 0) {
    std::vector<size_t> order(line.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return before(line[a], line[b]); });
    for (size_t i = 0; i < got.size(); ++i) {
      if (positions) {
        ASSERT_EQ(got[i], order[first + i]) << what << " at " << i;
        continue;
      }
      const long double wanted = line[order[first + i]].number;
      const long double value = element(dtype, got[i]).number;
      ASSERT_TRUE(value == wanted || (std::isnan(value) && std::isnan(wanted)))
          << what << " at " << i << ": " << value << ", not " << wanted;
      if (i > 0 && value == 0 && element(dtype, got[i - 1]).number == 0) {
        ASSERT_LE(std::signbit(value), std::signbit(element(dtype, got[i - 1]).number)) << what;
      }
    }
  }

  /// `count` lines, elements `gap` elements apart (negative: backwards), or side by side when the gap is 0.
  void check_lines(DType dtype, SortResult result, int64_t length, int64_t count, int64_t gap, Kind kind) {
    const size_t width = size_of(dtype);
    const auto bytes = static_cast<int64_t>(width);
    const int64_t stride = gap == 0 ? count * bytes : gap * bytes;
    const int64_t line_stride = gap == 0 ? bytes : length * std::abs(gap) * bytes;
    std::vector<std::byte> memory(
        static_cast<size_t>((length * count * std::max<int64_t>(std::abs(gap), 1) + 1) * bytes));
    std::byte* first = memory.data() + (gap < 0 ? (length - 1) * -stride : 0);
    std::vector<std::vector<Element>> lines;
    for (int64_t j = 0; j < count; ++j) {
      lines.push_back(elements(dtype, length, kind));
      for (int64_t i = 0; i < length; ++i)
        write(first + j * line_stride + i * stride, lines.back()[static_cast<size_t>(i)].bits, width);
    }
    const auto from = static_cast<int64_t>(random_() % static_cast<uint64_t>(length));
    const auto to = from + 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(length - from));
    const SortWindow windows[] = {
        {0, length}, {from, to}, {0, std::min<int64_t>(length, 3)}, {length / 2, length / 2 + 1}};
    for (const SortWindow& window : windows) {
      check_window(dtype, result, length, window, lines, {first, stride}, line_stride, gap);
      if (HasFatalFailure()) return;
    }
  }

  void check_window(DType dtype, SortResult result, int64_t length, const SortWindow& window,
                    const std::vector<std::vector<Element>>& lines, const SortLine& first_line,
                    int64_t line_stride, int64_t gap) {
    const size_t result_width = result == SortResult::values ? size_of(dtype) : 8;
    const auto count = static_cast<int64_t>(lines.size());
    const int64_t made = window.last - window.first;
    for (const Cpu& cpu : cpus()) {
      const auto method = choose_sort_method(dtype, result, length, window, cpu);
      const std::string what =
          std::string(name_of(dtype)) + (result == SortResult::values ? " sort " : " argsort ") +
          std::to_string(length) + " gap " + std::to_string(gap) + " places " + std::to_string(window.first) +
          ":" + std::to_string(window.last) + " " + method->name();
      for (bool side_by_side : {false, true}) {
        std::vector<std::byte> results(static_cast<size_t>(made * count) * result_width + 1);
        const auto step = static_cast<int64_t>(result_width);
        const int64_t result_stride = side_by_side ? count * step : step;
        const int64_t result_line = side_by_side ? step : made * step;
        std::vector<std::byte> keys(static_cast<size_t>(length * count * method->key_bytes()));
        method->sort({first_line, line_stride, results.data(), result_stride, result_line, count},
                     keys.data());
        for (int64_t j = 0; j < count; ++j) {
          std::vector<uint64_t> got;
          for (int64_t i = 0; i < made; ++i)
            got.push_back(read(results.data() + j * result_line + i * result_stride, result_width));
          check(dtype, lines[static_cast<size_t>(j)], got, result == SortResult::positions, what,
                static_cast<size_t>(window.first));
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  std::mt19937_64 random_{1};
};

constexpr SortResult kResults[] = {SortResult::values, SortResult::positions};

TEST_F(Sort, OfAllSizes) {
  for (DType dtype : kAllDTypes) {
    for (SortResult result : kResults) {
      for (int64_t length = 1; length <= 140; ++length) {
        const auto kind = static_cast<Kind>(random_() % 5);
        check_lines(dtype, result, length, 1 + length % 3, length % 2, kind);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Sort, OfLongLines) {
  for (DType dtype : kAllDTypes) {
    for (SortResult result : kResults) {
      for (int64_t length : {1000, 4096, 9000}) {
        for (Kind kind : {Kind::any, Kind::few, Kind::close, Kind::rising, Kind::falling}) {
          check_lines(dtype, result, length, 1, 1, kind);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(Sort, ThroughAnyStrides) {
  for (DType dtype : kAllDTypes) {
    for (SortResult result : kResults) {
      for (int64_t gap : {-2, -1, 0, 2, 3}) {
        check_lines(dtype, result, 70, kMaxSortLines, gap, Kind::any);
        check_lines(dtype, result, 5, 3, gap, Kind::few);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// The parts of one line, as several threads would sort them.
TEST_F(Sort, InParts) {
  for (DType dtype : kAllDTypes) {
    for (SortResult result : kResults) {
      for (Kind kind : {Kind::any, Kind::few, Kind::close, Kind::rising}) {
        constexpr int64_t kLength = 3000;
        const std::vector<Element> line = elements(dtype, kLength, kind);
        const size_t width = size_of(dtype);
        std::vector<std::byte> memory(kLength * width);
        for (size_t i = 0; i < line.size(); ++i) write(memory.data() + i * width, line[i].bits, width);
        const SortLine source{memory.data(), static_cast<int64_t>(width)};
        for (const Cpu& cpu : cpus()) {
          const auto method = choose_sort_method(dtype, result, kLength, {0, kLength}, cpu);
          std::vector<std::byte> keys(static_cast<size_t>(kLength * method->key_bytes()));
          KeyRange range = kNoRange;
          for (int64_t at = 0; at < kLength; at += 500)
            range = joined(range, method->range(source, at, at + 500));
          for (int64_t at = 0; at < kLength; at += 500)
            method->load(source, range, at, at + 500, keys.data());
          const int64_t middle = method->divide(keys.data(), 0, kLength);
          ASSERT_TRUE(middle >= 0 && middle < kLength);
          if (kind == Kind::any && width > 1) {
            EXPECT_TRUE(middle > kLength / 8 && middle < kLength * 7 / 8) << middle;
          }
          method->sort_part(source, range, keys.data(), middle, kLength);
          method->sort_part(source, range, keys.data(), 0, middle);
          const size_t result_width = result == SortResult::values ? width : 8;
          std::vector<std::byte> results(kLength * result_width);
          for (int64_t at = 0; at < kLength; at += 500)
            method->store(keys.data(), at, at + 500, results.data(), static_cast<int64_t>(result_width));
          std::vector<uint64_t> got;
          for (size_t i = 0; i < kLength; ++i)
            got.push_back(read(results.data() + i * result_width, result_width));
          check(dtype, line, got, result == SortResult::positions, std::string(name_of(dtype)) + " in parts");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// Keys that make every sampled pivot the smallest but a few: slow, but not quadratic.
TEST_F(Sort, OfWhatMisleadsTheSample) {
  constexpr int64_t kLength = 1 << 18;
  std::vector<int32_t> line(kLength);
  for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<int32_t>(i % 64 == 32 ? i / 64 : i);
  std::vector<int32_t> wanted = line;
  std::sort(wanted.begin(), wanted.end());
  for (const Cpu& cpu : cpus()) {
    const auto method = choose_sort_method(DType::i32, SortResult::values, kLength, {0, kLength}, cpu);
    std::vector<int32_t> got(kLength);
    method->sort({{line.data(), 4}, 0, got.data(), 4, 0, 1}, nullptr);
    EXPECT_EQ(got, wanted);
  }
}

}  // namespace
}  // namespace tokamak
