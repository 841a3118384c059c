#include "library/pack_pairs.h"

#include <algorithm>

#include "library/operand_view.h"

namespace tokamak {
namespace {

/// Panels that are copied side by side, so that memory is read in longer pieces than one is wide.
constexpr int64_t kPanelsSideBySide = 8;

/// Where pairs lie together already: an operand of elements that are pairs.
ProductOperand as_pairs(const ProductOperand& operand, const ViewAxes& contracted) {
  ProductOperand pairs = operand;
  pairs.dtype = DType::u32;
  pairs.contracted = {{contracted.extent[0] / 2, 2 * contracted.stride[0]}};
  pairs.bounds.clear();
  return pairs;
}

}  // namespace

void pack_pairs(const ProductOperand& operand, const ProductKernels& kernels, const PanelLayout& layout,
                int64_t first, int64_t last, void* packed) {
  constexpr int64_t kElement = 2;
  const OperandView view(operand);
  const int64_t k = view.contracted.elements;
  if (view.lines.elements == 0 || k == 0) return;
  const bool is_columns = layout.lines == kernels.columns;
  auto pack_kernels = [&](Stored stored) -> const PackKernels& {
    return is_columns ? *kernels.pack_columns(stored) : *kernels.pack_rows(stored);
  };
  auto* to = static_cast<unsigned char*>(packed);
  auto finish = [&] {
    auto* const finish_panel = is_columns ? kernels.pairs->finish_columns : kernels.pairs->finish_rows;
    if (finish_panel == nullptr) return;
    for (int64_t panel = first; panel < last; ++panel) {
      finish_panel(to + (panel - first) * layout.panel_bytes, (k + 1) / 2);
    }
  };
  const bool is_plain = view.bounds == 0 && view.contracted.count == 1;
  const bool is_rows = is_plain && !is_columns && view.lines.count == 1;
  if (is_rows && kernels.pairs->copy_rows != nullptr && view.contracted.stride[0] == kElement) {
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t row = panel * layout.lines;
      kernels.pairs->copy_rows(view.data + row * view.lines.stride[0],
                               std::min<int64_t>(layout.lines, view.lines.elements - row), k,
                               view.lines.stride[0], to + (panel - first) * layout.panel_bytes);
    }
    return;
  }
  if (is_plain && view.contracted.stride[0] == kElement && k % 2 == 0) {
    pack_panels(as_pairs(operand, view.contracted), pack_kernels(Stored::b32), layout, first, last, packed);
    finish();
    return;
  }
  if (is_plain && is_columns && view.lines.count == 1 && view.lines.stride[0] == kElement) {
    for (int64_t panel = first; panel < last; panel += kPanelsSideBySide) {
      const int64_t end = std::min(panel + kPanelsSideBySide, last);
      const int64_t column = panel * layout.lines;
      kernels.pairs->copy_columns(
          view.data + column * kElement, std::min(end * layout.lines, view.lines.elements) - column, k,
          view.contracted.stride[0], layout.panel_bytes, to + (panel - first) * layout.panel_bytes);
    }
    finish();
    return;
  }
  ProductOperand elements = operand;
  elements.dtype = DType::u16;
  const PanelLayout by_elements{layout.lines, static_cast<int>(kElement), layout.panel_bytes};
  pack_panels(elements, pack_kernels(Stored::u16), by_elements, first, last, to);
  auto* const pair_panel = is_columns ? kernels.pairs->pair_columns : kernels.pairs->pair_rows;
  for (int64_t panel = first; panel < last; ++panel) pair_panel(to + (panel - first) * layout.panel_bytes, k);
  finish();
}

}  // namespace tokamak
