#pragma once

// True values of functions of one float, many at once, to about 2^-50 of themselves: quick, and far more than
// it takes to judge floats of up to 32 bits. MPFR (math/reference.h) judges where this does not decide.

#include <span>
#include <string_view>

namespace tokamak::exhaustive {

/// Arguments come in multiples of this.
inline constexpr size_t kReferenceWidth = 4;

struct Limits {
  double low;
  double high;
};

struct Reference {
  using Block = void (*)(std::span<const double> x, std::span<double> wanted);

  std::string_view name;
  Block block;
  Limits domain;      ///< outside of it the function is no number
  Limits meaningful;  ///< beyond it, the result is that at its end for all formats of up to 32 bits

  /// Of arguments that an f32 holds.
  void operator()(std::span<const double> x, std::span<double> wanted) const;
};

/// Null where there is none.
const Reference* reference_named(std::string_view name);

}  // namespace tokamak::exhaustive
