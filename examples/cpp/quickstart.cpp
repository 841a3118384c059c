// Compiles relu(w * x + b).sum() into one kernel, runs it, and asks what it became.

#include <tokamak/tokamak.h>
#include <iostream>

namespace tk = tokamak;

int main() {
  const tk::Array w = tk::linspace(-1, 1, 8'000'000);
  const tk::Array x = tk::linspace(0, 2, 8'000'000);
  const tk::Array b = tk::full({8'000'000}, 0.5);

  auto f = tk::jit([](tk::Array w, tk::Array x, tk::Array b) { return tk::sum(tk::relu(w * x + b)); });

  std::cout << "sum: " << f(w, x, b).item<double>() << "\n";
  std::cout << "kernels: " << f.explain(w, x, b).kernels().size() << "\n";
}
