#include "library/small_method.h"

#include "library/kernels.h"
#include "library/operand_view.h"
#include "library/packed_method.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

const char* name_of_small(ProductType type) {
  switch (type) {
    case ProductType::f32:
      return "own f32 small";
    case ProductType::f64:
      return "own f64 small";
    case ProductType::i32:
      return "own i32 small";
    case ProductType::i64:
      return "own i64 small";
    case ProductType::bf16:
      break;
  }
  throw InternalError("small products are not computed in this type");
}

class SmallMethod final : public ProductMethod {
 public:
  SmallMethod(ProductType type, const ProductKernels& kernels) : type_(type), kernels_(kernels) {}

  int64_t a_panel() const override { return 1; }
  int64_t b_panel() const override { return 1; }
  int64_t a_panel_bytes() const override { return 0; }
  int64_t b_panel_bytes() const override { return 0; }
  int64_t rows_at_once() const override { return INT64_MAX; }
  int64_t scratch_bytes() const override { return 0; }
  void pack_a(const ProductOperand& /*a*/, int64_t /*first*/, int64_t /*last*/,
              void* /*packed*/) const override {}
  void pack_b(const ProductOperand& /*b*/, int64_t /*first*/, int64_t /*last*/,
              void* /*packed*/) const override {}
  void multiply(const void* /*a*/, const void* /*b*/, int64_t /*rows*/, int64_t /*columns*/, void* /*c*/,
                int64_t /*row_stride*/, void* /*scratch*/) const override {
    throw InternalError("a small product reads its operands where they lie");
  }

  bool reads_in_place() const override { return true; }
  bool takes_batches() const override { return true; }
  void multiply_batch(const ProductOperand& a, const ProductOperand& b, const ProductBatch& batch, void* c,
                      int64_t row_stride) const override {
    const OperandView lhs(a);
    const OperandView rhs(b);
    const bool is_plain = a.dtype == dtype_of(type_) && b.dtype == dtype_of(type_) && is_matrix(lhs) &&
                          is_matrix(rhs) &&
                          (rhs.lines.count == 0 || rhs.lines.stride[0] == kernels_.element_bytes);
    if (!is_plain) throw InternalError("a small product of operands that do not lie in rows");
    kernels_.multiply_small({.a = lhs.data,
                             .b = rhs.data,
                             .c = static_cast<unsigned char*>(c),
                             .rows = lhs.lines.elements,
                             .columns = rhs.lines.elements,
                             .k = lhs.contracted.elements,
                             .a_row = stride_of(lhs.lines),
                             .a_step = stride_of(lhs.contracted),
                             .b_step = stride_of(rhs.contracted),
                             .c_row = row_stride,
                             .count = batch.count,
                             .a_next = batch.a_stride,
                             .b_next = batch.b_stride,
                             .c_next = batch.c_stride});
  }

  const char* name() const override { return name_of_small(type_); }

 private:
  static bool is_matrix(const OperandView& view) {
    return view.bounds == 0 && view.lines.count <= 1 && view.contracted.count <= 1;
  }
  static int64_t stride_of(const ViewAxes& axes) { return axes.count == 0 ? 0 : axes.stride[0]; }

  ProductType type_;
  const ProductKernels& kernels_;
};

}  // namespace

std::unique_ptr<ProductMethod> small_method(ProductType type, const Cpu& cpu) {
  return std::make_unique<SmallMethod>(type, kernels_for(type, cpu));
}

}  // namespace tokamak
