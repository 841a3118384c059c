#include "library/vector_method.h"

#include "library/kernels.h"
#include "library/operand_view.h"
#include "library/pack.h"
#include "library/packed_method.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

bool holds(const OperandView& view, const AxisWalk& line, const AxisWalk& k) {
  for (int i = 0; i < view.bounds; ++i) {
    const int64_t at = view.bound_offset[i] + line.bound(i) + k.bound(i);
    if (at < 0 || at >= view.bound_extent[i]) return false;
  }
  return true;
}

/// Line `number` of an operand, converted, as neighbours in memory.
template <class T>
void copy_line(const OperandView& view, const VectorKernels& loops, int64_t number, T* to) {
  const T one = 1;
  AxisWalk line(view.lines, view.lines.count, view.bounds);
  line.seek(number);
  const ViewAxes& axes = view.contracted;
  AxisWalk along(axes, axes.count, view.bounds);
  along.seek(0);
  const int64_t stride = axes.count == 0 ? 0 : axes.stride[axes.count - 1];
  for (int64_t i = 0; i < axes.elements;) {
    // Runs of elements at equal distances; with bounds, one at a time.
    const int64_t run = view.bounds == 0 ? along.left() : 1;
    if (holds(view, line, along)) {
      loops.along_k(&one, view.data + line.offset() + along.offset(), stride, run, 1, to + i);
    } else {
      to[i] = 0;
    }
    i += run;
    along.skip(run);
  }
}

/// Whether the first line needs no copy: its elements are neighbours in memory, and of type T.
template <class T>
bool is_plain_line(const OperandView& view, DType dtype) {
  const ViewAxes& axes = view.contracted;
  return dtype == (sizeof(T) == sizeof(float) ? DType::f32 : DType::f64) && view.bounds == 0 &&
         (axes.count == 0 || (axes.count == 1 && axes.stride[0] == static_cast<int64_t>(sizeof(T))));
}

template <class T>
class VectorMethod final : public ProductMethod {
 public:
  VectorMethod(int64_t k, const ProductKernels& kernels) : k_(k), kernels_(kernels) {}

  int64_t a_panel() const override { return 1; }
  int64_t b_panel() const override { return 1; }
  int64_t a_panel_bytes() const override { return 0; }
  int64_t b_panel_bytes() const override { return 0; }
  int64_t rows_at_once() const override { return 1; }
  int64_t scratch_bytes() const override { return 2 * padded_bytes(); }
  void pack_a(const ProductOperand& /*a*/, int64_t /*first*/, int64_t /*last*/,
              void* /*packed*/) const override {}
  void pack_b(const ProductOperand& /*b*/, int64_t /*first*/, int64_t /*last*/,
              void* /*packed*/) const override {}
  void multiply(const void* /*a*/, const void* /*b*/, int64_t /*rows*/, int64_t /*columns*/, void* /*c*/,
                int64_t /*row_stride*/, void* /*scratch*/) const override {
    throw InternalError("a vector product reads its operands where they lie");
  }

  bool reads_in_place() const override { return true; }
  void multiply_in_place(const ProductOperand& a, const ProductOperand& b, int64_t first, int64_t columns,
                         void* c, void* scratch) const override {
    if (k_ == 0 || columns == 0) {
      for (int64_t j = 0; j < columns; ++j) static_cast<T*>(c)[j] = 0;
      return;
    }
    const OperandView lhs(a);
    const void* vector = scratch;
    if (is_plain_line<T>(lhs, a.dtype)) {
      vector = lhs.data;
    } else {
      copy_line(lhs, *kernels_.vector(stored_as(a.dtype)), 0, static_cast<T*>(scratch));
    }
    const OperandView rhs(b);
    const VectorKernels* loops = kernels_.vector(stored_as(b.dtype));
    const auto size = static_cast<int64_t>(size_of(b.dtype));
    const bool one_axis_each = rhs.bounds == 0 && rhs.lines.count <= 1 && rhs.contracted.count <= 1;
    const int64_t line_stride = rhs.lines.count == 1 ? rhs.lines.stride[0] : 0;
    const int64_t step_stride = rhs.contracted.count == 1 ? rhs.contracted.stride[0] : size;
    if (one_axis_each && step_stride == size) {
      loops->along_k(vector, rhs.data + first * line_stride, line_stride, columns, k_, c);
    } else if (one_axis_each && line_stride == size) {
      loops->along_lines(vector, rhs.data + first * size, step_stride, columns, k_, c);
    } else {
      auto* line = reinterpret_cast<T*>(static_cast<unsigned char*>(scratch) + padded_bytes());
      const VectorKernels* plain = kernels_.vector(sizeof(T) == sizeof(float) ? Stored::f32 : Stored::f64);
      for (int64_t j = 0; j < columns; ++j) {
        copy_line(rhs, *loops, first + j, line);
        plain->along_k(vector, reinterpret_cast<const unsigned char*>(line), 0, 1, k_,
                       static_cast<T*>(c) + j);
      }
    }
  }

  const char* name() const override {
    return sizeof(T) == sizeof(float) ? "own f32 vector" : "own f64 vector";
  }

 private:
  int64_t padded_bytes() const { return (k_ * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64; }

  int64_t k_;
  const ProductKernels& kernels_;
};

}  // namespace

std::unique_ptr<ProductMethod> vector_method(ProductType type, int64_t k, const Cpu& cpu) {
  const ProductKernels& kernels = kernels_for(type, cpu);
  if (type == ProductType::f32) return std::make_unique<VectorMethod<float>>(k, kernels);
  return std::make_unique<VectorMethod<double>>(k, kernels);
}

}  // namespace tokamak
