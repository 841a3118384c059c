#include <cmath>

#include "library/product_fixture.h"

namespace tokamak {
namespace {

/// A matrix of lines whose elements are neighbours along k.
template <class T>
ProductOperand lines_of(const std::vector<T>& elements, int64_t lines, int64_t k) {
  const auto size = static_cast<int64_t>(sizeof(T));
  const DType dtype = sizeof(T) == 2 ? DType::bf16 : sizeof(T) == 4 ? DType::f32 : DType::f64;
  return {dtype, elements.data(), {{lines, k * size}}, {{k, size}}, {}};
}

/// A number as an element; 16 bits are a bf16.
template <class T>
T element_of(double value) {
  if constexpr (sizeof(T) == 2) {
    const auto single = static_cast<float>(value);
    return static_cast<T>(testing::read_as<uint32_t>(&single) >> 16);
  } else {
    return static_cast<T>(value);
  }
}

/// Of elements T, summed as Sum.
template <class T, class Sum>
void check_parts(ProductType type, int64_t m, int64_t n, int64_t k, int64_t first, int64_t last) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<T> a(static_cast<size_t>(m * k));
  std::vector<T> b(static_cast<size_t>(n * k));
  for (size_t i = 0; i < a.size(); ++i) {
    const auto at = static_cast<int64_t>(i) % k;
    a[i] = at < first || at >= last ? T{} : element_of<T>(std::abs(normal(random)));
  }
  for (T& element : b) element = element_of<T>(normal(random));
  const ProductOperand rows = lines_of(a, m, k);
  const ProductOperand columns = lines_of(b, n, k);
  for (const Cpu& cpu : runnable_cpus()) {
    if (type == ProductType::bf16 && !multiplies_bf16(cpu)) continue;
    const auto method = packed_method(type, m, n, k, cpu);
    ASSERT_TRUE(method->takes_part_of_k());
    const Packed packed_a(*method, rows, true);
    const Packed packed_b(*method, columns, false);
    const int64_t row_bytes = n * static_cast<int64_t>(sizeof(Sum));
    std::vector<Sum> all(static_cast<size_t>(m * n));
    std::vector<Sum> part(all.size());
    method->multiply(packed_a.memory.get(), packed_b.memory.get(), m, n, all.data(), row_bytes, nullptr);
    method->multiply_part(packed_a.memory.get(), 0, packed_b.memory.get(), first, last, m, n, part.data(),
                          row_bytes);
    EXPECT_EQ(all, part) << cpu.name << " " << first << " to " << last << " of " << k;
    if (!method->takes_rows()) continue;
    std::fill(part.begin(), part.end(), Sum{7});
    method->multiply_part(a.data(), method->row_stride_of(rows), packed_b.memory.get(), first, last, m, n,
                          part.data(), row_bytes);
    EXPECT_EQ(all, part) << cpu.name << " in rows, " << first << " to " << last << " of " << k;
  }
}

TEST(PartOfK, HasTheBitsOfAllWhereTheRestIsZeros) {
  constexpr int64_t kK = 2300;  // several blocks
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 1},
                                    {0, 700},
                                    {0, 2300},
                                    {128, 129},
                                    {384, 1200},
                                    {1000, 2300},
                                    {2299, 2300}}) {
    for (int64_t m : {2, 13, 60}) {
      check_parts<float, float>(ProductType::f32, m, 40, kK, first, last);
      check_parts<double, double>(ProductType::f64, m, 9, kK, first, last);
      check_parts<uint16_t, float>(ProductType::bf16, m, 40, kK, first, last);
      check_parts<uint16_t, float>(ProductType::bf16, m, 40, kK + 1, first, last);
    }
  }
}

template <class T>
void check_largest(ProductType type) {
  constexpr int64_t kLines = 21;
  constexpr int64_t kK = 35;
  std::vector<T> elements(static_cast<size_t>(kLines * kK), element_of<T>(1));
  for (const Cpu& cpu : runnable_cpus()) {
    if (type == ProductType::bf16 && !multiplies_bf16(cpu)) continue;
    for (const double value : {-3.5, 2.0, 0.5, -static_cast<double>(INFINITY), std::nan("")}) {
      for (size_t at : {size_t{0}, elements.size() / 2, elements.size() - 1}) {
        std::vector<T> changed = elements;
        changed[at] = element_of<T>(value);
        const double want = std::isfinite(value) ? std::max(1.0, std::abs(value)) : INFINITY;
        const ProductOperand operand = lines_of(changed, kLines, kK);
        const auto method = packed_method(type, kLines, kLines, kK, cpu);
        const Packed a(*method, operand, true);
        const Packed b(*method, operand, false);
        auto panels = [](int64_t lines) { return (kLines + lines - 1) / lines; };
        EXPECT_EQ(method->largest_of_a(a.memory.get(), panels(method->a_panel())), want) << cpu.name;
        EXPECT_EQ(method->largest_of_b(b.memory.get(), panels(method->b_panel())), want) << cpu.name;
      }
    }
  }
}

TEST(Largest, IsThatOfAllPanels) {
  check_largest<float>(ProductType::f32);
  check_largest<double>(ProductType::f64);
  check_largest<uint16_t>(ProductType::bf16);
}

}  // namespace
}  // namespace tokamak
