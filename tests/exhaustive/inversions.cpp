// Whether results of 16 bits rise and fall as the true function does.

#include <cmath>

#include "exhaustive/measure.h"
#include "exhaustive/one_op.h"

namespace tokamak::exhaustive {
namespace {

constexpr size_t kAll = 1 << 16;
/// Differences that the quick reference cannot be sure of, relative to the values.
constexpr double kDoubt = 1e-12;

/// Arguments, results and true values of all elements, by their bits.
struct Everything {
  std::vector<double> x = std::vector<double>(kAll);
  std::vector<double> got = x;
  std::vector<double> truth = x;

  explicit Everything(const Function& function) {
    const OneOp code(function.op, {&function.operand, 1}, kAll, function.attributes);
    Buffer elements(2 * kAll), results(2 * kAll);
    for (size_t i = 0; i < kAll; ++i)
      reinterpret_cast<uint16_t*>(elements.data())[i] = static_cast<uint16_t>(i);
    const void* operand = elements.data();
    code.run({&operand, 1}, results.data());
    widen(function.operand, elements.data(), x);
    widen(code.result(), results.data(), got);
    (*function.reference)(x, truth);
  }
};

}  // namespace

std::optional<Inversion> find_inversion(const Function& function) {
  const Everything all(function);
  for (size_t i = 0; i + 1 < kAll; ++i) {  // one more is one step away from zero
    const double a = all.x[i], b = all.x[i + 1];
    if (std::isnan(a) || std::isnan(b) || std::signbit(a) != std::signbit(b)) continue;
    const double rise = all.got[i + 1] - all.got[i];
    const double true_rise = all.truth[i + 1] - all.truth[i];
    const double doubt = kDoubt * std::abs(all.truth[i]);
    if (rise == 0 || std::isnan(rise) || (rise > 0 ? true_rise > doubt : true_rise < -doubt)) continue;
    const long double exact_rise = function.truth->exact(b) - function.truth->exact(a);
    if ((rise < 0 && exact_rise > 0) || (rise > 0 && exact_rise < 0)) return Inversion{a, b};
  }
  return std::nullopt;
}

}  // namespace tokamak::exhaustive
