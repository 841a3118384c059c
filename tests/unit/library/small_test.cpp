#include "library/small_method.h"

#include "library/product_fixture.h"

namespace tokamak {
namespace {

constexpr int64_t kRows[] = {1, 4, 7, 8, 13, 20};
constexpr int64_t kColumns[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 25, 31, 32, 33, 48, 64};
constexpr int64_t kDepths[] = {0, 1, 2, 7, 20};

class Small : public Product {
 protected:
  void check_small(const ProductOperand& a, const ProductOperand& b) {
    const ProductType type = product_type(a.dtype);
    for (const Cpu& cpu : runnable_cpus()) {
      const auto method = small_method(type, cpu);
      Result c(type, elements_of(a.lines), elements_of(b.lines));
      method->multiply_batch(a, b, {1, 0, 0, 0}, c.bytes.data(), c.row_stride);
      check(type, a, b, c, cpu.name + " " + method->name() + ", " + describe(a) + " by " + describe(b));
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(Small, OfAllSizes) {
  bool k_is_inner = false;
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (int64_t m : kRows) {
      for (int64_t n : kColumns) {
        for (int64_t k : kDepths) {
          k_is_inner = !k_is_inner;
          check_small(matrix(dtype, m, k, k_is_inner), matrix(dtype, n, k, n == 1));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(Small, OfManySteps) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (int64_t k : {127, 128, 129, 300}) {
      for (int64_t n : kColumns) {
        check_small(matrix(dtype, 9, k, false), matrix(dtype, n, k, n == 1));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Small, ThroughStrides) {
  for (bool backwards : {false, true}) {
    const ProductOperand a = operand(DType::f32, {13, 9}, 1, {0, 1}, {backwards, !backwards}, 2);
    const ProductOperand b = operand(DType::f32, {20, 9}, 1, {1, 0}, {false, backwards}, 3);
    check_small(a, b);
  }
}

TEST_F(Small, OfABatch) {
  constexpr int64_t kCount = 5;
  const ProductOperand a = operand(DType::f32, {kCount * 9, 7}, 1, {0, 1});
  const ProductOperand b = operand(DType::f32, {11, kCount * 7}, 1, {1, 0});
  for (const Cpu& cpu : runnable_cpus()) {
    const auto method = small_method(ProductType::f32, cpu);
    Result all(ProductType::f32, kCount * 9, 11);
    auto element = [](ProductOperand operand, int64_t rows, int64_t offset) {
      (operand.lines[0].extent > operand.contracted[0].extent ? operand.lines : operand.contracted)[0]
          .extent = rows;
      operand.data = static_cast<const unsigned char*>(operand.data) + offset;
      return operand;
    };
    const int64_t a_stride = 9 * a.lines[0].stride;
    const int64_t b_stride = 7 * b.contracted[0].stride;
    method->multiply_batch(element(a, 9, 0), element(b, 7, 0),
                           {kCount, a_stride, b_stride, 9 * all.row_stride}, all.bytes.data(),
                           all.row_stride);
    for (int64_t i = 0; i < kCount; ++i) {
      Result one(ProductType::f32, 9, 11);
      std::memcpy(one.bytes.data(), all.at(9 * i, 0), static_cast<size_t>(9 * all.row_stride));
      check(ProductType::f32, element(a, 9, i * a_stride), element(b, 7, i * b_stride), one, cpu.name);
    }
  }
}

TEST_F(Small, ChosenWhereOperandsFit) {
  const Cpu cpu = runnable_cpus().front();
  EXPECT_NE(choose_small_method(ProductType::f32, 20, 20, 20, cpu), nullptr);
  EXPECT_EQ(choose_small_method(ProductType::f32, 65, 20, 20, cpu), nullptr);
  EXPECT_EQ(choose_small_method(ProductType::f32, 20, 65, 20, cpu), nullptr);
  EXPECT_NE(choose_small_method(ProductType::f32, 20, 20, 5000, cpu), nullptr);
  EXPECT_EQ(choose_small_method(ProductType::f32, 30, 20, 5000, cpu), nullptr);
}

}  // namespace
}  // namespace tokamak
