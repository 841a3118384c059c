// Four operations on arrays of a million elements become one kernel: one pass over memory.
#include <tokamak/tokamak.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace tk = tokamak;

int main() {
  constexpr int64_t kCount = 1'000'000;
  const std::vector<double> weights(kCount, 2.0);
  const std::vector<double> inputs(kCount, 0.25);
  const std::vector<double> biases(kCount, -0.125);
  const tk::Array w = tk::Array::from(weights, {kCount});
  const tk::Array x = tk::Array::from(inputs, {kCount});
  const tk::Array b = tk::Array::from(biases, {kCount});

  auto f = tk::jit([](tk::Array w, tk::Array x, tk::Array b) { return tk::sum(tk::relu(w * x + b)); });
  const double total = f(w, x, b).item<double>();
  const size_t kernels = f.explain(w, x, b).kernels().size();
  std::printf("sum(relu(w * x + b)) = %g, in %zu kernel(s)\n", total, kernels);

  const bool as_expected = total == kCount * 0.375 && kernels == 1;
  return as_expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
