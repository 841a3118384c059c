#pragma once

// A function over many arguments, in native code, against what it should give.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "exhaustive/functions.h"

namespace tokamak::exhaustive {

/// The elements whose bits are first, first + step, first + 2 step, ...
struct Sweep {
  uint64_t first = 0;
  uint64_t step = 1;
  uint64_t count = 0;
};
/// All elements of a dtype of up to 32 bits, or as many of them, spread evenly.
Sweep sweep_over(DType dtype, std::optional<uint64_t> sample);

/// What elements a function is tried with, or numbers that are rounded to its dtype.
using Arguments = std::variant<Sweep, std::vector<double>>;

struct Effort {
  int jobs = 1;
  /// Of so many results one is judged by MPFR whatever it is, besides the worst of a block where that is
  /// worse than all before. 1: all are.
  uint64_t exact_every = 65536;
};

struct Finding {
  uint64_t values = 0;
  double max_ulp = 0;        ///< by MPFR
  double at = 0;             ///< the argument where that is
  double result = 0;         ///< and what came out
  uint64_t wrong = 0;        ///< of a function that is exact: results that are not what they should be
  double reference_ulp = 0;  ///< how far the quick reference was from MPFR at most, in units of the result
  uint64_t judged_exactly = 0;

  void add(const Finding& other);
};

/// Tells how far it has come on stderr.
Finding measure(const Function& function, const Arguments& arguments, const Effort& effort);

/// Whether results of adjacent arguments of a dtype of 16 bits are in the order of the true values: the pair
/// that is not.
struct Inversion {
  double left;
  double right;
};
std::optional<Inversion> find_inversion(const Function& function);

}  // namespace tokamak::exhaustive
