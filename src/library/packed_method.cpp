#include "library/packed_method.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "library/kernels.h"
#include "library/operand_view.h"
#include "library/pack.h"
#include "library/pack_pairs.h"
#include "library/windows.h"
#include "support/cache_line.h"
#include "support/rounding.h"
#include "tokamak/errors.h"

namespace tokamak {

const ProductKernels& kernels_for(ProductType type, const Cpu& cpu) {
  if (type == ProductType::bf16) {
    if (!multiplies_bf16(cpu)) throw InternalError("a product of bf16 on a processor that has none");
    return cpu.amx_bf16 && may_use_tiles() ? kKernelsBf16Tiles : kKernelsBf16Pairs;
  }
  const LevelKernels& level = cpu.avx512 && cpu.vector_bytes >= 64            ? kKernelsX86_64V4
                              : cpu.fma && cpu.f16c && cpu.vector_bytes >= 32 ? kKernelsX86_64V3
                                                                              : kKernelsX86_64;
  return level.types[static_cast<size_t>(type)];
}

/// How much of k, in steps, is summed at once: so much that adding to C takes little beside it. A panel of B
/// that is narrow comes from the first cache meanwhile; of a wide one that would be too little, and it has
/// arithmetic enough for each of its bytes to come from the second. It depends on nothing that may differ
/// between two blocks of a product.
int64_t k_block_for(int64_t k, const ProductKernels& kernels, const Cpu& cpu) {
  constexpr int64_t kEnough = 512;
  const int64_t row_bytes = int64_t{kernels.columns} * kernels.element_bytes;
  const bool in_first = 2 * cpu.l1_bytes / row_bytes >= kEnough;
  const int64_t most =
      in_first ? kEnough : std::clamp<int64_t>(cpu.l2_bytes / 5 / row_bytes, 64, 2 * kEnough);
  const int64_t blocks = std::max<int64_t>(1, (k + most - 1) / most);
  return round_up(std::max<int64_t>(1, (k + blocks - 1) / blocks), 4);
}

namespace {

/// Large panels, which are walked over a part of k at a time, begin where these parts do not all fall into
/// the same sets of a cache: at odd multiples of kStagger.
constexpr int64_t kLargePanel = 64 << 10;
constexpr int64_t kStagger = 8 << 10;

/// Others are an odd number of lines, so that those of panels that are packed side by side do not either.
int64_t panel_size(int64_t bytes) {
  const int64_t unit = bytes < kLargePanel ? kCacheLine : kStagger;
  return (round_up(bytes, unit) / unit | 1) * unit;
}

/// The steps in which k elements are multiplied.
int64_t steps_of(int64_t k, const ProductKernels& kernels) {
  return kernels.pairs == nullptr ? k : (k + 1) / 2;
}

/// Panels of both kinds, and tiles of C held in registers. Swapped, the product computed is that of B and A,
/// whose result is C transposed: lines of B are what few columns leave free.
class PackedMethod final : public ProductMethod {
 public:
  /// `rows` are those of what is computed.
  PackedMethod(ProductType type, const ProductKernels& kernels, int64_t rows, int64_t k, const Cpu& cpu,
               bool swapped)
      : type_(type),
        kernels_(kernels),
        k_(k),
        steps_(steps_of(k, kernels)),
        swapped_(swapped),
        k_block_(k_block_for(steps_, kernels, cpu)),
        rows_{layout(kernels.rows)},
        columns_{layout(kernels.columns)} {
    const int64_t share = cpu.l2_bytes * 3 / 8;  // of A, and as much of C
    const int64_t row_bytes = k_block_ * kernels.element_bytes;
    row_block_ = round_down(share / row_bytes, kernels.rows);
    if (rows * row_bytes <= cpu.l2_bytes * 5 / 8)
      row_block_ = round_up(std::max<int64_t>(rows, 1), kernels.rows);
    column_block_ = round_down(share / (row_block_ * kernels.element_bytes), kernels.columns);
  }

  int64_t a_panel() const override { return a_layout().lines; }
  int64_t b_panel() const override { return b_layout().lines; }
  int64_t column_unit() const override { return reads_columns() ? kernels_.lanes : b_panel(); }
  int64_t a_panel_bytes() const override { return a_layout().panel_bytes; }
  int64_t b_panel_bytes() const override { return b_layout().panel_bytes; }
  int64_t rows_at_once() const override { return swapped_ ? column_block_ : row_block_; }
  int64_t steps_at_once() const override { return kernels_.pairs == nullptr ? k_block_ : 0; }
  int64_t scratch_bytes() const override { return 0; }  // the buffer of a tile is on the stack
  const char* name() const override { return kernels_.name; }

  void pack_a(const ProductOperand& a, int64_t first, int64_t last, void* packed) const override {
    pack(a, a_layout(), first, last, packed);
  }
  void pack_b(const ProductOperand& b, int64_t first, int64_t last, void* packed) const override {
    pack(b, b_layout(), first, last, packed);
  }

  int64_t a_step_bytes() const override { return step_bytes(a_layout()); }
  int64_t b_step_bytes() const override { return step_bytes(b_layout()); }

  double largest_of_a(const void* packed, int64_t panels) const override {
    return largest(packed, a_layout(), panels);
  }
  double largest_of_b(const void* packed, int64_t panels) const override {
    return largest(packed, b_layout(), panels);
  }

  bool takes_rows() const override { return !swapped_ && (kernels_.pairs == nullptr || k_ % 2 == 0); }
  int64_t row_stride_of(const ProductOperand& a) const override {
    if (!takes_rows() || a.dtype != dtype_of(type_)) return 0;
    const OperandView view(a);
    const auto element = static_cast<int64_t>(size_of(a.dtype));
    const bool is_rows =
        view.bounds == 0 && view.lines.count <= 1 &&
        (view.contracted.count == 0 || (view.contracted.count == 1 && view.contracted.stride[0] == element));
    if (!is_rows) return 0;
    const int64_t stride = view.lines.count == 1 ? view.lines.stride[0] : k_ * element;  // of one row, any
    return stride % kernels_.element_bytes == 0 ? stride : 0;
  }
  void multiply(const void* a, const void* b, int64_t rows, int64_t columns, void* c, int64_t row_stride,
                void* /*scratch*/) const override {
    run(task_for(a, 0, b, rows, columns, c, row_stride));
  }
  void multiply_adding(const void* a, const void* b, int64_t rows, int64_t columns, void* c,
                       int64_t row_stride) const override {
    MultiplyTask task = task_for(a, 0, b, rows, columns, c, row_stride);
    task.add = true;
    run(task);
  }
  void multiply_below_diagonal(const void* a, const void* b, int64_t rows, int64_t columns, void* c,
                               int64_t row_stride, bool add) const override {
    MultiplyTask task = task_for(a, 0, b, rows, columns, c, row_stride);
    task.add = add;
    task.below_diagonal = !swapped_;
    run(task);
  }
  void multiply_rows(const void* a, int64_t a_row_stride, const void* b, int64_t rows, int64_t columns,
                     void* c, int64_t row_stride, void* /*scratch*/) const override {
    run(task_for(a, a_row_stride, b, rows, columns, c, row_stride));
  }
  bool takes_part_of_k() const override { return kernels_.largest != nullptr; }
  void multiply_part(const void* a, int64_t a_row_stride, const void* b, int64_t first_k, int64_t last_k,
                     int64_t rows, int64_t columns, void* c, int64_t row_stride) const override {
    MultiplyTask task = task_for(a, a_row_stride, b, rows, columns, c, row_stride);
    task.first_k = kernels_.pairs == nullptr ? first_k : first_k / 2;
    task.k = steps_of(last_k, kernels_);
    run(task);
  }

  bool packs_on_the_way(const ProductOperand& b, int64_t rows) const override {
    if (!reads_columns() || rows < kernels_.rows || rows > row_block_ || b.dtype != dtype_of(type_))
      return false;
    const OperandView view(b);
    return view.bounds == 0 && view.contracted.count <= 1 && view.lines.count == 1 &&
           view.lines.stride[0] == kernels_.element_bytes;
  }
  void multiply_packing(const void* a, int64_t a_row_stride, const ProductOperand& b, int64_t first,
                        void* packed, int64_t rows, int64_t columns, void* c,
                        int64_t row_stride) const override {
    const int64_t whole = columns / kernels_.columns * kernels_.columns;
    MultiplyTask task = task_for(a, a_row_stride, nullptr, rows, whole, c, row_stride);
    const OperandView view(b);
    task.b_source = view.data + first * kernels_.element_bytes;
    task.b_source_step = view.contracted.count == 0 ? 0 : view.contracted.stride[0];
    task.b_packed = packed;
    run(task);
    if (whole == columns) return;
    ProductOperand rest = b;
    rest.data = static_cast<const std::byte*>(b.data) + (first + whole) * kernels_.element_bytes;
    rest.lines = {{columns - whole, kernels_.element_bytes}};
    rest.bounds.clear();
    pack_b(rest, 0, 1, packed);
    run(task_for(a, a_row_stride, packed, rows, columns - whole,
                 static_cast<std::byte*>(c) + whole * kernels_.element_bytes, row_stride));
  }

  int64_t window_unit() const override { return reads_columns() ? kernels_.lanes : 0; }
  int64_t window_bytes(const ProductOperand& b, int64_t columns) const override {
    if (window_unit() == 0) return 0;
    const OperandView view(b);
    const Windows windows = windows_of(b, view);
    if (!windows.slide() || windows.run() % window_unit() != 0) return 0;
    const int64_t bytes = windows.bytes(columns);
    return bytes > std::numeric_limits<int32_t>::max() ? 0 : bytes;  // steps are that wide
  }
  void pack_windows(const ProductOperand& b, int64_t first, int64_t columns, void* packed) const override {
    const OperandView view(b);
    windows_of(b, view).pack(first, columns, pack_kernels(b, columns_), packed);
  }
  void multiply_windows(const void* a, const ProductOperand& b, void* packed, int64_t first, int64_t rows,
                        int64_t columns, void* c, int64_t row_stride) const override {
    MultiplyTask task = task_for(a, 0, nullptr, rows, columns, c, row_stride);
    const OperandView view(b);
    windows_of(b, view).describe(first, columns, packed, task);
    run(task);
  }

 private:
  /// Of a panel.
  int64_t whole_steps() const { return round_up(steps_, kernels_.step_unit); }

  bool reads_columns() const { return !swapped_ && kernels_.pairs == nullptr; }

  Windows windows_of(const ProductOperand& b, const OperandView& view) const {
    return Windows(view, static_cast<int64_t>(size_of(b.dtype)), kernels_.element_bytes);
  }

  MultiplyTask task_for(const void* a, int64_t a_row_bytes, const void* b, int64_t rows, int64_t columns,
                        void* c, int64_t row_stride) const {
    MultiplyTask task{.a = a,
                      .b = b,
                      .a_panel_bytes = a_panel_bytes(),
                      .a_row_bytes = a_row_bytes,
                      .b_panel_bytes = b_panel_bytes(),
                      .rows = rows,
                      .columns = columns,
                      .first_k = 0,
                      .k = a_row_bytes == 0 ? whole_steps() : steps_,
                      .k_block = k_block_,
                      .row_block = row_block_,
                      .column_block = column_block_,
                      .c = c,
                      .row_stride = row_stride,
                      .column_stride = kernels_.element_bytes};
    if (swapped_) {
      std::swap(task.a, task.b);
      std::swap(task.a_panel_bytes, task.b_panel_bytes);
      std::swap(task.rows, task.columns);
      std::swap(task.row_stride, task.column_stride);
    }
    return task;
  }
  void run(const MultiplyTask& task) const { kernels_.multiply(task); }

  const PanelLayout& a_layout() const { return swapped_ ? columns_ : rows_; }
  const PanelLayout& b_layout() const { return swapped_ ? rows_ : columns_; }

  int64_t step_bytes(const PanelLayout& layout) const {
    return kernels_.pairs != nullptr ? 0 : int64_t{layout.lines} * layout.element_bytes;
  }

  PanelLayout layout(int lines) const {
    const int64_t bytes =
        lines * whole_steps() * kernels_.element_bytes + (lines == kernels_.rows ? kernels_.slack : 0);
    return {lines, kernels_.element_bytes, panel_size(bytes)};
  }

  void pack(const ProductOperand& operand, const PanelLayout& layout, int64_t first, int64_t last,
            void* packed) const {
    if (kernels_.pairs != nullptr) {
      pack_pairs(operand, kernels_, layout, first, last, packed);
    } else {
      pack_panels(operand, pack_kernels(operand, layout), layout, first, last, packed);
    }
  }
  double largest(const void* packed, const PanelLayout& layout, int64_t panels) const {
    const int64_t elements = layout.lines * whole_steps() * (kernels_.pairs == nullptr ? 1 : 2);
    double found = 0;
    for (int64_t panel = 0; panel < panels; ++panel) {
      const void* data = static_cast<const std::byte*>(packed) + panel * layout.panel_bytes;
      found = std::max(found, kernels_.largest(data, elements));
    }
    return found;
  }
  const PackKernels& pack_kernels(const ProductOperand& operand, const PanelLayout& layout) const {
    const Stored stored = stored_as(operand.dtype);
    const PackKernels* pack =
        layout.lines == kernels_.rows ? kernels_.pack_rows(stored) : kernels_.pack_columns(stored);
    if (pack == nullptr) throw InternalError("a product of operands that were not converted");
    return *pack;
  }

  ProductType type_;
  const ProductKernels& kernels_;
  int64_t k_;
  int64_t steps_;  ///< of k
  bool swapped_;
  int64_t k_block_;
  int64_t row_block_;
  int64_t column_block_;
  PanelLayout rows_;  ///< what the loops call rows
  PanelLayout columns_;
};

/// Lanes computed for every one that is wanted, in percent.
int64_t waste(int64_t extent, int64_t panel) {
  return extent <= 0 ? 100 : round_up(extent, panel) * 100 / extent;
}

}  // namespace

std::unique_ptr<ProductMethod> packed_method(ProductType type, int64_t rows, int64_t columns, int64_t k,
                                             const Cpu& cpu) {
  const ProductKernels& kernels = kernels_for(type, cpu);
  // Most loops take any number of rows but whole registers of columns. Swapped, storing a tile costs as much
  // as some 25 steps of k, in percent of them all:
  const int64_t storing = 3 + 2500 / std::clamp<int64_t>(steps_of(k, kernels), 1,
                                                         k_block_for(steps_of(k, kernels), kernels, cpu));
  const int64_t as_it_is = waste(columns, kernels.lanes) * waste(rows, kernels.row_unit) / 100;
  const int64_t turned = waste(rows, kernels.lanes) * waste(columns, kernels.row_unit) / 100;
  const bool swapped = as_it_is > turned + storing;
  return std::make_unique<PackedMethod>(type, kernels, swapped ? columns : rows, k, cpu, swapped);
}

}  // namespace tokamak
