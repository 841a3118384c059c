#include "math/column_builder.h"

#include <gtest/gtest.h>

namespace tokamak::test {

namespace {

// What chooses a clone runs before the thread sanitizer does, which would have its part in it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define TOKAMAK_WITH_FMA __attribute__((target_clones("fma", "default")))
#else
#define TOKAMAK_WITH_FMA
#endif
TOKAMAK_WITH_FMA void fma_columns(const float* a, const float* b, const float* c, float* r) {
  for (size_t i = 0; i < kBlock; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
}
TOKAMAK_WITH_FMA void fma_columns(const double* a, const double* b, const double* c, double* r) {
  for (size_t i = 0; i < kBlock; ++i) r[i] = __builtin_fma(a[i], b[i], c[i]);
}

[[noreturn]] void unknown(const char* what) {
  ADD_FAILURE() << "ColumnBuilder does not know this " << what;
  std::abort();
}

}  // namespace

Scalar ColumnBuilder::make(Lane lane) {
  if (used_ == columns_.size()) columns_.emplace_back();
  columns_[used_].lane = lane;
  return static_cast<Scalar>(used_++);
}

Scalar ColumnBuilder::constant_bits(Lane lane, uint64_t bits) {
  Scalar result = make(lane);
  switch (lane) {
    case Lane::f32:
    case Lane::i32:
      for (size_t i = 0; i < kBlock; ++i) data<uint32_t>(result)[i] = static_cast<uint32_t>(bits);
      return result;
    case Lane::f64:
    case Lane::i64:
      for (size_t i = 0; i < kBlock; ++i) data<uint64_t>(result)[i] = bits;
      return result;
    case Lane::i1:
    case Lane::i8:
    case Lane::i16:
      break;
  }
  unknown("constant");
}

template <typename T>
Scalar ColumnBuilder::float_prim(Prim prim, std::span<const Scalar> operands) {
  const T* a = data<T>(operands[0]);
  const T* b = operands.size() > 1 ? data<T>(operands[1]) : nullptr;
  bool compares = prim == Prim::feq || prim == Prim::fne || prim == Prim::flt || prim == Prim::fle;
  Scalar result = make(compares ? Lane::i1 : lane(operands[0]));
  T* r = data<T>(result);
  uint8_t* truth = data<uint8_t>(result);
  auto each = [&](auto f) {
    for (size_t i = 0; i < kBlock; ++i) r[i] = f(i);
    return result;
  };
  auto each_truth = [&](auto f) {
    for (size_t i = 0; i < kBlock; ++i) truth[i] = f(i);
    return result;
  };
  if (prim == Prim::fadd) return each([=](size_t i) { return a[i] + b[i]; });
  if (prim == Prim::fsub) return each([=](size_t i) { return a[i] - b[i]; });
  if (prim == Prim::fmul) return each([=](size_t i) { return a[i] * b[i]; });
  if (prim == Prim::fdiv) return each([=](size_t i) { return a[i] / b[i]; });
  if (prim == Prim::fsqrt) return each([=](size_t i) { return std::sqrt(a[i]); });
  if (prim == Prim::fneg) return each([=](size_t i) { return -a[i]; });
  if (prim == Prim::fabs) return each([=](size_t i) { return std::fabs(a[i]); });
  if (prim == Prim::fcopysign) return each([=](size_t i) { return std::copysign(a[i], b[i]); });
  if (prim == Prim::ffloor) return each([=](size_t i) { return std::floor(a[i]); });
  if (prim == Prim::ftrunc) return each([=](size_t i) { return std::trunc(a[i]); });
  if (prim == Prim::fround_even) return each([=](size_t i) { return std::nearbyint(a[i]); });
  if (prim == Prim::feq) return each_truth([=](size_t i) { return a[i] == b[i]; });
  if (prim == Prim::fne) return each_truth([=](size_t i) { return a[i] != b[i]; });
  if (prim == Prim::flt) return each_truth([=](size_t i) { return a[i] < b[i]; });
  if (prim == Prim::fle) return each_truth([=](size_t i) { return a[i] <= b[i]; });
  if (prim == Prim::fscale) {
    EXPECT_TRUE(scale_) << "fscale where the machine has none";
    return each([=](size_t i) { return std::ldexp(a[i], static_cast<int>(std::floor(b[i]))); });
  }
  if (prim == Prim::fma) {
    EXPECT_TRUE(fma_) << "fma where the machine has none";
    fma_columns(a, b, data<T>(operands[2]), r);
    return result;
  }
  unknown("float operation");
}

template <typename T>
Scalar ColumnBuilder::integer_prim(Prim prim, std::span<const Scalar> operands) {
  using Signed = std::make_signed_t<T>;
  const T* a = data<T>(operands[0]);
  const T* b = data<T>(operands[1]);
  bool compares =
      prim == Prim::ieq || prim == Prim::ine || prim == Prim::slt || prim == Prim::sle || prim == Prim::ult;
  Scalar result = make(compares ? Lane::i1 : lane(operands[0]));
  T* r = data<T>(result);
  uint8_t* truth = data<uint8_t>(result);
  auto each = [&](auto f) {
    for (size_t i = 0; i < kBlock; ++i) r[i] = f(a[i], b[i]);
    return result;
  };
  auto each_truth = [&](auto f) {
    for (size_t i = 0; i < kBlock; ++i) truth[i] = f(a[i], b[i]);
    return result;
  };
  if (prim == Prim::iadd) return each([](T x, T y) { return x + y; });
  if (prim == Prim::isub) return each([](T x, T y) { return x - y; });
  if (prim == Prim::imul) return each([](T x, T y) { return x * y; });
  if (prim == Prim::iand) return each([](T x, T y) { return x & y; });
  if (prim == Prim::ior) return each([](T x, T y) { return x | y; });
  if (prim == Prim::ixor) return each([](T x, T y) { return x ^ y; });
  if (prim == Prim::ishl) return each([](T x, T y) { return x << y; });
  if (prim == Prim::ilshr) return each([](T x, T y) { return x >> y; });
  if (prim == Prim::iashr) return each([](T x, T y) { return static_cast<T>(static_cast<Signed>(x) >> y); });
  if (prim == Prim::ieq) return each_truth([](T x, T y) { return x == y; });
  if (prim == Prim::ine) return each_truth([](T x, T y) { return x != y; });
  if (prim == Prim::slt)
    return each_truth([](T x, T y) { return static_cast<Signed>(x) < static_cast<Signed>(y); });
  if (prim == Prim::sle)
    return each_truth([](T x, T y) { return static_cast<Signed>(x) <= static_cast<Signed>(y); });
  if (prim == Prim::ult) return each_truth([](T x, T y) { return x < y; });
  unknown("integer operation");
}

template <typename T>
Scalar ColumnBuilder::choose(std::span<const Scalar> operands) {
  const uint8_t* condition = data<uint8_t>(operands[0]);
  const T* yes = data<T>(operands[1]);
  const T* no = data<T>(operands[2]);
  Scalar result = make(lane(operands[1]));
  T* r = data<T>(result);
  for (size_t i = 0; i < kBlock; ++i) r[i] = condition[i] ? yes[i] : no[i];
  return result;
}

Scalar ColumnBuilder::prim(Prim prim, std::span<const Scalar> operands) {
  ++operations_;
  if (prim == Prim::select) {
    EXPECT_EQ(lane(operands[0]), Lane::i1);
    EXPECT_EQ(lane(operands[1]), lane(operands[2]));
    return bits_of(lane(operands[1])) == 32 ? choose<uint32_t>(operands) : choose<uint64_t>(operands);
  }
  for (Scalar operand : operands) EXPECT_EQ(lane(operand), lane(operands[0])) << name_of(prim);
  switch (lane(operands[0])) {
    case Lane::f32:
      return float_prim<float>(prim, operands);
    case Lane::f64:
      return float_prim<double>(prim, operands);
    case Lane::i32:
      return integer_prim<uint32_t>(prim, operands);
    case Lane::i64:
      return integer_prim<uint64_t>(prim, operands);
    case Lane::i1:
    case Lane::i8:
    case Lane::i16:
      break;
  }
  unknown("lane");
}

template <typename From, typename To>
Scalar ColumnBuilder::convert(Scalar value, Lane to) {
  Scalar result = make(to);
  const From* from = data<From>(value);
  To* r = data<To>(result);
  for (size_t i = 0; i < kBlock; ++i) r[i] = static_cast<To>(from[i]);
  return result;
}

Scalar ColumnBuilder::cast(Cast cast, Scalar value, Lane to) {
  if (cast != Cast::bitcast) ++operations_;
  Lane from = lane(value);
  if (cast == Cast::bitcast) {
    EXPECT_EQ(bits_of(from), bits_of(to));
    return bits_of(from) == 32 ? convert<uint32_t, uint32_t>(value, to)
                               : convert<uint64_t, uint64_t>(value, to);
  }
  if (cast == Cast::sitofp && from == Lane::i32 && to == Lane::f32) return convert<int32_t, float>(value, to);
  if (cast == Cast::fpext && from == Lane::f32) return convert<float, double>(value, to);
  if (cast == Cast::fptrunc && from == Lane::f64) return convert<double, float>(value, to);
  unknown("cast");
}

Scalar ColumnBuilder::call(const LibmFunction& function, std::span<const Scalar> operands) {
  ++operations_;
  EXPECT_EQ(function.lane, lane(operands[0]));
  EXPECT_EQ(static_cast<size_t>(function.arity), operands.size());
  Scalar result = make(function.lane);
  auto fill = [&]<typename T>(T* r) {
    const T* a = data<T>(operands[0]);
    if (function.arity == 1) {
      auto f = reinterpret_cast<T (*)(T)>(function.address);
      for (size_t i = 0; i < kBlock; ++i) r[i] = f(a[i]);
    } else {
      const T* b = data<T>(operands[1]);
      auto f = reinterpret_cast<T (*)(T, T)>(function.address);
      for (size_t i = 0; i < kBlock; ++i) r[i] = f(a[i], b[i]);
    }
  };
  if (function.lane == Lane::f32) {
    fill(data<float>(result));
  } else {
    fill(data<double>(result));
  }
  return result;
}

Scalar ColumnBuilder::lookup(const LookupTable& table, Scalar index) {
  ++operations_;
  EXPECT_EQ(lane(index), Lane::i64);
  Scalar result = make(Lane::f64);
  for (size_t i = 0; i < kBlock; ++i)
    data<double>(result)[i] = table[data<uint64_t>(index)[i] % table.size()];
  return result;
}

Scalar ColumnBuilder::unlikely(Scalar rare, Scalar usual, const std::function<Scalar()>& unusual) {
  const uint8_t* needed = data<uint8_t>(rare);
  bool any = false;
  for (size_t i = 0; i < kBlock; ++i) any |= needed[i] != 0;
  if (!any) return usual;
  Scalar other = unusual();
  return prim(Prim::select, {rare, other, usual});
}

}  // namespace tokamak::test
