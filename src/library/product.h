#pragma once

// Products of blocks of matrices: the arithmetic under every contraction and convolution.
//
//   C[m, n] = sum over k of A[m, k] * B[k, n]
//
// An operand is read where it lies, through any strides, while it is packed into the order in which the inner
// loop wants it. Both operands look alike: A has a line for every row of C, B one for every column; element k
// of a line is what is multiplied. Packing converts to the type that is computed in and supplies zeros
// outside the bounds of a padded array, so that neither transposes, casts nor padding are passes over memory.
//
// Everything here runs on the calling thread; who calls it, on which blocks, is up to the caller. The result
// of a block does not depend on how the others are cut: k is always summed in the same order.

#include <cstdint>
#include <memory>
#include <vector>

#include "support/cpu.h"
#include "tokamak/types.h"

namespace tokamak {

/// What elements are converted to, multiplied and summed in: f32 for f32, bf16 and f16; f64; and wrapping
/// integers of 32 bits (bool, i8 to u32) and 64. C has elements of it. Two operands of bf16 may stay so,
/// where the processor multiplies pairs of them: C is f32 then, too.
enum class ProductType : uint8_t { f32, f64, i32, i64, bf16 };

ProductType product_type(DType dtype);
/// Whether this processor has products of bf16.
bool multiplies_bf16(const Cpu& cpu);
DType dtype_of(ProductType type);
/// What C has.
DType sum_dtype_of(ProductType type);

/// One axis of an operand: how many steps, and how far each is in memory (bytes, may be zero or negative).
struct ProductAxis {
  int64_t extent;
  int64_t stride;
};

/// An element is zero instead of read unless 0 <= offset + sum of coefficient * position < extent, where the
/// positions are those along the line axes, then those along the contracted axes.
struct ProductBound {
  int64_t offset;
  std::vector<int64_t> coefficients;
  int64_t extent;
};

/// An operand as it lies in memory. Lines and k are counted in row-major order over their axes.
struct ProductOperand {
  DType dtype;
  const void* data;  ///< the element at position 0 of every axis (never touched where a bound forbids it)
  std::vector<ProductAxis> lines;
  std::vector<ProductAxis> contracted;
  std::vector<ProductBound> bounds;
};

/// Products of operands that are equally far apart.
struct ProductBatch {
  int64_t count;
  int64_t a_stride;  ///< bytes
  int64_t b_stride;
  int64_t c_stride;
};

/// A B that is windows of 3x3 in steps of one over channels of a picture: where they may be.
struct WindowedPicture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

/// Which method, and for what: all that one is made from, but for the processor.
struct ProductChoice {
  enum class Kind : uint8_t { vector, packed, small, windowed };
  Kind kind = Kind::packed;
  ProductType type = ProductType::f32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t k = 0;
  WindowedPicture picture = {};
};

/// How products of one shape are computed on one processor.
class ProductMethod {
 public:
  virtual ~ProductMethod() = default;

  ProductChoice choice;  ///< what it was made from

  /// Lines are packed in panels of this many; the last may be short, and is filled up with zeros.
  virtual int64_t a_panel() const = 0;
  virtual int64_t b_panel() const = 0;
  /// Columns that are computed together: of fewer, no less is computed.
  virtual int64_t column_unit() const { return b_panel(); }
  /// Bytes of a packed panel.
  virtual int64_t a_panel_bytes() const = 0;
  virtual int64_t b_panel_bytes() const = 0;
  /// Rows, in whole panels, that a call of multiply is best given: more are no faster.
  virtual int64_t rows_at_once() const = 0;
  /// Steps of k that a call of multiply sums before it adds them to C: where a product is cut there, and each
  /// part but the first added by multiply_adding, the result has the same bits. 0: nobody can tell.
  virtual int64_t steps_at_once() const { return 0; }
  /// Bytes of working memory a call of multiply needs.
  virtual int64_t scratch_bytes() const = 0;

  /// Packs panels [first, last) of an operand; the first goes to `packed` (64-byte aligned), the others
  /// behind.
  virtual void pack_a(const ProductOperand& a, int64_t first, int64_t last, void* packed) const = 0;
  virtual void pack_b(const ProductOperand& b, int64_t first, int64_t last, void* packed) const = 0;

  /// Bytes of a step of k in a packed panel; 0: panels are not made of such steps. See pack_steps.
  virtual int64_t a_step_bytes() const { return 0; }
  virtual int64_t b_step_bytes() const { return 0; }

  /// The largest magnitude of the elements of packed panels, infinity if any is NaN. Only of floats.
  virtual double largest_of_a(const void* packed, int64_t panels) const;
  virtual double largest_of_b(const void* packed, int64_t panels) const;

  /// c[i, j] = product of line i of the packed A and line j of the packed B, for i in [0, rows), j in [0,
  /// columns). Neighbours in a row of C lie next to each other, rows `row_stride` bytes apart. `a` and `b`
  /// point at panels; rows and columns need not fill the last ones. C is overwritten, not added to.
  virtual void multiply(const void* a, const void* b, int64_t rows, int64_t columns, void* c,
                        int64_t row_stride, void* scratch) const = 0;

  /// The same, but C is added to.
  virtual void multiply_adding(const void* a, const void* b, int64_t rows, int64_t columns, void* c,
                               int64_t row_stride) const;

  /// The same of a part of C only: elements [i, j] with j <= i, and perhaps others. It is added to if told
  /// so.
  virtual void multiply_below_diagonal(const void* a, const void* b, int64_t rows, int64_t columns, void* c,
                                       int64_t row_stride, bool add) const;

  /// The same with rows of A that are not packed: elements of the type that is computed in, neighbours along
  /// k, in rows `a_row_stride` bytes apart. Only where takes_rows().
  virtual bool takes_rows() const { return false; }
  /// Bytes from a row of an operand to the next, if it lies in memory like that; else 0.
  virtual int64_t row_stride_of(const ProductOperand& /*a*/) const { return 0; }
  virtual void multiply_rows(const void* a, int64_t a_row_stride, const void* b, int64_t rows,
                             int64_t columns, void* c, int64_t row_stride, void* scratch) const;

  /// The same over elements [first_k, last_k) of the lines only, in the order in which all are summed: where
  /// the others are zeros in A, and those of B finite, the result has the same bits. An `a_row_stride` of 0
  /// says that A is packed. Only where takes_part_of_k().
  virtual bool takes_part_of_k() const { return false; }
  virtual void multiply_part(const void* a, int64_t a_row_stride, const void* b, int64_t first_k,
                             int64_t last_k, int64_t rows, int64_t columns, void* c,
                             int64_t row_stride) const;

  /// The same with a B that is not packed but lies in memory as `b` says: c[i, j] for line first + j of B,
  /// which is any. It is packed on the way, a few panels at a time, so that it is not written to
  /// memory and read again. Only where packs_on_the_way(); an `a_row_stride` of 0 says that A is packed, and
  /// `packed` has room for four panels, or for all columns.
  virtual bool packs_on_the_way(const ProductOperand& /*b*/, int64_t /*rows*/) const { return false; }
  virtual void multiply_packing(const void* a, int64_t a_row_stride, const ProductOperand& b, int64_t first,
                                void* packed, int64_t rows, int64_t columns, void* c,
                                int64_t row_stride) const;

  /// The same with a B that is windows sliding over an array, which overlap: the part of the array that lines
  /// [first, first + columns) need is packed once, and every window read from there. `packed` has room for
  /// window_bytes(), which is 0 where this cannot be done; `first` begins a panel.
  /// Lines next to each other come in multiples of window_unit(), if that is not 0.
  virtual int64_t window_unit() const { return 0; }
  virtual int64_t window_bytes(const ProductOperand& /*b*/, int64_t /*columns*/) const { return 0; }
  virtual void pack_windows(const ProductOperand& b, int64_t first, int64_t columns, void* packed) const;
  virtual void multiply_windows(const void* a, const ProductOperand& b, void* packed, int64_t first,
                                int64_t rows, int64_t columns, void* c, int64_t row_stride) const;
  /// Columns, in whole panels, that a call of multiply_windows is best given; 0: any number.
  virtual int64_t windows_at_once() const { return 0; }

  /// Some methods read both operands where they lie, and nothing of the above is called. That for a single
  /// row: c[j] = product of line 0 of A and line first + j of B, for j in [0, columns).
  virtual bool reads_in_place() const { return false; }
  virtual void multiply_in_place(const ProductOperand& a, const ProductOperand& b, int64_t first,
                                 int64_t columns, void* c, void* scratch) const;

  /// And that for small products, where takes_batches(): c[i, j] = product of line i of A and line j of B, of
  /// all lines, and so for each of a batch. Rows of C lie `row_stride` bytes apart, neighbours in a row of C
  /// and neighbouring lines of B next to each other; A and B have one axis of lines and one of k each.
  virtual bool takes_batches() const { return false; }
  virtual void multiply_batch(const ProductOperand& a, const ProductOperand& b, const ProductBatch& batch,
                              void* c, int64_t row_stride) const;

  /// What it is, for reports: "own f32 6x16 avx2", "OpenBLAS dgemm".
  virtual const char* name() const = 0;
};

/// Packs a part of k: the operand has one axis of lines, which are neighbours, and one of those steps.
/// `packed` is where the first of them is in the first panel; nothing of other steps is touched.
void pack_steps(const ProductMethod& method, bool is_lhs, const ProductOperand& steps, void* packed);

/// The method that was chosen, perhaps by another process with the same processor.
std::unique_ptr<const ProductMethod> make_product_method(const ProductChoice& choice, const Cpu& cpu);

/// The method for products over `k` elements (0 gives zeros) of blocks of about `rows` by `columns`. A single
/// row reads B where it lies, unless B is packed for many products.
std::unique_ptr<const ProductMethod> choose_product_method(ProductType type, int64_t rows, int64_t columns,
                                                           int64_t k, bool b_stays_packed, const Cpu& cpu);

/// The method that reads operands of small products where they lie, if these are small enough; else null.
std::unique_ptr<const ProductMethod> choose_small_method(ProductType type, int64_t rows, int64_t columns,
                                                         int64_t k, const Cpu& cpu);

/// The method for `batch` products with such windows, which are read by multiply_windows, if it is faster
/// than that of all products; else null. So many different A are packed in every run.
std::unique_ptr<const ProductMethod> choose_window_method(ProductType type, int64_t rows,
                                                          const WindowedPicture& picture, int64_t batch,
                                                          int64_t packed_a, const Cpu& cpu);

}  // namespace tokamak
