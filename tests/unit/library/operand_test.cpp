// Operands as methods take them: in rows, packed on the way, converted, at the ends of memory.

#include <sys/mman.h>
#include <unistd.h>

#include "library/product_fixture.h"

namespace tokamak {
namespace {

TEST_F(Product, TakesRowsThatAreNotPacked) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::bf16}) {
    for (const Cpu& cpu : runnable_cpus()) {
      for (auto [m, n, k] :
           {std::tuple<int64_t, int64_t, int64_t>{61, 150, 1100}, {5, 40, 7}, {1, 33, 64}, {13, 16, 2}}) {
        const ProductType type = types_for(dtype, dtype, cpu).back();
        if (dtype_of(type) != dtype) continue;
        const ProductOperand a = operand(dtype, {m, k}, 1, {0, 1}, {}, 2);
        const ProductOperand b = matrix(dtype, n, k, false);
        const auto method = packed_method(type, m, n, k, cpu);
        if (!method->takes_rows()) continue;
        const Packed packed_a(*method, a, true);
        const Packed packed_b(*method, b, false);
        Result packed(type, m, n);
        multiply(*method, packed_a.memory.get(), packed_b.memory.get(), m, n, packed);
        Result c(type, m, n);
        method->multiply_rows(a.data, method->row_stride_of(a), packed_b.memory.get(), m, n, c.bytes.data(),
                              c.row_stride, nullptr);
        ASSERT_EQ(c.bytes, packed.bytes) << method->name() << " " << m << "x" << k << "x" << n;
      }
    }
  }
}

TEST_F(Product, TakesRowsOfPairsOnlyWhereTheyAreWhole) {
  for (const Cpu& cpu : runnable_cpus()) {
    if (!multiplies_bf16(cpu)) continue;
    EXPECT_FALSE(packed_method(ProductType::bf16, 64, 64, 33, cpu)->takes_rows());
    const auto method = packed_method(ProductType::bf16, 64, 64, 32, cpu);
    EXPECT_EQ(method->row_stride_of(matrix(DType::bf16, 64, 32, true)), 32 * 2);
    EXPECT_EQ(method->row_stride_of(operand(DType::bf16, {64, 32}, 1, {0, 1}, {}, 1)), 0);
    EXPECT_EQ(method->row_stride_of(matrix(DType::f32, 64, 32, true)), 0);
  }
}

TEST_F(Product, TakesRowsOnlyOfWhatItComputesIn) {
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = packed_method(ProductType::f64, 64, 64, 32, cpu);
    EXPECT_EQ(method->row_stride_of(matrix(DType::f64, 64, 32, true)), 32 * 8);
    EXPECT_EQ(method->row_stride_of(matrix(DType::f64, 64, 32, false)), 0);
    EXPECT_EQ(method->row_stride_of(matrix(DType::f32, 64, 32, true)), 0);
    ProductOperand padded = matrix(DType::f64, 64, 32, true);
    padded.bounds.push_back({-1, {1, 0}, 64});
    EXPECT_EQ(method->row_stride_of(padded), 0);
  }
}

TEST_F(Product, PacksOnTheWay) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (const Cpu& cpu : runnable_cpus()) {
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{61, 150, 1100},
                             {90, 64, 700},
                             {64, 33, 7},
                             {40, 160, 0},
                             {203, 97, 1}}) {
        const ProductType type = product_type(dtype);
        const ProductOperand a = matrix(dtype, m, k, true);
        const ProductOperand b = matrix(dtype, n, k, false);
        const auto method = packed_method(type, m, n, k, cpu);
        if (!method->packs_on_the_way(b, m)) continue;
        const Packed packed_a(*method, a, true);
        const Packed packed_b(*method, b, false);
        const int64_t panel = method->b_panel();
        Result whole(type, m, n);
        multiply(*method, packed_a.memory.get(), packed_b.memory.get(), m, n, whole);
        for (int64_t first : {int64_t{0}, n / panel / 2 * panel, n / 3}) {
          const int64_t columns = n - first;
          const int64_t bytes = std::min<int64_t>(4, (columns + panel - 1) / panel) * method->b_panel_bytes();
          const Memory room = aligned(bytes);
          Result c(type, m, columns);
          method->multiply_packing(packed_a.memory.get(), 0, b, first, room.get(), m, columns, c.bytes.data(),
                                   c.row_stride);
          for (int64_t row = 0; row < m; ++row) {
            ASSERT_EQ(std::memcmp(c.at(row, 0), whole.at(row, first), static_cast<size_t>(columns * c.size)),
                      0)
                << method->name() << " " << m << "x" << k << "x" << n << " from " << first;
          }
          for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(room.get()[bytes + i], 0xff) << "wrote past the panels";
        }
      }
    }
  }
}

TEST_F(Product, PacksOnTheWayOnlyWhereColumnsAreNextToEachOther) {
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = packed_method(ProductType::f32, 64, 64, 64, cpu);
    EXPECT_TRUE(method->packs_on_the_way(matrix(DType::f32, 64, 64, false), 64));
    EXPECT_FALSE(method->packs_on_the_way(matrix(DType::f32, 64, 64, false), 1));
    EXPECT_FALSE(method->packs_on_the_way(matrix(DType::f32, 64, 64, true), 64));
    EXPECT_FALSE(method->packs_on_the_way(matrix(DType::bf16, 64, 64, false), 64));
    ProductOperand padded = matrix(DType::f32, 64, 64, false);
    padded.bounds.push_back({-1, {1, 0}, 64});
    EXPECT_FALSE(method->packs_on_the_way(padded, 64));
  }
}

TEST_F(Product, ConvertsEveryF16) {
  std::vector<uint16_t> values(1 << 16);
  std::iota(values.begin(), values.end(), uint16_t{0});
  const uint16_t one = 0x3c00;
  const ProductOperand a{DType::f16, &one, {{1, 2}}, {{1, 2}}, {}};
  const int64_t n = 1 << 16;
  for (const ProductOperand& b :
       {ProductOperand{DType::f16, values.data(), {{n, 2}}, {{1, 2}}, {}},
        ProductOperand{DType::f16, values.data(), {{256, 2}, {256, 512}}, {{1, 2}}, {}}}) {
    const std::vector<Number> wanted = dense(b);
    for (const Cpu& cpu : runnable_cpus()) {
      const auto method = packed_method(ProductType::f32, 1, n, 1, cpu);
      Result c(ProductType::f32, 1, n);
      multiply(*method, Packed(*method, a, true).memory.get(), Packed(*method, b, false).memory.get(), 1, n,
               c);
      for (int64_t i = 0; i < n; ++i) {
        const double got = testing::read(DType::f32, c.at(0, i)).real;
        if (std::isnan(wanted[i].real)) {
          ASSERT_TRUE(std::isnan(got)) << i;
        } else {
          ASSERT_EQ(got, wanted[i].real) << i;
        }
      }
    }
  }
}

/// Memory with pages before and behind it that cannot be touched.
class Guarded {
 public:
  explicit Guarded(int64_t bytes)
      : page_(sysconf(_SC_PAGESIZE)), inside_((bytes + page_ - 1) / page_ * page_) {
    void* memory = mmap(nullptr, inside_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start_ = static_cast<unsigned char*>(memory) + page_;
    mprotect(start_, inside_, PROT_READ | PROT_WRITE);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(start_ - page_, inside_ + 2 * page_); }

  unsigned char* first() { return start_; }                                ///< right behind the guard
  unsigned char* last(int64_t bytes) { return start_ + inside_ - bytes; }  ///< right before the other

 private:
  size_t page_;
  size_t inside_;
  unsigned char* start_;
};

TEST_F(Product, ReadsOnlyWhatIsThere) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i8, DType::i64}) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    for (int64_t lines : {1, 5, 6, 16, 21, 47}) {
      for (int64_t k : {1, 3, 8, 19}) {
        Guarded memory(lines * k * size);
        for (unsigned char* data : {memory.first(), memory.last(lines * k * size)}) {
          testing::fill(dtype, data, lines * k, random_);
          check_everywhere(matrix(dtype, 7, k, true), {dtype, data, {{lines, size * k}}, {{k, size}}, {}});
          check_everywhere({dtype, data, {{lines, size}}, {{k, size * lines}}, {}},
                           matrix(dtype, 30, k, true));
          check_everywhere(matrix(dtype, 7, k, true),
                           {dtype, data, {{lines, size}}, {{k, size * lines}}, {}});
          if (HasFatalFailure()) return;
        }
      }
    }
    for (const Window& window : kWindows) {
      for (bool channels_last : {false, true}) {
        const int64_t channels = 5;
        const int64_t bytes = channels * window.size * window.size * size;
        Guarded memory(bytes);
        for (unsigned char* data : {memory.first(), memory.last(bytes)}) {
          testing::fill(dtype, data, bytes / size, random_);
          const ProductOperand pixels = windows(dtype, data, 1, channels, window, window, channels_last);
          check_everywhere(matrix(dtype, 3, elements_of(pixels.contracted), true), pixels);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(Product, PacksOnTheWayOnlyWhatIsThere) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    const ProductType type = product_type(dtype);
    const auto size = static_cast<int64_t>(size_of(dtype));
    for (const Cpu& cpu : runnable_cpus()) {
      int checked = 0;
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{16, 64, 1},
                             {37, 32, 19},
                             {70, 67, 40},
                             {33, 96, 1100},
                             {61, 49, 0}}) {
        const auto method = packed_method(type, m, n, k, cpu);
        const ProductOperand a = matrix(dtype, m, k, true);
        const Packed packed_a(*method, a, true);
        Guarded memory(n * std::max<int64_t>(k, 1) * size);
        const int64_t last = std::max<int64_t>(k - 1, 0) * n * size;
        for (unsigned char* data : {memory.first(), memory.last(n * k * size)}) {
          testing::fill(dtype, data, n * k, random_);
          for (const ProductOperand& b : {ProductOperand{dtype, data, {{n, size}}, {{k, n * size}}, {}},
                                          {dtype, data + last, {{n, size}}, {{k, -n * size}}, {}},
                                          {dtype, data, {{n, size}}, {{k, 0}}, {}}}) {
            if (!method->packs_on_the_way(b, m)) continue;
            const Memory room = aligned(4 * method->b_panel_bytes());
            Result c(type, m, n);
            method->multiply_packing(packed_a.memory.get(), 0, b, 0, room.get(), m, n, c.bytes.data(),
                                     c.row_stride);
            check(type, a, b, c, cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b));
            if (HasFatalFailure()) return;
            ++checked;
            if (k == 0) continue;
            Result of_rows(type, m, n);
            method->multiply_packing(a.data, a.lines[0].stride, b, 0, room.get(), m, n, of_rows.bytes.data(),
                                     of_rows.row_stride);
            ASSERT_EQ(of_rows.bytes, c.bytes) << method->name() << " " << m << "x" << k << "x" << n;
          }
        }
      }
      EXPECT_GT(checked, 20) << cpu.name;
    }
  }
}

TEST_F(Product, KeepsWhatIsNotANumberInItsPlace) {
  // Lanes and steps that are filled up must not reach others: infinity times a filler is not a number.
  const std::vector<float> infinities(7 * 9, INFINITY);
  const std::vector<float> ones(19 * 9, 1.0f);
  auto halves = [](const std::vector<float>& floats) {
    std::vector<uint16_t> upper;
    for (float value : floats)
      upper.push_back(static_cast<uint16_t>(testing::read_as<uint32_t>(&value) >> 16));
    return upper;
  };
  const std::vector<uint16_t> short_infinities = halves(infinities);
  const std::vector<uint16_t> short_ones = halves(ones);
  for (const Cpu& cpu : runnable_cpus()) {
    for (DType dtype : {DType::f32, DType::bf16}) {
      const bool is_short = dtype == DType::bf16;
      const int64_t size = is_short ? 2 : 4;
      const void* as = is_short ? static_cast<const void*>(short_infinities.data()) : infinities.data();
      const void* bs = is_short ? static_cast<const void*>(short_ones.data()) : ones.data();
      const ProductOperand a{dtype, as, {{7, 9 * size}}, {{9, size}}, {}};
      const ProductOperand b{dtype, bs, {{19, 9 * size}}, {{9, size}}, {}};
      for (ProductType type : types_for(dtype, dtype, cpu)) {
        const auto method = packed_method(type, 7, 19, 9, cpu);
        Result c(type, 7, 19);
        multiply(*method, Packed(*method, a, true).memory.get(), Packed(*method, b, false).memory.get(), 7,
                 19, c);
        for (int64_t i = 0; i < 7; ++i) {
          for (int64_t j = 0; j < 19; ++j) {
            EXPECT_EQ(testing::read(DType::f32, c.at(i, j)).real, INFINITY) << method->name();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
