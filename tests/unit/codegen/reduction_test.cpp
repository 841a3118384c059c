#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codegen/harness.h"
#include "ir/tensor.h"

namespace tokamak {
namespace {

class CodegenReduction : public OnEveryCpu {};
ON_EVERY_CPU(CodegenReduction);

/// Lanes combined by halves.
template <class T>
T by_halves(std::vector<T> lanes) {
  for (size_t n = lanes.size() / 2; n > 0; n /= 2)
    for (size_t i = 0; i < n; ++i) lanes[i] = lanes[i] + lanes[i + n];
  return lanes[0];
}

/// The accumulator of an op; arg* keep positions of that dtype.
Accumulator accumulator_of(Op op, DType dtype, int lanes, bool across_lanes, bool cascade,
                           DType position = DType::i32) {
  Accumulator accumulator{op, dtype, lanes, across_lanes, cascade};
  if (op == Op::argmax || op == Op::argmin) accumulator.position = position;
  return accumulator;
}

/// out[r] = op over the first r elements of row r, lanes across the row. `at_once`: more elements than that
/// go through the loop together.
TestKernel row_reduction(Op op, DType dtype, DType result, int64_t rows, int64_t columns, int lanes,
                         DType position = DType::i32, int at_once = 0) {
  TestKernel k;
  LoopVar r = k.var("r", rows), i = k.var("i", columns);
  BufferId in = k.in(dtype, {rows, columns}), out = k.out(result, {rows});
  ValueId x = k.value(dtype), y = k.value(result);
  AccumulatorId acc = k.accumulator(accumulator_of(op, dtype, lanes, true, false, position));
  const bool arg = op == Op::argmax || op == Op::argmin;
  Accumulate step{acc, x, arg ? std::optional(Index::of(i)) : std::nullopt, std::nullopt};
  k.nest(r, {Declare{acc},
             k.vector(i, std::max(at_once, lanes), {Load{x, in, {Index::of(r), Index::of(i)}, {}}, step},
                      Index::of(r)),
             Read{y, acc}, Store{out, {Index::of(r)}, y}});
  return k;
}

TEST_P(CodegenReduction, SumsAcrossLanesByAFixedTree) {
  const int64_t rows = 40, columns = 39;
  const int width = lanes(DType::f32);
  auto data = random_values<float>(static_cast<size_t>(rows * columns), -1, 1);
  std::vector<float> got(static_cast<size_t>(rows));
  run(row_reduction(Op::reduce_sum, DType::f32, DType::f32, rows, columns, width), cpu,
      {data.data(), got.data()});
  for (int64_t r = 1; r < rows; ++r) {
    std::vector<float> parts(static_cast<size_t>(width), 0);
    for (int64_t i = 0; i < r && i < columns; ++i)
      parts[static_cast<size_t>(i % width)] += data[static_cast<size_t>(r * columns + i)];
    EXPECT_EQ(got[static_cast<size_t>(r)], by_halves(parts)) << r;
  }
}

TEST_P(CodegenReduction, SumsOfMoreAtOnceHaveTheSameBits) {
  const int64_t rows = 70, columns = 69;
  auto data = random_values<float>(static_cast<size_t>(rows * columns), -1, 1);
  for (int64_t i = 0; i < 9 * columns; ++i) data[static_cast<size_t>(i)] = -0.0F;
  data[static_cast<size_t>(60 * columns + 59)] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> wanted(static_cast<size_t>(rows)), got(wanted);
  const int width = lanes(DType::f32);
  run(row_reduction(Op::reduce_sum, DType::f32, DType::f32, rows, columns, width), cpu,
      {data.data(), wanted.data()});
  for (int times : {2, 4}) {
    run(row_reduction(Op::reduce_sum, DType::f32, DType::f32, rows, columns, width, DType::i32,
                      times * width),
        cpu, {data.data(), got.data()});
    EXPECT_EQ(std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(float)), 0) << times;
  }
}

/// A NaN, one at each place of each length, is what the search comes to, and nothing else changes it.
template <class T>
void search_floats(DType dtype, int width, int at_once, const Cpu& cpu) {
  const int64_t rows = 150, columns = 149;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (Op op : {Op::reduce_max, Op::reduce_min}) {
    const TestKernel kernel = row_reduction(op, dtype, dtype, rows, columns, width, DType::i32, at_once);
    auto data = random_values<T>(static_cast<size_t>(rows * columns), -1, 1);
    std::vector<T> got(static_cast<size_t>(rows));
    for (int64_t place = -1; place < columns; place += place < 40 ? 1 : 9) {
      for (int64_t r = 0; place >= 0 && r < rows; ++r)
        data[static_cast<size_t>(r * columns + place)] =
            place % 5 == 3 ? (place % 2 != 0 ? infinity : -infinity) : nan;
      run(kernel, cpu, {data.data(), got.data()});
      for (int64_t r = 1; r < rows; ++r) {
        const T* row = &data[static_cast<size_t>(r * columns)];
        const T* end = row + std::min(r, columns);
        const bool has_nan = std::any_of(row, end, [](T x) { return std::isnan(x); });
        const T wanted = op == Op::reduce_max ? *std::max_element(row, end) : *std::min_element(row, end);
        if (has_nan) {
          ASSERT_TRUE(std::isnan(got[static_cast<size_t>(r)])) << "row " << r << ", NaN at " << place;
        } else {
          ASSERT_EQ(got[static_cast<size_t>(r)], wanted) << "row " << r;
        }
      }
      for (T& x : data)
        if (std::isnan(x)) x = 0;
    }
  }
}

TEST_P(CodegenReduction, SearchesKeepNaN) {
  for (int width : {2, 4, 8, 16, 32, 64}) {
    search_floats<float>(DType::f32, width, width, cpu);
    search_floats<double>(DType::f64, width, width, cpu);
  }
  search_floats<float>(DType::f32, 16, 64, cpu);
  search_floats<double>(DType::f64, 4, 32, cpu);
}

TEST_P(CodegenReduction, HalfPrecisionSumsInSinglePrecision) {
  const int64_t rows = 12, columns = 12;
  std::vector<uint16_t> data(144), got(12);
  for (size_t i = 0; i < data.size(); ++i) data[i] = f32_to_f16(1000.0F + static_cast<float>(i * 7 % 97));
  run(row_reduction(Op::reduce_sum, DType::f16, DType::f16, rows, columns, 4), cpu,
      {data.data(), got.data()});
  for (size_t r = 1; r < 12; ++r) {
    std::vector<float> parts(4, 0);
    for (size_t i = 0; i < r; ++i) parts[i % 4] += f16_to_f32(data[r * 12 + i]);
    EXPECT_EQ(got[r], f32_to_f16(by_halves(parts))) << r;
  }
}

TEST_P(CodegenReduction, ExtremesAndBooleans) {
  const int64_t rows = 20, columns = 19;
  auto data = random_values<int16_t>(static_cast<size_t>(rows * columns), -1000, 1000);
  std::vector<int16_t> got(20);
  run(row_reduction(Op::reduce_max, DType::i16, DType::i16, rows, columns, 8), cpu,
      {data.data(), got.data()});
  for (size_t r = 1; r < 20; ++r)
    EXPECT_EQ(got[r], *std::max_element(&data[r * 19], &data[r * 19] + std::min<size_t>(r, 19)));
  std::vector<uint8_t> flags(static_cast<size_t>(rows * columns)), any(20), all(20);
  for (size_t i = 0; i < flags.size(); ++i) flags[i] = i % 19 < 16 ? 0 : 1;
  run(row_reduction(Op::reduce_any, DType::boolean, DType::boolean, rows, columns, 8), cpu,
      {flags.data(), any.data()});
  for (size_t i = 0; i < flags.size(); ++i) flags[i] ^= 1;
  run(row_reduction(Op::reduce_all, DType::boolean, DType::boolean, rows, columns, 8), cpu,
      {flags.data(), all.data()});
  for (size_t r = 0; r < 20; ++r) {
    EXPECT_EQ(any[r], r > 16) << r;
    EXPECT_EQ(all[r], r <= 16) << r;
  }
}

template <class T>
int64_t first_best(const T* x, int64_t count, bool largest) {
  int64_t best = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (x[i] != x[i]) return i;
    if (largest ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return best;
}

TEST_P(CodegenReduction, ArgumentsOfExtremes) {
  const int64_t rows = 36, columns = 35;
  std::mt19937 random(3);
  for (Op op : {Op::argmax, Op::argmin}) {
    for (int style = 0; style < 4; ++style) {
      std::vector<float> data(static_cast<size_t>(rows * columns));
      for (float& x : data) {
        x = static_cast<float>(random() % 5);  // many ties
        if (style == 1 && random() % 20 == 0) x = std::numeric_limits<float>::quiet_NaN();
        if (style == 2)
          x = op == Op::argmax ? -std::numeric_limits<float>::infinity()
                               : std::numeric_limits<float>::infinity();
        if (style == 3) x = std::numeric_limits<float>::quiet_NaN();
      }
      std::vector<int64_t> got(static_cast<size_t>(rows));
      for (auto [width, position] : {std::pair(4, DType::i32), {8, DType::i64}, {16, DType::i32}}) {
        run(row_reduction(op, DType::f32, DType::i64, rows, columns, width, position), cpu,
            {data.data(), got.data()});
        for (int64_t r = 1; r < rows; ++r)
          ASSERT_EQ(got[static_cast<size_t>(r)], first_best(&data[static_cast<size_t>(r * columns)],
                                                            std::min(r, columns), op == Op::argmax))
              << style << " row " << r;
      }
    }
  }
}

TEST_P(CodegenReduction, SerialInsideVector) {
  // out[i] = sum over j of x[j, i], lanes over i: every column is added in order; and the row of each
  // column's largest.
  const int64_t rows = 9, columns = 21;
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", columns), j = k.var("j", rows);
  BufferId in = k.in(DType::f64, {rows, columns}), out = k.out(DType::f64, {columns}),
           where = k.out(DType::i64, {columns});
  ValueId x = k.value(DType::f64), y = k.value(DType::f64), at = k.value(DType::i64);
  AccumulatorId sum = k.accumulator({Op::reduce_sum, DType::f64, 8, false, false});
  AccumulatorId largest = k.accumulator(accumulator_of(Op::argmax, DType::f64, 8, false, false, DType::i64));
  k.nest(t, {k.vector(i, 8,
                      {Declare{sum}, Declare{largest},
                       k.serial(j, {Load{x, in, {Index::of(j), Index::of(i)}, {}}, Accumulate{sum, x, {}, {}},
                                    Accumulate{largest, x, Index::of(j), {}}}),
                       Read{y, sum}, Read{at, largest}, Store{out, {Index::of(i)}, y},
                       Store{where, {Index::of(i)}, at}})});
  auto data = random_values<double>(static_cast<size_t>(rows * columns), -1, 1);
  std::vector<double> got(21);
  std::vector<int64_t> got_at(21);
  run(k, cpu, {data.data(), got.data(), got_at.data()});
  for (size_t c = 0; c < 21; ++c) {
    double expected = 0;
    int64_t best = 0;
    for (size_t r = 0; r < 9; ++r) {
      expected += data[r * 21 + c];
      if (data[r * 21 + c] > data[static_cast<size_t>(best) * 21 + c]) best = static_cast<int64_t>(r);
    }
    EXPECT_EQ(got[c], expected);
    EXPECT_EQ(got_at[c], best);
  }
}

TEST_P(CodegenReduction, RunningSums) {
  // out[j, i] = sum of x[0..j, i].
  const int64_t rows = 7, columns = 13;
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", columns), j = k.var("j", rows);
  BufferId in = k.in(DType::f32, {rows, columns}), out = k.out(DType::f32, {rows, columns});
  ValueId x = k.value(DType::f32), y = k.value(DType::f32);
  AccumulatorId sum = k.accumulator({Op::cumsum, DType::f32, 8, false, false});
  k.nest(t, {k.vector(i, 8,
                      {Declare{sum},
                       k.serial(j, {Load{x, in, {Index::of(j), Index::of(i)}, {}}, Accumulate{sum, x, {}, y},
                                    Store{out, {Index::of(j), Index::of(i)}, y}})})});
  auto data = random_values<float>(91, -1, 1);
  std::vector<float> got(91);
  run(k, cpu, {data.data(), got.data()});
  for (size_t c = 0; c < 13; ++c) {
    float expected = 0;
    for (size_t r = 0; r < 7; ++r) EXPECT_EQ(got[r * 13 + c], expected += data[r * 13 + c]);
  }
}

/// Pairwise summation by binary counter.
struct Cascade {
  std::vector<std::vector<float>> levels = std::vector<std::vector<float>>(48);
  uint64_t parts = 0;

  static std::vector<float> sum(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> c(a.size());
    for (size_t i = 0; i < a.size(); ++i) c[i] = a[i] + b[i];
    return c;
  }
  void push(std::vector<float> part) {
    size_t level = 0;
    for (; (parts >> level & 1) != 0; ++level) part = sum(levels[level], part);
    levels[level] = part;
    ++parts;
  }
  std::vector<float> fold(size_t lanes) const {
    std::vector<float> part;
    for (size_t level = 0; level < 48; ++level)
      if ((parts >> level & 1) != 0) part = part.empty() ? levels[level] : sum(levels[level], part);
    return part.empty() ? std::vector<float>(lanes, 0) : part;
  }
};

/// Declares, for a block of 16 columns, an accumulator `part` and merges it into the cascade `total`.
TEST_P(CodegenReduction, CascadesOfBlocks) {
  const int64_t rows = 12, blocks = 11, block = 16, columns = blocks * block;
  const int width = 4;
  TestKernel k;
  LoopVar r = k.var("r", rows), o = k.var("o", blocks), i = k.var("i", block);
  BufferId in = k.in(DType::f32, {rows, columns}), out = k.out(DType::f32, {rows});
  ValueId x = k.value(DType::f32), y = k.value(DType::f32);
  AccumulatorId part = k.accumulator({Op::reduce_sum, DType::f32, width, true, false});
  AccumulatorId total = k.accumulator({Op::reduce_sum, DType::f32, width, true, true});
  Index column = Index::of(o) * block + Index::of(i);
  k.nest(r, {Declare{total},
             k.serial(
                 o,
                 {Declare{part},
                  k.vector(i, width, {Load{x, in, {Index::of(r), column}, {}}, Accumulate{part, x, {}, {}}}),
                  Merge{total, part}},
                 Index::of(r)),
             Read{y, total}, Store{out, {Index::of(r)}, y}});
  auto data = random_values<float>(static_cast<size_t>(rows * columns), -1, 1);
  std::vector<float> got(static_cast<size_t>(rows));
  run(k, cpu, {data.data(), got.data()});
  for (int64_t row = 0; row < rows; ++row) {
    Cascade cascade;
    for (int64_t b = 0; b < std::min(row, blocks); ++b) {
      std::vector<float> lanes(static_cast<size_t>(width), 0);
      for (int64_t c = 0; c < block; ++c)
        lanes[static_cast<size_t>(c % width)] += data[static_cast<size_t>(row * columns + b * block + c)];
      cascade.push(lanes);
    }
    EXPECT_EQ(got[static_cast<size_t>(row)], by_halves(cascade.fold(static_cast<size_t>(width)))) << row;
  }
}

/// Without loops where it is known which levels of the cascade are taken, and they are few.
TEST_P(CodegenReduction, CascadesOfAKnownNumberOfBlocks) {
  const int64_t block = 16;
  const int width = 4;
  for (const int64_t blocks : {1, 2, 3, 7, 8, 11, 31, 47}) {
    TestKernel k;
    LoopVar t = k.var("t", 1), o = k.var("o", blocks), i = k.var("i", block);
    BufferId in = k.in(DType::f32, {blocks * block}), out = k.out(DType::f32, {1});
    ValueId x = k.value(DType::f32), y = k.value(DType::f32);
    AccumulatorId part = k.accumulator({Op::reduce_sum, DType::f32, width, true, false});
    AccumulatorId total = k.accumulator({Op::reduce_sum, DType::f32, width, true, true});
    Index column = Index::of(o) * block + Index::of(i);
    k.nest(t, {Declare{total},
               k.serial(o, {Declare{part},
                            k.vector(i, width, {Load{x, in, {column}, {}}, Accumulate{part, x, {}, {}}}),
                            Merge{total, part}}),
               Read{y, total}, Store{out, {Index(0)}, y}});
    const bool has_loop = emit_llvm(k, cpu).find("cttz") != std::string::npos;
    EXPECT_EQ(has_loop, std::popcount(static_cast<uint64_t>(blocks)) > 4) << blocks;
    auto data = random_values<float>(static_cast<size_t>(blocks * block), -1, 1);
    float got = 0;
    run(k, cpu, {data.data(), &got});
    Cascade cascade;
    for (int64_t b = 0; b < blocks; ++b) {
      std::vector<float> lanes(static_cast<size_t>(width), 0);
      for (int64_t c = 0; c < block; ++c)
        lanes[static_cast<size_t>(c % width)] += data[static_cast<size_t>(b * block + c)];
      cascade.push(lanes);
    }
    EXPECT_EQ(got, by_halves(cascade.fold(static_cast<size_t>(width)))) << blocks;
  }
}

/// Two nests: tasks spill what they found, then one task merges it all.
template <class T, class R, class Model>
void check_spills(const Cpu& cpu, Op op, DType dtype, DType result, bool cascade, Model model) {
  const int64_t tasks = 7, chunk = 21;
  const int width = 8;
  TestKernel k;
  LoopVar t = k.var("t", tasks), i = k.var("i", chunk), one = k.var("one", 1), s = k.var("s", tasks);
  BufferId in = k.in(dtype, {tasks * chunk}), out = k.out(result, {});
  BufferId partial = k.buffer(DType::u8, {tasks, 16 * width}, Buffer::Role::partial);
  ValueId x = k.value(dtype), y = k.value(result);
  AccumulatorId part = k.accumulator(accumulator_of(op, dtype, width, true, false));
  AccumulatorId read_back = k.accumulator(accumulator_of(op, dtype, width, true, cascade));
  AccumulatorId total = k.accumulator(accumulator_of(op, dtype, width, true, cascade));
  Index element = Index::of(t) * chunk + Index::of(i);
  const bool arg = op == Op::argmax;
  k.nest(t, {Declare{part},
             k.vector(i, width,
                      {Load{x, in, {element}, {}},
                       Accumulate{part, x, arg ? std::optional(element) : std::nullopt, {}}}),
             Spill{part, partial, Index::of(t)}});
  k.nest(one,
         {Declare{total}, k.serial(s, {Unspill{read_back, partial, Index::of(s)}, Merge{total, read_back}}),
          Read{y, total}, Store{out, {}, y}});
  auto data = random_values<T>(static_cast<size_t>(tasks * chunk), 0, 50);
  R got{};
  std::vector<char> space(static_cast<size_t>(tasks * width * 16));
  run(k, cpu, {data.data(), &got, space.data()});
  EXPECT_EQ(got, model(data)) << name_of(op);
}

TEST_P(CodegenReduction, SpillsBetweenNests) {
  check_spills<int32_t, int32_t>(cpu, Op::reduce_sum, DType::i32, DType::i32, false, [](const auto& data) {
    int32_t sum = 0;
    for (int32_t x : data) sum += x;
    return sum;
  });
  check_spills<int8_t, int64_t>(cpu, Op::argmax, DType::i8, DType::i64, false, [](const auto& data) {
    return first_best(data.data(), static_cast<int64_t>(data.size()), true);
  });
  check_spills<float, int64_t>(cpu, Op::argmax, DType::f32, DType::i64, true, [](const auto& data) {
    return first_best(data.data(), static_cast<int64_t>(data.size()), true);
  });
  check_spills<uint8_t, uint8_t>(cpu, Op::reduce_any, DType::boolean, DType::boolean, false,
                                 [](const auto&) { return uint8_t{1}; });
  check_spills<float, float>(cpu, Op::reduce_sum, DType::f32, DType::f32, true, [](const auto& data) {
    Cascade cascade;
    for (size_t task = 0; task < 7; ++task) {
      std::vector<float> lanes(8, 0);
      for (size_t c = 0; c < 21; ++c) lanes[c % 8] += data[task * 21 + c];
      cascade.push(lanes);
    }
    return by_halves(cascade.fold(8));
  });
}

TEST_P(CodegenReduction, ScalarAccumulators) {
  // lanes = 1: a plain serial loop.
  TestKernel k;
  LoopVar r = k.var("r", 3), i = k.var("i", 10);
  BufferId in = k.in(DType::f64, {3, 10}), out = k.out(DType::f64, {3});
  ValueId x = k.value(DType::f64), y = k.value(DType::f64);
  AccumulatorId acc = k.accumulator({Op::reduce_prod, DType::f64, 1, false, false});
  k.nest(r, {Declare{acc},
             k.serial(i, {Load{x, in, {Index::of(r), Index::of(i)}, {}}, Accumulate{acc, x, {}, {}}}),
             Read{y, acc}, Store{out, {Index::of(r)}, y}});
  auto data = random_values<double>(30, 0.5, 1.5);
  std::vector<double> got(3);
  run(k, cpu, {data.data(), got.data()});
  for (size_t row = 0; row < 3; ++row) {
    double expected = 1;
    for (size_t c = 0; c < 10; ++c) expected *= data[row * 10 + c];
    EXPECT_EQ(got[row], expected);
  }
}

}  // namespace
}  // namespace tokamak
