#include "interp/column_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// Calls `visit` with a value of the unsigned type that stores an integer lane.
template <class Visit>
void with_integer(Lane lane, Visit visit) {
  switch (lane) {
    case Lane::i1:
    case Lane::i8:
      return visit(uint8_t{});
    case Lane::i16:
      return visit(uint16_t{});
    case Lane::i32:
      return visit(uint32_t{});
    case Lane::i64:
      return visit(uint64_t{});
    case Lane::f32:
    case Lane::f64:
      break;
  }
  throw InternalError("an integer operation on a float lane");
}

template <class Visit>
void with_float(Lane lane, Visit visit) {
  if (lane == Lane::f32) return visit(float{});
  if (lane == Lane::f64) return visit(double{});
  throw InternalError("a float operation on an integer lane");
}

/// Sign-extended to 64 bits.
template <class U>
int64_t as_signed(U value) {
  return static_cast<std::make_signed_t<U>>(value);
}

template <class From, class To, class F>
void map1(const Column& a, Column& out, F f) {
  const From* x = a.as<From>();
  To* y = out.as<To>();
  for (size_t i = 0; i < out.size; ++i) y[i] = static_cast<To>(f(x[i]));
}

template <class From, class To, class F>
void map2(const Column& a, const Column& b, Column& out, F f) {
  const From* x = a.as<From>();
  const From* y = b.as<From>();
  To* z = out.as<To>();
  for (size_t i = 0; i < out.size; ++i) z[i] = static_cast<To>(f(x[i], y[i]));
}

template <class F>
void float1(const Column& a, Column& out, F f) {
  with_float(a.lane, [&](auto t) { map1<decltype(t), decltype(t)>(a, out, f); });
}

template <class F>
void float2(const Column& a, const Column& b, Column& out, F f) {
  with_float(a.lane, [&](auto t) { map2<decltype(t), decltype(t)>(a, b, out, f); });
}

template <class F>
void float_test(const Column& a, const Column& b, Column& out, F f) {
  with_float(a.lane, [&](auto t) { map2<decltype(t), uint8_t>(a, b, out, f); });
}

/// `f` gets the operands zero-extended to 64 bits; its result wraps to the lane.
template <class F>
void unsigned2(const Column& a, const Column& b, Column& out, F f) {
  const uint64_t mask = a.lane == Lane::i1 ? 1 : ~uint64_t{0};
  with_integer(a.lane, [&](auto t) {
    using U = decltype(t);
    map2<U, U>(a, b, out, [&](uint64_t x, uint64_t y) { return f(x, y) & mask; });
  });
}

/// `f` gets the operands sign-extended to 64 bits.
template <class F>
void signed2(const Column& a, const Column& b, Column& out, F f) {
  with_integer(a.lane, [&](auto t) {
    using U = decltype(t);
    map2<U, U>(a, b, out, [&](U x, U y) { return f(as_signed(x), as_signed(y)); });
  });
}

template <class F>
void unsigned_test(const Column& a, const Column& b, Column& out, F f) {
  with_integer(a.lane, [&](auto t) { map2<decltype(t), uint8_t>(a, b, out, f); });
}

template <class F>
void signed_test(const Column& a, const Column& b, Column& out, F f) {
  with_integer(a.lane, [&](auto t) {
    using U = decltype(t);
    map2<U, uint8_t>(a, b, out, [&](U x, U y) { return f(as_signed(x), as_signed(y)); });
  });
}

void fused_multiply_add(const Column& a, const Column& b, const Column& c, Column& out) {
  with_float(a.lane, [&](auto t) {
    using F = decltype(t);
    for (size_t i = 0; i < out.size; ++i) {
      out.as<F>()[i] = std::fma(a.as<F>()[i], b.as<F>()[i], c.as<F>()[i]);
    }
  });
}

void select_lanes(const Column& condition, const Column& yes, const Column& no, Column& out) {
  const size_t width = bytes_of(out.lane);
  for (size_t i = 0; i < out.size; ++i) {
    const Column& from = condition.as<uint8_t>()[i] != 0 ? yes : no;
    std::memcpy(out.bytes.data() + i * width, from.bytes.data() + i * width, width);
  }
}

/// Truncation; what does not fit gives the most negative integer, as x86 does, so that no lane is undefined.
template <class Integer, class Float>
Integer truncate(Float value) {
  constexpr Float kLimit = sizeof(Integer) == 4 ? Float{0x1p31} : Float{0x1p63};
  const bool fits = value >= -kLimit && value < kLimit;
  return fits ? static_cast<Integer>(value) : std::numeric_limits<Integer>::min();
}

/// std::floor and friends, as objects.
constexpr auto kFloor = [](auto x) { return std::floor(x); };
constexpr auto kCeil = [](auto x) { return std::ceil(x); };
constexpr auto kTrunc = [](auto x) { return std::trunc(x); };
constexpr auto kRoundEven = [](auto x) { return std::nearbyint(x); };
constexpr auto kSqrt = [](auto x) { return std::sqrt(x); };
constexpr auto kAbs = [](auto x) { return std::fabs(x); };
constexpr auto kScale = [](auto x, auto n) { return std::ldexp(x, static_cast<int>(std::floor(n))); };
constexpr auto kCopysign = [](auto x, auto y) { return std::copysign(x, y); };

void run(Prim prim, const Column& a, const Column& b, const Column& c, Column& out) {
  switch (prim) {
    case Prim::fadd:
      return float2(a, b, out, std::plus<>{});
    case Prim::fsub:
      return float2(a, b, out, std::minus<>{});
    case Prim::fmul:
      return float2(a, b, out, std::multiplies<>{});
    case Prim::fdiv:
      return float2(a, b, out, std::divides<>{});
    case Prim::fsqrt:
      return float1(a, out, kSqrt);
    case Prim::fneg:
      return float1(a, out, std::negate<>{});
    case Prim::fabs:
      return float1(a, out, kAbs);
    case Prim::fcopysign:
      return float2(a, b, out, kCopysign);
    case Prim::ffloor:
      return float1(a, out, kFloor);
    case Prim::fceil:
      return float1(a, out, kCeil);
    case Prim::ftrunc:
      return float1(a, out, kTrunc);
    case Prim::fround_even:
      return float1(a, out, kRoundEven);
    case Prim::fma:
      return fused_multiply_add(a, b, c, out);
    case Prim::fscale:
      return float2(a, b, out, kScale);
    case Prim::feq:
      return float_test(a, b, out, std::equal_to<>{});
    case Prim::fne:
      return float_test(a, b, out, std::not_equal_to<>{});
    case Prim::flt:
      return float_test(a, b, out, std::less<>{});
    case Prim::fle:
      return float_test(a, b, out, std::less_equal<>{});
    case Prim::iadd:
      return unsigned2(a, b, out, std::plus<>{});
    case Prim::isub:
      return unsigned2(a, b, out, std::minus<>{});
    case Prim::imul:
      return unsigned2(a, b, out, std::multiplies<>{});
    case Prim::iand:
      return unsigned2(a, b, out, std::bit_and<>{});
    case Prim::ior:
      return unsigned2(a, b, out, std::bit_or<>{});
    case Prim::ixor:
      return unsigned2(a, b, out, std::bit_xor<>{});
    case Prim::popcount:
      return with_integer(a.lane, [&](auto t) {
        map1<decltype(t), decltype(t)>(a, out, [](auto x) { return std::popcount(x); });
      });
    // An amount that is too large is unspecified; taking 63 at most keeps it defined.
    case Prim::ishl:
      return unsigned2(a, b, out, [](uint64_t x, uint64_t n) { return x << (n & 63); });
    case Prim::ilshr:
      return unsigned2(a, b, out, [](uint64_t x, uint64_t n) { return x >> (n & 63); });
    case Prim::iashr:
      return signed2(a, b, out, [](int64_t x, int64_t n) { return x >> (n & 63); });
    case Prim::sdiv:
      return signed2(a, b, out, std::divides<>{});
    case Prim::srem:
      return signed2(a, b, out, std::modulus<>{});
    case Prim::udiv:
      return unsigned2(a, b, out, std::divides<>{});
    case Prim::urem:
      return unsigned2(a, b, out, std::modulus<>{});
    case Prim::ieq:
      return unsigned_test(a, b, out, std::equal_to<>{});
    case Prim::ine:
      return unsigned_test(a, b, out, std::not_equal_to<>{});
    case Prim::slt:
      return signed_test(a, b, out, std::less<>{});
    case Prim::sle:
      return signed_test(a, b, out, std::less_equal<>{});
    case Prim::ult:
      return unsigned_test(a, b, out, std::less<>{});
    case Prim::ule:
      return unsigned_test(a, b, out, std::less_equal<>{});
    case Prim::select:
      return select_lanes(a, b, c, out);
    case Prim::round_f16:
      return map1<float, float>(a, out, [](float x) { return f16_to_f32(f32_to_f16(x)); });
    case Prim::round_bf16:
      return map1<float, float>(a, out, [](float x) { return bf16_to_f32(f32_to_bf16(x)); });
  }
}

void resize_integers(const Column& from, Column& to, bool is_signed) {
  with_integer(from.lane, [&](auto source) {
    with_integer(to.lane, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const uint64_t mask = to.lane == Lane::i1 ? 1 : ~uint64_t{0};
      map1<From, To>(from, to, [&](From x) {
        const uint64_t wide = is_signed ? static_cast<uint64_t>(as_signed(x)) : x;
        return wide & mask;
      });
    });
  });
}

void integers_to_floats(const Column& from, Column& to, bool is_signed) {
  with_integer(from.lane, [&](auto source) {
    with_float(to.lane, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      map1<From, To>(from, to,
                     [&](From x) { return is_signed ? static_cast<To>(as_signed(x)) : static_cast<To>(x); });
    });
  });
}

void floats_to_integers(const Column& from, Column& to) {
  with_float(from.lane, [&](auto source) {
    using From = decltype(source);
    if (to.lane == Lane::i32) {
      map1<From, int32_t>(from, to, truncate<int32_t, From>);
    } else if (to.lane == Lane::i64) {
      map1<From, int64_t>(from, to, truncate<int64_t, From>);
    } else {
      throw InternalError("fptosi gives i32 or i64");
    }
  });
}

}  // namespace

Scalar ColumnBuilder::put(Column column) {
  columns_.push_back(std::move(column));
  return static_cast<Scalar>(columns_.size() - 1);
}

Scalar ColumnBuilder::constant_bits(Lane lane, uint64_t bits) {
  Column out(lane, size_);
  const size_t width = bytes_of(lane);
  for (size_t i = 0; i < size_; ++i) std::memcpy(out.bytes.data() + i * width, &bits, width);
  return put(std::move(out));
}

Scalar ColumnBuilder::prim(Prim prim, std::span<const Scalar> operands) {
  const Column& a = column(operands[0]);
  const Column& b = operands.size() > 1 ? column(operands[1]) : a;
  const Column& c = operands.size() > 2 ? column(operands[2]) : a;
  Column out(gives_i1(prim) ? Lane::i1 : lane(operands.back()), size_);
  if (a.lane != b.lane && prim != Prim::select) {
    throw InternalError(std::string(name_of(prim)) + ": operands have different lanes");
  }
  run(prim, a, b, c, out);
  return put(std::move(out));
}

Scalar ColumnBuilder::cast(Cast cast, Scalar value, Lane to) {
  const Column& from = column(value);
  Column out(to, size_);
  switch (cast) {
    case Cast::sext:
      resize_integers(from, out, true);
      break;
    case Cast::zext:
    case Cast::trunc:
      resize_integers(from, out, false);
      break;
    case Cast::sitofp:
      integers_to_floats(from, out, true);
      break;
    case Cast::uitofp:
      integers_to_floats(from, out, false);
      break;
    case Cast::fptosi:
      floats_to_integers(from, out);
      break;
    case Cast::fpext:
      map1<float, double>(from, out, [](float x) { return x; });
      break;
    case Cast::fptrunc:
      map1<double, float>(from, out, [](double x) { return x; });
      break;
    case Cast::bitcast:
      out.bytes = from.bytes;
      break;
    case Cast::f64_to_f16_value:
      map1<double, float>(from, out, [](double x) { return f16_to_f32(f64_to_f16(x)); });
      break;
    case Cast::f64_to_bf16_value:
      map1<double, float>(from, out, [](double x) { return bf16_to_f32(f64_to_bf16(x)); });
      break;
  }
  return put(std::move(out));
}

Scalar ColumnBuilder::call(const LibmFunction& function, std::span<const Scalar> operands) {
  const Column& a = column(operands[0]);
  const Column& b = column(operands.back());
  Column out(function.lane, size_);
  if (function.lane == Lane::f32) {
    if (function.arity == 1) {
      map1<float, float>(a, out, reinterpret_cast<Libm1F32>(function.address));
    } else {
      map2<float, float>(a, b, out, reinterpret_cast<Libm2F32>(function.address));
    }
  } else {
    if (function.arity == 1) {
      map1<double, double>(a, out, reinterpret_cast<Libm1F64>(function.address));
    } else {
      map2<double, double>(a, b, out, reinterpret_cast<Libm2F64>(function.address));
    }
  }
  return put(std::move(out));
}

Scalar ColumnBuilder::lookup(const LookupTable& table, Scalar index) {
  Column out(Lane::f64, size_);
  map1<uint64_t, double>(column(index), out, [&](uint64_t i) { return table[i % table.size()]; });
  return put(std::move(out));
}

Scalar ColumnBuilder::unlikely(Scalar rare, Scalar usual, const std::function<Scalar()>& unusual) {
  const Column& lanes = column(rare);
  const bool any =
      std::any_of(lanes.bytes.begin(), lanes.bytes.end(), [](std::byte x) { return x != std::byte{0}; });
  if (!any) return usual;
  const Scalar other = unusual();
  return prim(Prim::select, {rare, other, usual});
}

}  // namespace tokamak
