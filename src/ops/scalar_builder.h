#pragma once

// Scalar code, written once.
//
// An op's meaning on one element is a function over a ScalarBuilder. The LLVM emitter implements the builder
// by emitting vector instructions, the interpreter by computing on whole columns of elements, the cost model
// by counting. All three therefore do the same arithmetic, and native code and interpreter agree to the bit.

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>

#include "tokamak/types.h"

namespace tokamak {

/// What one lane of a register holds. Signedness is in the operation. f16 and bf16 elements are f32 lanes
/// whose value is representable in the narrow type.
enum class Lane : uint8_t { i1, i8, i16, i32, i64, f32, f64 };

Lane lane_of(DType dtype);
int bits_of(Lane lane);
inline bool is_float(Lane lane) { return lane == Lane::f32 || lane == Lane::f64; }

/// Machine operations. Float ones are IEEE with round to nearest even; none traps. On i1 lanes (false is 0,
/// true is 1) there are iand, ior, ixor, ieq, ine, ult, ule and select.
// clang-format off
#define TOKAMAK_PRIMS(PRIM)                                                                                 \
  /* float -> same float */                                                                                 \
  PRIM(fadd, 2) PRIM(fsub, 2) PRIM(fmul, 2) PRIM(fdiv, 2) PRIM(fsqrt, 1) PRIM(fneg, 1) PRIM(fabs, 1)        \
  PRIM(fcopysign, 2) PRIM(ffloor, 1) PRIM(fceil, 1) PRIM(ftrunc, 1) PRIM(fround_even, 1)                    \
  PRIM(fma, 3) /* one rounding; only where has_fma() */                                                     \
  PRIM(fscale, 2) /* x * 2^floor(n), one rounding; only where has_scale() */                                \
  /* float -> i1; false when an operand is NaN, except fne, which is then true */                           \
  PRIM(feq, 2) PRIM(fne, 2) PRIM(flt, 2) PRIM(fle, 2)                                                       \
  /* integer -> same integer, wrapping */                                                                   \
  PRIM(iadd, 2) PRIM(isub, 2) PRIM(imul, 2) PRIM(iand, 2) PRIM(ior, 2) PRIM(ixor, 2) PRIM(popcount, 1)      \
  PRIM(ishl, 2) PRIM(ilshr, 2) PRIM(iashr, 2) /* the amount must be below the width */                      \
  PRIM(sdiv, 2) PRIM(udiv, 2) PRIM(srem, 2) PRIM(urem, 2) /* never by 0, never INT_MIN / -1 */              \
  /* integer -> i1 */                                                                                       \
  PRIM(ieq, 2) PRIM(ine, 2) PRIM(slt, 2) PRIM(sle, 2) PRIM(ult, 2) PRIM(ule, 2)                             \
  /* (i1, x, x) -> x */                                                                                     \
  PRIM(select, 3)                                                                                           \
  /* f32 -> f32: to the nearest f16 / bf16 and back */                                                      \
  PRIM(round_f16, 1) PRIM(round_bf16, 1)
// clang-format on

enum class Prim : uint8_t {
#define PRIM(name, arity) name,
  TOKAMAK_PRIMS(PRIM)
#undef PRIM
};
inline constexpr size_t kPrimCount = 0
#define PRIM(name, arity) +1
    TOKAMAK_PRIMS(PRIM)
#undef PRIM
    ;
const char* name_of(Prim prim);
bool gives_i1(Prim prim);  ///< comparisons; every other prim gives the lane of its last operand

/// Conversions between lanes.
enum class Cast : uint8_t {
  sext,    ///< integer to wider integer
  zext,    ///< integer (or i1) to wider integer
  trunc,   ///< integer to narrower integer; to i1 it keeps the low bit
  sitofp,  ///< signed integer to float
  uitofp,  ///< unsigned integer to float
  fptosi,  ///< float to signed integer; the value must fit (clamp first: otherwise the result is unspecified)
  fpext,   ///< f32 to f64
  fptrunc,            ///< f64 to f32
  bitcast,            ///< between i32 and f32, i64 and f64
  f64_to_f16_value,   ///< f64 to an f32 lane holding the nearest f16, rounded once
  f64_to_bf16_value,  ///< f64 to an f32 lane holding the nearest bf16, rounded once
};

/// Scalar functions of the C library, called once per lane. For what is rare: they are right, and slow.
using Libm1F32 = float (*)(float);
using Libm1F64 = double (*)(double);
using Libm2F32 = float (*)(float, float);
using Libm2F64 = double (*)(double, double);
struct LibmFunction {
  const char* name;  ///< the symbol generated code binds to, such as "sinf"
  Lane lane;
  int arity;
  void* address;
};

/// What `lookup` chooses from: as many doubles as a register of AVX-512 holds. One of AVX2 holds half of
/// each.
using LookupTable = std::array<double, 8>;

/// A value made by one builder. Handles of one builder mean nothing to another.
enum class Scalar : uint32_t {};

class ScalarBuilder {
 public:
  virtual ~ScalarBuilder() = default;

  virtual Lane lane(Scalar value) const = 0;
  /// Whether Prim::fma is one instruction here. mul_add uses it; exactness tricks must ask.
  virtual bool has_fma() const = 0;
  /// Whether Prim::fscale is one instruction here. What it gives can be had without it, to the bit.
  virtual bool has_scale() const { return false; }

  virtual Scalar constant_bits(Lane lane, uint64_t bits) = 0;
  virtual Scalar prim(Prim prim, std::span<const Scalar> operands) = 0;
  virtual Scalar cast(Cast cast, Scalar value, Lane to) = 0;
  virtual Scalar call(const LibmFunction& function, std::span<const Scalar> operands) = 0;
  /// The entry of the table that the lowest three bits of an i64 say, as f64.
  virtual Scalar lookup(const LookupTable& table, Scalar index) = 0;
  /// `usual` where `rare` does not hold, the value `unusual` makes where it does. The code of `unusual` runs
  /// only when some lane needs it; it may use any scalar made before.
  virtual Scalar unlikely(Scalar rare, Scalar usual, const std::function<Scalar()>& unusual) = 0;

  // Shorthand over the virtual functions above.
  Scalar prim(Prim p, std::initializer_list<Scalar> operands) {
    return prim(p, std::span<const Scalar>(operands.begin(), operands.size()));
  }
  Scalar constant(Lane lane, double value);      ///< float lanes
  Scalar integer(Lane lane, int64_t value);      ///< integer lanes
  Scalar mul_add(Scalar a, Scalar b, Scalar c);  ///< a*b+c, fused where the machine can
};

}  // namespace tokamak
