#include <cfenv>
#include <cmath>
#include <limits>

#include "codegen/harness.h"
#include "ir/tensor.h"

namespace tokamak {
namespace {

class CodegenElementwise : public OnEveryCpu {};
ON_EVERY_CPU(CodegenElementwise);

/// Row r computes op on its first r elements: every length of tail in one kernel.
TestKernel triangle(Op op, DType dtype, DType result, int64_t rows, int64_t columns, int lanes, int arity) {
  TestKernel k;
  LoopVar r = k.var("r", rows), i = k.var("i", columns);
  std::vector<Stmt> body;
  std::vector<ValueId> operands;
  for (int n = 0; n < arity; ++n) {
    operands.push_back(k.value(dtype));
    body.push_back(Load{operands.back(), k.in(dtype, {rows, columns}), {Index::of(r), Index::of(i)}, {}});
  }
  ValueId computed = k.value(result);
  body.push_back(Compute{computed, op, operands});
  body.push_back(Store{k.out(result, {rows, columns}), {Index::of(r), Index::of(i)}, computed});
  k.nest(r, {k.vector(i, lanes, body, Index::of(r))});
  return k;
}

template <class T, class R, class Model>
void check_triangle(const Cpu& cpu, Op op, DType dtype, DType result, int lanes, Model model) {
  const int64_t columns = 2 * lanes + 1, rows = columns + 1;
  const auto count = static_cast<size_t>(rows * columns);
  std::vector<T> a(count), b(count);
  std::mt19937_64 random(7);
  for (size_t i = 0; i < count; ++i) {
    a[i] = static_cast<T>(random() % 100);
    b[i] = static_cast<T>(random() % 100 + 1);
  }
  std::vector<R> out(count, R(77));
  run(triangle(op, dtype, result, rows, columns, lanes, 2), cpu, {a.data(), b.data(), out.data()});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < columns; ++i) {
      const auto at = static_cast<size_t>(r * columns + i);
      const R expected = i < r ? model(a[at], b[at]) : R(77);
      ASSERT_TRUE(same_bits(out[at], expected))
          << name_of(op) << " " << name_of(dtype) << " row " << r << " at " << i;
    }
}

TEST_P(CodegenElementwise, EveryTailOfEveryWidth) {
  for (int lanes : {4, 8, 16, 32}) {
    auto add = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
    check_triangle<float, float>(cpu, Op::add, DType::f32, DType::f32, lanes, add);
    check_triangle<double, double>(cpu, Op::add, DType::f64, DType::f64, lanes, add);
    check_triangle<int8_t, int8_t>(cpu, Op::add, DType::i8, DType::i8, lanes, add);
    check_triangle<uint8_t, uint8_t>(cpu, Op::add, DType::u8, DType::u8, lanes, add);
    check_triangle<int16_t, int16_t>(cpu, Op::add, DType::i16, DType::i16, lanes, add);
    check_triangle<int64_t, int64_t>(cpu, Op::mul, DType::i64, DType::i64, lanes,
                                     [](int64_t a, int64_t b) { return a * b; });
    check_triangle<float, uint8_t>(cpu, Op::lt, DType::f32, DType::boolean, lanes,
                                   [](float a, float b) { return static_cast<uint8_t>(a < b); });
    check_triangle<uint16_t, uint16_t>(
        cpu, Op::add, DType::f16, DType::f16, lanes,
        [](uint16_t a, uint16_t b) { return f32_to_f16(f16_to_f32(a) + f16_to_f32(b)); });
    check_triangle<uint16_t, uint16_t>(
        cpu, Op::mul, DType::bf16, DType::bf16, lanes,
        [](uint16_t a, uint16_t b) { return f32_to_bf16(bf16_to_f32(a) * bf16_to_f32(b)); });
    check_triangle<uint8_t, uint8_t>(
        cpu, Op::bit_and, DType::boolean, DType::boolean, lanes,
        [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a != 0 && b != 0); });
  }
}

/// out = op(in) over one row of any length, the last round masked at compile time.
TestKernel unary(Op op, DType from, DType to, int64_t count, int lanes) {
  TestKernel k;
  LoopVar t = k.var("t", 1), i = k.var("i", count);
  ValueId x = k.value(from), y = k.value(to);
  k.nest(t, {k.vector(i, lanes,
                      {Load{x, k.in(from, {count}), {Index::of(i)}, {}}, Compute{y, op, {x}},
                       Store{k.out(to, {count}), {Index::of(i)}, y}})});
  return k;
}

template <class T, class R, class Model>
void check_unary(const Cpu& cpu, Op op, DType from, DType to, std::vector<T> in, Model model) {
  std::vector<R> out(in.size());
  run(unary(op, from, to, static_cast<int64_t>(in.size()), 8), cpu, {in.data(), out.data()});
  for (size_t i = 0; i < in.size(); ++i) {
    const R expected = model(in[i]);
    bool both_nan = false;
    if constexpr (std::is_floating_point_v<R>) both_nan = std::isnan(expected) && std::isnan(out[i]);
    ASSERT_TRUE(both_nan || same_bits(out[i], expected))
        << name_of(op) << " " << name_of(from) << " to " << name_of(to) << " of element " << i << ": "
        << +in[i] << " gives " << +out[i] << ", not " << +expected;
  }
}

template <class T>
std::vector<T> interesting() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           T(-0.0),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           T(0x1p22),
                           T(0x1p23),
                           T(0x1p51),
                           T(0x1p52)};
  for (int i = -20; i <= 20; ++i)
    for (T d : {T(0), std::numeric_limits<T>::epsilon() * 8, -std::numeric_limits<T>::epsilon() * 8})
      values.push_back(T(i) / 4 + d);
  return values;
}

TEST_P(CodegenElementwise, RoundsToIntegers) {
  check_unary<float, float>(cpu, Op::floor, DType::f32, DType::f32, interesting<float>(),
                            [](float x) { return std::floor(x); });
  check_unary<float, float>(cpu, Op::ceil, DType::f32, DType::f32, interesting<float>(),
                            [](float x) { return std::ceil(x); });
  check_unary<float, float>(cpu, Op::trunc, DType::f32, DType::f32, interesting<float>(),
                            [](float x) { return std::trunc(x); });
  check_unary<float, float>(cpu, Op::round, DType::f32, DType::f32, interesting<float>(),
                            [](float x) { return std::rint(x); });
  check_unary<double, double>(cpu, Op::floor, DType::f64, DType::f64, interesting<double>(),
                              [](double x) { return std::floor(x); });
  check_unary<double, double>(cpu, Op::ceil, DType::f64, DType::f64, interesting<double>(),
                              [](double x) { return std::ceil(x); });
  check_unary<double, double>(cpu, Op::trunc, DType::f64, DType::f64, interesting<double>(),
                              [](double x) { return std::trunc(x); });
  check_unary<double, double>(cpu, Op::round, DType::f64, DType::f64, interesting<double>(),
                              [](double x) { return std::rint(x); });
}

bool is_nan16(uint16_t bits, int mantissa) {
  return (bits & 0x7fff) > (((1 << (15 - mantissa)) - 1) << mantissa);
}

TEST_P(CodegenElementwise, WidensEvery16BitFloat) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  check_unary<uint16_t, float>(cpu, Op::convert, DType::f16, DType::f32, all, f16_to_f32);
  check_unary<uint16_t, float>(cpu, Op::convert, DType::bf16, DType::f32, all, bf16_to_f32);
  // There and back: finite values keep their bits.
  std::vector<uint16_t> out(all.size());
  for (DType dtype : {DType::f16, DType::bf16}) {
    run(unary(Op::abs, dtype, dtype, 65536, 8), cpu, {all.data(), out.data()});
    for (size_t i = 0; i < all.size(); ++i)
      if (!is_nan16(all[i], dtype == DType::f16 ? 10 : 7)) {
        ASSERT_EQ(out[i], i & 0x7fff) << name_of(dtype);
      }
  }
}

/// Around every value of the narrow type and every midpoint between two.
template <class T>
std::vector<T> around_narrow(float (*widen)(uint16_t)) {
  std::vector<T> values;
  for (uint32_t bits = 0; bits < 0x8000; bits += 3) {
    const T low = widen(static_cast<uint16_t>(bits)), high = widen(static_cast<uint16_t>(bits + 1));
    const T middle = low + (high - low) / 2;
    for (T x : {low, middle}) {
      if (std::isnan(x) || std::isinf(x)) continue;
      for (T near : {x, std::nextafter(x, T(0)), std::nextafter(x, std::numeric_limits<T>::infinity())}) {
        values.push_back(near);
        values.push_back(-near);
      }
    }
  }
  for (T special :
       {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), T(65504), T(65519.996),
        T(65520), T(65536), std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min(), T(0x1p-25),
        T(0x1.8p-25), T(-0.0), std::numeric_limits<T>::min()})
    values.push_back(special);
  return values;
}

TEST_P(CodegenElementwise, NarrowsTo16BitFloatsWithOneRounding) {
  check_unary<float, uint16_t>(cpu, Op::convert, DType::f32, DType::f16, around_narrow<float>(f16_to_f32),
                               f32_to_f16);
  check_unary<float, uint16_t>(cpu, Op::convert, DType::f32, DType::bf16, around_narrow<float>(bf16_to_f32),
                               f32_to_bf16);
  check_unary<double, uint16_t>(cpu, Op::convert, DType::f64, DType::f16, around_narrow<double>(f16_to_f32),
                                f64_to_f16);
  check_unary<double, uint16_t>(cpu, Op::convert, DType::f64, DType::bf16, around_narrow<double>(bf16_to_f32),
                                f64_to_bf16);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check_unary<float, uint16_t>(cpu, Op::convert, DType::f32, DType::f16, {nan, -nan}, f32_to_f16);
  check_unary<float, uint16_t>(cpu, Op::convert, DType::f32, DType::bf16, {nan, -nan}, f32_to_bf16);
}

// Instructions that round whole registers take subnormal numbers for zero. They lie among others here.
TEST_P(CodegenElementwise, RoundsRegistersToBf16) {
  constexpr int64_t kCount = (1 << 17) + 5;
  std::vector<float> values;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t anywhere = i * 2654435761U;
    values.push_back(std::bit_cast<float>(i % 5 == 0 ? anywhere & 0x80ffffffU : anywhere));
  }
  for (int lanes : {16, 32, 64}) {
    std::vector<uint16_t> out(values.size());
    run(unary(Op::convert, DType::f32, DType::bf16, kCount, lanes), cpu, {values.data(), out.data()});
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t expected = f32_to_bf16(values[i]);
      const bool both_nan = is_nan16(expected, 7) && is_nan16(out[i], 7) && (expected ^ out[i]) < 0x8000;
      ASSERT_TRUE(both_nan || out[i] == expected) << std::bit_cast<uint32_t>(values[i]) << ", " << lanes;
    }
  }
}

TEST_P(CodegenElementwise, CallsTheCLibraryWhereVectorCodeEnds) {
  std::vector<float> angles = {0.5F, 1e30F, -3e38F, 2.0F, 1e8F, 0, 7, 8, 9};
  std::vector<float> out(angles.size());
  run(unary(Op::sin, DType::f32, DType::f32, static_cast<int64_t>(angles.size()), 8), cpu,
      {angles.data(), out.data()});
  for (size_t i = 0; i < angles.size(); ++i)
    EXPECT_NEAR(out[i], std::sin(double{angles[i]}), 2e-7) << angles[i];
}

TEST_P(CodegenElementwise, UniformValuesMeetVectors) {
  // out[r, i] = (row[r] * 2) * x[r, i] + i, as f32; the product with 2 is computed once per row.
  const int64_t rows = 3, columns = 21;
  TestKernel k;
  LoopVar r = k.var("r", rows), i = k.var("i", columns);
  ValueId row = k.value(DType::f32), two = k.value(DType::f32), scale = k.value(DType::f32),
          x = k.value(DType::f32);
  ValueId product = k.value(DType::f32), number = k.value(DType::f32), sum = k.value(DType::f32);
  BufferId in_row = k.in(DType::f32, {rows}), in_x = k.in(DType::f32, {rows, columns});
  BufferId out = k.out(DType::f32, {rows, columns});
  k.nest(r, {Load{row, in_row, {Index::of(r)}, {}}, Literal{two, scalar_tensor(DType::f32, 2.0)},
             Compute{scale, Op::mul, {row, two}},
             k.vector(i, 8,
                      {Load{x, in_x, {Index::of(r), Index::of(i)}, {}}, Compute{product, Op::mul, {scale, x}},
                       IndexValue{number, Index::of(i)}, Compute{sum, Op::add, {product, number}},
                       Store{out, {Index::of(r), Index::of(i)}, sum}})});
  auto a = random_values<float>(3, -1, 1), b = random_values<float>(63, -1, 1);
  std::vector<float> got(63);
  run(k, cpu, {a.data(), b.data(), got.data()});
  for (size_t n = 0; n < 63; ++n) EXPECT_EQ(got[n], a[n / 21] * 2 * b[n] + static_cast<float>(n % 21));
}

TEST_P(CodegenElementwise, LargeBodiesUseOneMaskedLoop) {
  // A chain long enough to pass the limit, over every length of tail, for a type with and one without masked
  // access.
  for (DType dtype : {DType::i32, DType::i16}) {
    const int64_t columns = 17, rows = 18;
    TestKernel k;
    LoopVar r = k.var("r", rows), i = k.var("i", columns);
    ValueId x = k.value(dtype);
    BufferId in = k.in(dtype, {rows, columns}), out = k.out(dtype, {rows, columns});
    std::vector<Stmt> body = {Load{x, in, {Index::of(r), Index::of(i)}, {}}};
    ValueId last = x;
    for (int n = 0; n < 200; ++n) {
      ValueId next = k.value(dtype);
      body.push_back(Compute{next, n % 2 == 0 ? Op::add : Op::mul, {last, x}});
      last = next;
    }
    body.push_back(Store{out, {Index::of(r), Index::of(i)}, last});
    k.nest(r, {k.vector(i, 8, body, Index::of(r))});
    auto check = [&]<class T>(T) {
      auto a = random_values<T>(static_cast<size_t>(rows * columns), -100, 100);
      std::vector<T> got(a.size(), 5);
      run(k, cpu, {a.data(), got.data()});
      for (size_t n = 0; n < a.size(); ++n) {
        T expected = 5;
        if (n % columns < n / columns) {
          auto v = static_cast<uint32_t>(a[n]);
          for (int step = 0; step < 200; ++step)
            v = step % 2 == 0 ? v + static_cast<uint32_t>(a[n]) : v * static_cast<uint32_t>(a[n]);
          expected = static_cast<T>(v);
        }
        ASSERT_EQ(got[n], expected);
      }
    };
    dtype == DType::i32 ? check(int32_t{}) : check(int16_t{});
  }
}

// As of the scores that a mask hides: underflow takes some processors hundreds of cycles.
TEST_P(CodegenElementwise, ExponentialsThatAreZeroDoNotUnderflow) {
  auto check = [&]<class T>(Op op, DType dtype, T first) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> in = {first, 2 * first, -1e6F, Limits::lowest(), -Limits::infinity(), 0, 1, 2};
    std::vector<T> out(in.size());
    void* buffers[] = {in.data(), out.data()};
    KernelFrame frame{buffers, nullptr, nullptr};
    const auto native = compile(unary(op, dtype, dtype, static_cast<int64_t>(in.size()), 8), cpu);
    std::feclearexcept(FE_ALL_EXCEPT);
    native->nests()[0](&frame, 0, 1, nullptr);
    EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW), 0) << name_of(op) << " " << name_of(dtype);
    for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(out[i], T(0))) << name_of(op) << " of " << in[i];
  };
  check(Op::exp, DType::f32, -104.5F);
  check(Op::exp, DType::f64, -746.5);
  check(Op::exp2, DType::f32, -151.0F);
  check(Op::exp2, DType::f64, -1077.0);
}

}  // namespace
}  // namespace tokamak
