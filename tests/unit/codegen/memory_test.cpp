#include "codegen/harness.h"

namespace tokamak {
namespace {

class CodegenMemory : public OnEveryCpu {};
ON_EVERY_CPU(CodegenMemory);

/// out[r, i] = in[...] for i below a bound that depends on r, so that every tail occurs.
struct Copy : TestKernel {
  static constexpr int64_t kRows = 18, kColumns = 17;
  LoopVar r = var("r", kRows), i = var("i", kColumns);

  void finish(DType dtype, BufferId from, std::vector<Index> from_index, Guard guard, BufferId to,
              std::vector<Index> to_index, int lanes = 8) {
    ValueId x = value(dtype);
    nest(r, {vector(i, lanes, {Load{x, from, from_index, guard}, Store{to, to_index, x}}, Index::of(r))});
  }
  static bool active(int64_t row, int64_t column) { return column < row; }
};

template <class T>
void check_dynamic_strides(const Cpu& cpu, DType dtype) {
  const auto size = static_cast<int64_t>(sizeof(T));
  auto data = random_values<T>(4000, 0, 100);
  // Strides in elements for both axes of the input, and where element [0, 0] is.
  const int64_t cases[][3] = {{17, 1, 0},      {1, 18, 0}, {0, 1, 0},   {17, 0, 0},
                              {-34, -2, 3999}, {51, 3, 0}, {17, -1, 16}};
  for (const auto& [row_stride, column_stride, origin] : cases) {
    for (bool fixed : {false, true}) {
      Copy k;
      std::vector<int64_t> in_strides = fixed ? std::vector{row_stride * size, column_stride * size}
                                              : std::vector{kDynamicStride, kDynamicStride};
      BufferId in = k.in(dtype, {Copy::kRows, Copy::kColumns}, in_strides);
      BufferId out = k.out(dtype, {Copy::kRows, Copy::kColumns});
      k.finish(dtype, in, {Index::of(k.r), Index::of(k.i)}, {}, out, {Index::of(k.r), Index::of(k.i)});
      std::vector<T> got(Copy::kRows * Copy::kColumns, T(111));
      run(k, cpu, {data.data() + origin, got.data()}, {row_stride * size, column_stride * size, 0, 0});
      for (int64_t r = 0; r < Copy::kRows; ++r)
        for (int64_t i = 0; i < Copy::kColumns; ++i) {
          const T expected = Copy::active(r, i)
                                 ? data[static_cast<size_t>(origin + r * row_stride + i * column_stride)]
                                 : T(111);
          ASSERT_EQ(got[static_cast<size_t>(r * Copy::kColumns + i)], expected)
              << name_of(dtype) << " strides " << row_stride << "," << column_stride << " at " << r << ","
              << i;
        }
    }
  }
}

TEST_P(CodegenMemory, LoadsByAnyStride) {
  check_dynamic_strides<float>(cpu, DType::f32);
  check_dynamic_strides<double>(cpu, DType::f64);
  check_dynamic_strides<int8_t>(cpu, DType::i8);
  check_dynamic_strides<uint16_t>(cpu, DType::u16);
}

/// The same code for matrices of any size: rows are `width` apart, begin `start` in, and are `count` long.
TEST_P(CodegenMemory, ReadsNumbersAtRunTime) {
  constexpr int64_t kRows = 5;
  TestKernel k;
  const LoopVar width = k.var("width", 100), start = k.var("start", 100), count = k.var("count", 100);
  k.numbers = {width, start, count};
  const LoopVar r = k.var("r", kRows), i = k.var("i", 99);
  const BufferId in = k.in(DType::f32, {1000}), out = k.out(DType::f32, {1000}),
                 turned = k.out(DType::f32, {1000}), whole = k.out(DType::i64, {1000});
  const Index row = Index::scaled(width, Index::of(r));
  const ValueId x = k.value(DType::f32), half = k.value(DType::f32), position = k.value(DType::i64);
  k.nest(r, {k.vector(i, lanes(DType::f32),
                      {Load{x, in, {row + Index::of(i) + Index::of(start)}, {}},
                       Load{half,
                            in,
                            {row + divide(Index::of(i), 2, k.extents_function())},
                            {{Index::of(i) - Index::of(start), 0, INT64_MAX}}},
                       IndexValue{position, Index::scaled(width, Index::of(i)) + Index::of(start)},
                       Store{out, {row + Index::of(i)}, x},
                       Store{turned, {Index::scaled(width, Index::of(i)) + Index::of(r)}, half},
                       Store{whole, {row + Index::of(i)}, position}},
                      Index::of(count))});
  auto data = random_values<float>(1000, 0, 1);
  const int64_t cases[][3] = {{13, 2, 11}, {40, 0, 21}, {7, 6, 1}, {9, 1, 0}};
  for (const auto& [w, s, n] : cases) {
    std::vector<float> got(1000, -1), got_turned(1000, -1);
    std::vector<int64_t> got_whole(1000, -1);
    run(k, cpu, {data.data(), got.data(), got_turned.data(), got_whole.data()}, {}, {w, s, n});
    std::vector<float> expected(1000, -1), expected_turned(1000, -1);
    std::vector<int64_t> expected_whole(1000, -1);
    for (int64_t row_number = 0; row_number < kRows; ++row_number) {
      for (int64_t column = 0; column < n; ++column) {
        const auto at = static_cast<size_t>(row_number * w + column);
        expected[at] = data[at + static_cast<size_t>(s)];
        expected_whole[at] = w * column + s;
        expected_turned[static_cast<size_t>(column * w + row_number)] =
            column < s ? 0 : data[static_cast<size_t>(row_number * w + column / 2)];
      }
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(got_turned, expected_turned);
    EXPECT_EQ(got_whole, expected_whole);
  }
}

TEST_P(CodegenMemory, StoresByAnyStride) {
  for (int64_t column_stride : {-1, 2, 18}) {
    Copy k;
    BufferId in = k.in(DType::f32, {Copy::kRows, Copy::kColumns});
    const int64_t row_stride = column_stride == 18 ? 1 : 40;
    BufferId out = k.out(DType::f32, {Copy::kRows, Copy::kColumns}, {row_stride * 4, column_stride * 4});
    k.finish(DType::f32, in, {Index::of(k.r), Index::of(k.i)}, {}, out, {Index::of(k.r), Index::of(k.i)});
    auto data = random_values<float>(Copy::kRows * Copy::kColumns, 0, 1);
    std::vector<float> got(1000, -1), expected(1000, -1);
    const int64_t origin = 100;
    for (int64_t r = 0; r < Copy::kRows; ++r)
      for (int64_t i = 0; i < r && i < Copy::kColumns; ++i)
        expected[static_cast<size_t>(origin + r * row_stride + i * column_stride)] =
            data[static_cast<size_t>(r * Copy::kColumns + i)];
    run(k, cpu, {data.data(), got.data() + origin});
    EXPECT_EQ(got, expected) << column_stride;
  }
}

template <class T>
void check_padding(const Cpu& cpu, DType dtype, int lanes) {
  // out[r, i] = in[r - 2, i - 3] where that exists, else 0: a guard per row and one per lane.
  Copy k;
  const int64_t in_rows = 12, in_columns = 10;
  BufferId in = k.in(dtype, {in_rows, in_columns}), out = k.out(dtype, {Copy::kRows, Copy::kColumns});
  Index row = Index::of(k.r) - Index(2), column = Index::of(k.i) - Index(3);
  k.finish(dtype, in, {row, column}, {{row, 0, in_rows}, {column, 0, in_columns}}, out,
           {Index::of(k.r), Index::of(k.i)}, lanes);
  auto data = random_values<T>(static_cast<size_t>(in_rows * in_columns), 1, 100);
  std::vector<T> got(Copy::kRows * Copy::kColumns, T(111));
  run(k, cpu, {data.data(), got.data()});
  for (int64_t r = 0; r < Copy::kRows; ++r)
    for (int64_t i = 0; i < Copy::kColumns; ++i) {
      const bool inside = r >= 2 && r < 2 + in_rows && i >= 3 && i < 3 + in_columns;
      const T expected = !Copy::active(r, i) ? T(111)
                         : inside            ? data[static_cast<size_t>((r - 2) * in_columns + i - 3)]
                                             : T(0);
      ASSERT_EQ(got[static_cast<size_t>(r * Copy::kColumns + i)], expected)
          << name_of(dtype) << " " << r << "," << i;
    }
}

TEST_P(CodegenMemory, GuardedLoadsReadZero) {
  for (int lanes : {4, 8, 16}) {
    check_padding<float>(cpu, DType::f32, lanes);
    check_padding<double>(cpu, DType::f64, lanes);
    check_padding<int8_t>(cpu, DType::i8, lanes);
    check_padding<int16_t>(cpu, DType::i16, lanes);
  }
}

TEST_P(CodegenMemory, GuardedUniformAndStridedLoads) {
  // in has 5 elements; out[r, i] = in[i / 2 - 1] where inside, plus in[r - 1] where inside and i < 9.
  TestKernel k;
  LoopVar r = k.var("r", 8), i = k.var("i", 21);
  BufferId in = k.in(DType::i32, {5}), out = k.out(DType::i32, {8, 21});
  ValueId a = k.value(DType::i32), b = k.value(DType::i32), c = k.value(DType::i32);
  Index half = divide(Index::of(i), 2, k.extents_function()) - Index(1), row = Index::of(r) - Index(1);
  k.nest(r, {k.vector(
                i, 8,
                {Load{a, in, {half}, {{half, 0, 5}}}, Load{b, in, {row}, {{row, 0, 5}, {Index::of(i), 0, 9}}},
                 Compute{c, Op::add, {a, b}}, Store{out, {Index::of(r), Index::of(i)}, c}})});
  std::vector<int32_t> data = {1, 20, 300, 4000, 50000}, got(8 * 21);
  run(k, cpu, {data.data(), got.data()});
  auto at = [&](int64_t n) { return n >= 0 && n < 5 ? data[static_cast<size_t>(n)] : 0; };
  for (int64_t n = 0; n < 8 * 21; ++n)
    ASSERT_EQ(got[static_cast<size_t>(n)], at(n % 21 / 2 - 1) + (n % 21 < 9 ? at(n / 21 - 1) : 0)) << n;
}

TEST_P(CodegenMemory, QuotientsAndRemaindersOfTheVectorVariable) {
  // out[i] = in[i % 7, i / 7]: a reshape of a transpose.
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", 35);
  BufferId in = k.in(DType::f64, {7, 5}), out = k.out(DType::f64, {35});
  ValueId x = k.value(DType::f64);
  auto extents = k.extents_function();
  k.nest(t, {k.vector(i, 8,
                      {Load{x, in, {modulo(Index::of(i), 7, extents), divide(Index::of(i), 7, extents)}, {}},
                       Store{out, {Index::of(i)}, x}})});
  auto data = random_values<double>(35, 0, 1);
  std::vector<double> got(35);
  run(k, cpu, {data.data(), got.data()});
  for (size_t n = 0; n < 35; ++n) EXPECT_EQ(got[n], data[n % 7 * 5 + n / 7]);
}

template <class I>
void check_gather(const Cpu& cpu, DType index_type) {
  // out[i] = table[which[i]] where 0 <= which[i] < 10, else 0; and a check that reports the bad ones.
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", 19);
  BufferId which = k.in(index_type, {19}), table = k.in(DType::f32, {10}), out = k.out(DType::f32, {19});
  ValueId w = k.value(index_type), x = k.value(DType::f32);
  k.checks = {{UserError("first")}, {UserError("second")}};
  k.nest(t, {k.vector(
                i, 8,
                {Load{w, which, {Index::of(i)}, {}}, CheckRange{w, 10, 1},
                 Load{x, table, {Index::of(w)}, {{Index::of(w), 0, 10}}}, Store{out, {Index::of(i)}, x}})});
  auto data = random_values<float>(10, 1, 2);
  std::vector<I> indices(19);
  for (size_t n = 0; n < 19; ++n) indices[n] = static_cast<I>(n * 7 % 10);
  std::vector<float> got(19);
  EXPECT_EQ(run(k, cpu, {indices.data(), data.data(), got.data()}), 0);
  for (size_t n = 0; n < 19; ++n) EXPECT_EQ(got[n], data[n * 7 % 10]);
  for (size_t bad : {size_t{3}, size_t{18}}) {
    for (I value : {I(10), std::is_signed_v<I> ? I(-1) : I(99)}) {
      auto broken = indices;
      broken[bad] = value;
      EXPECT_EQ(run(k, cpu, {broken.data(), data.data(), got.data()}), 2);
      for (size_t n = 0; n < 19; ++n) EXPECT_EQ(got[n], n == bad ? 0 : data[n * 7 % 10]);
    }
  }
}

TEST_P(CodegenMemory, GathersAndChecks) {
  check_gather<int64_t>(cpu, DType::i64);
  check_gather<int32_t>(cpu, DType::i32);
  check_gather<uint8_t>(cpu, DType::u8);
}

TEST_P(CodegenMemory, AnyNonZeroByteIsTrue) {
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", 11);
  ValueId x = k.value(DType::boolean);
  BufferId in = k.in(DType::boolean, {11}), out = k.out(DType::boolean, {11});
  k.nest(t, {k.vector(i, 8, {Load{x, in, {Index::of(i)}, {}}, Store{out, {Index::of(i)}, x}})});
  std::vector<uint8_t> bytes = {0, 1, 2, 255, 0, 128, 7, 0, 0, 64, 3}, got(11);
  run(k, cpu, {bytes.data(), got.data()});
  for (size_t n = 0; n < 11; ++n) EXPECT_EQ(got[n], bytes[n] != 0);
}

TEST_P(CodegenMemory, NonTemporalStoresAtAnyPosition) {
  for (int64_t shift = 0; shift < 20; ++shift) {
    TestKernel k;
    LoopVar t = k.var("t", 1), i = k.var("i", 100);
    ValueId x = k.value(DType::f32);
    BufferId in = k.in(DType::f32, {100}), out = k.out(DType::f32, {200});
    k.nest(t,
           {k.vector(i, 16, {Load{x, in, {Index::of(i)}, {}}, Store{out, {Index::of(i) + shift}, x, true}})});
    auto data = random_values<float>(100, 0, 1);
    alignas(64) float target[200] = {};
    run(k, cpu, {data.data(), target});
    EXPECT_EQ(std::memcmp(target + shift, data.data(), 400), 0) << shift;
    EXPECT_EQ(target[shift + 100], 0);
    EXPECT_NE(emit_llvm(k, cpu).find("!nontemporal"), std::string::npos);
    EXPECT_NE(emit_assembly(k, cpu).find("sfence"), std::string::npos);
  }
}

TEST_P(CodegenMemory, NonTemporalStoresInRowsOfAnyLength) {
  for (int64_t columns : {16, 20, 37}) {  // of which only the rows of 16 are all aligned
    TestKernel k;
    LoopVar t = k.var("t", 5), i = k.var("i", columns);
    ValueId x = k.value(DType::f32);
    BufferId in = k.in(DType::f32, {5, columns}), out = k.out(DType::f32, {5, columns});
    k.nest(t, {k.vector(i, 16,
                        {Load{x, in, {Index::of(t), Index::of(i)}, {}},
                         Store{out, {Index::of(t), Index::of(i)}, x, true}})});
    auto data = random_values<float>(static_cast<size_t>(5 * columns), 0, 1);
    alignas(64) float target[200] = {};
    run(k, cpu, {data.data(), target});
    EXPECT_EQ(std::memcmp(target, data.data(), static_cast<size_t>(columns) * 20), 0) << columns;
  }
}

TEST_P(CodegenMemory, ScratchBelongsToTheTask) {
  // scratch[i] = x[r, i] * x[r, i]; out[r, i] = scratch[n - 1 - i].
  const int64_t rows = 4, n = 13;
  TestKernel k;
  LoopVar r = k.var("r", rows), i = k.var("i", n), j = k.var("j", n);
  BufferId in = k.in(DType::f32, {rows, n}), out = k.out(DType::f32, {rows, n});
  BufferId scratch = k.buffer(DType::f32, {n}, Buffer::Role::scratch);
  k.scratch_bytes = 64 + 4 * n;
  k[scratch].scratch_offset = 64;
  ValueId x = k.value(DType::f32), square = k.value(DType::f32), y = k.value(DType::f32);
  k.nest(r, {k.vector(i, 8,
                      {Load{x, in, {Index::of(r), Index::of(i)}, {}}, Compute{square, Op::mul, {x, x}},
                       Store{scratch, {Index::of(i)}, square}}),
             k.vector(j, 8,
                      {Load{y, scratch, {Index(n - 1) - Index::of(j)}, {}},
                       Store{out, {Index::of(r), Index::of(j)}, y}})});
  auto data = random_values<float>(static_cast<size_t>(rows * n), -1, 1);
  std::vector<float> got(data.size());
  run(k, cpu, {data.data(), got.data(), nullptr});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t m = 0; m < n; ++m) {
      const float v = data[static_cast<size_t>(row * n + n - 1 - m)];
      EXPECT_EQ(got[static_cast<size_t>(row * n + m)], v * v);
    }
}

TEST_P(CodegenMemory, TestsBecomeValues) {
  // out[r, i] = 2 <= r + i < 9.
  TestKernel k;
  LoopVar r = k.var("r", 5), i = k.var("i", 12);
  BufferId out = k.out(DType::boolean, {5, 12});
  ValueId x = k.value(DType::boolean);
  k.nest(r, {k.vector(i, 8,
                      {tokamak::Test{x, {{Index::of(r) + Index::of(i), 2, 9}}},
                       Store{out, {Index::of(r), Index::of(i)}, x}})});
  std::vector<uint8_t> got(60);
  run(k, cpu, {got.data()});
  for (size_t n = 0; n < 60; ++n) EXPECT_EQ(got[n], n / 12 + n % 12 >= 2 && n / 12 + n % 12 < 9);
}

TEST_P(CodegenMemory, EmptyRangesTouchNothing) {
  TestKernel k;
  LoopVar r = k.var("r", 3), i = k.var("i", 0);
  ValueId x = k.value(DType::f32);
  BufferId in = k.in(DType::f32, {3, 0}), out = k.out(DType::f32, {3, 0});
  k.nest(r, {k.vector(i, 8,
                      {Load{x, in, {Index::of(r), Index::of(i)}, {}},
                       Store{out, {Index::of(r), Index::of(i)}, x}})});
  run(k, cpu, {nullptr, nullptr});
}

}  // namespace
}  // namespace tokamak
