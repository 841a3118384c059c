#include "library/product.h"

#include <algorithm>
#include <string>

#include "library/packed_method.h"
#include "library/small_method.h"
#include "library/vector_method.h"
#include "library/winograd_method.h"
#include "tokamak/errors.h"

namespace tokamak {

ProductType product_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::u8:
    case DType::u16:
    case DType::u32:
      return ProductType::i32;
    case DType::i64:
    case DType::u64:
      return ProductType::i64;
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return ProductType::f32;
    case DType::f64:
      return ProductType::f64;
  }
  throw InternalError("unknown dtype");
}

DType dtype_of(ProductType type) {
  switch (type) {
    case ProductType::f32:
      return DType::f32;
    case ProductType::f64:
      return DType::f64;
    case ProductType::i32:
      return DType::i32;
    case ProductType::i64:
      return DType::i64;
    case ProductType::bf16:
      return DType::bf16;
  }
  throw InternalError("unknown product type");
}

DType sum_dtype_of(ProductType type) { return type == ProductType::bf16 ? DType::f32 : dtype_of(type); }

bool multiplies_bf16(const Cpu& cpu) { return cpu.avx512_bf16 && cpu.avx512 && cpu.vector_bytes >= 64; }

namespace {

/// More rows or columns pay for the packing of the others.
constexpr int64_t kMostSmallLines = 64;
/// And more results than these, where the second operand does not stay in the first cache.
constexpr int64_t kFewResults = 512;

[[noreturn]] void cannot(const ProductMethod& method) {
  throw InternalError(std::string(method.name()) + " does not take operands of this kind");
}

}  // namespace

void ProductMethod::multiply_in_place(const ProductOperand& /*a*/, const ProductOperand& /*b*/,
                                      int64_t /*first*/, int64_t /*columns*/, void* /*c*/,
                                      void* /*scratch*/) const {
  cannot(*this);
}

void ProductMethod::multiply_batch(const ProductOperand& /*a*/, const ProductOperand& /*b*/,
                                   const ProductBatch& /*batch*/, void* /*c*/, int64_t /*row_stride*/) const {
  cannot(*this);
}

void ProductMethod::multiply_adding(const void* /*a*/, const void* /*b*/, int64_t /*rows*/,
                                    int64_t /*columns*/, void* /*c*/, int64_t /*row_stride*/) const {
  cannot(*this);
}

void ProductMethod::multiply_below_diagonal(const void* /*a*/, const void* /*b*/, int64_t /*rows*/,
                                            int64_t /*columns*/, void* /*c*/, int64_t /*row_stride*/,
                                            bool /*add*/) const {
  cannot(*this);
}

void ProductMethod::multiply_rows(const void* /*a*/, int64_t /*a_row_stride*/, const void* /*b*/,
                                  int64_t /*rows*/, int64_t /*columns*/, void* /*c*/, int64_t /*row_stride*/,
                                  void* /*scratch*/) const {
  cannot(*this);
}

double ProductMethod::largest_of_a(const void* /*packed*/, int64_t /*panels*/) const { cannot(*this); }
double ProductMethod::largest_of_b(const void* /*packed*/, int64_t /*panels*/) const { cannot(*this); }

void ProductMethod::multiply_part(const void* /*a*/, int64_t /*a_row_stride*/, const void* /*b*/,
                                  int64_t /*first_k*/, int64_t /*last_k*/, int64_t /*rows*/,
                                  int64_t /*columns*/, void* /*c*/, int64_t /*row_stride*/) const {
  cannot(*this);
}

void ProductMethod::multiply_packing(const void* /*a*/, int64_t /*a_row_stride*/, const ProductOperand& /*b*/,
                                     int64_t /*first*/, void* /*packed*/, int64_t /*rows*/,
                                     int64_t /*columns*/, void* /*c*/, int64_t /*row_stride*/) const {
  cannot(*this);
}

void ProductMethod::pack_windows(const ProductOperand& /*b*/, int64_t /*first*/, int64_t /*columns*/,
                                 void* /*packed*/) const {
  cannot(*this);
}

void ProductMethod::multiply_windows(const void* /*a*/, const ProductOperand& /*b*/, void* /*packed*/,
                                     int64_t /*first*/, int64_t /*rows*/, int64_t /*columns*/, void* /*c*/,
                                     int64_t /*row_stride*/) const {
  cannot(*this);
}

void pack_steps(const ProductMethod& method, bool is_lhs, const ProductOperand& steps, void* packed) {
  auto pack = [&](const ProductOperand& operand, int64_t first, int64_t last, std::byte* to) {
    is_lhs ? method.pack_a(operand, first, last, to) : method.pack_b(operand, first, last, to);
  };
  const int64_t width = is_lhs ? method.a_panel() : method.b_panel();
  const int64_t panel_bytes = is_lhs ? method.a_panel_bytes() : method.b_panel_bytes();
  const int64_t panels = (steps.lines[0].extent + width - 1) / width;
  const int64_t before = steps.contracted[0].extent - 1;
  auto* to = static_cast<std::byte*>(packed);
  // Panels that are packed side by side overwrite a part of the step behind. After the last it is another's,
  // so that one is packed panel by panel.
  ProductOperand part = steps;
  part.contracted[0].extent = before;
  if (before > 0) pack(part, 0, panels, to);
  part.contracted[0].extent = 1;
  part.data = static_cast<const std::byte*>(steps.data) + before * steps.contracted[0].stride;
  to += before * (is_lhs ? method.a_step_bytes() : method.b_step_bytes());
  for (int64_t panel = 0; panel < panels; ++panel) pack(part, panel, panel + 1, to + panel * panel_bytes);
}

std::unique_ptr<const ProductMethod> make_product_method(const ProductChoice& choice, const Cpu& cpu) {
  const auto& [kind, type, rows, columns, k, picture] = choice;
  std::unique_ptr<ProductMethod> method;
  switch (kind) {
    case ProductChoice::Kind::vector:
      method = vector_method(type, k, cpu);
      break;
    case ProductChoice::Kind::packed:
      method = packed_method(type, rows, columns, k, cpu);
      break;
    case ProductChoice::Kind::small:
      method = small_method(type, cpu);
      break;
    case ProductChoice::Kind::windowed:
      method = winograd_method(type, rows, picture, cpu);
      break;
  }
  method->choice = choice;
  return method;
}

std::unique_ptr<const ProductMethod> choose_product_method(ProductType type, int64_t rows, int64_t columns,
                                                           int64_t k, bool b_stays_packed, const Cpu& cpu) {
  using Kind = ProductChoice::Kind;
  const bool is_float = type == ProductType::f32 || type == ProductType::f64;
  const Kind kind = rows == 1 && is_float && !b_stays_packed ? Kind::vector : Kind::packed;
  return make_product_method({.kind = kind, .type = type, .rows = rows, .columns = columns, .k = k}, cpu);
}

std::unique_ptr<const ProductMethod> choose_small_method(ProductType type, int64_t rows, int64_t columns,
                                                         int64_t k, const Cpu& cpu) {
  const int64_t b_bytes = k * columns * static_cast<int64_t>(size_of(dtype_of(type)));
  const bool stays = b_bytes <= cpu.l1_bytes * 3 / 16;
  if (std::max(rows, columns) > kMostSmallLines || (!stays && rows * columns > kFewResults)) return nullptr;
  return make_product_method(
      {.kind = ProductChoice::Kind::small, .type = type, .rows = rows, .columns = columns, .k = k}, cpu);
}

}  // namespace tokamak
