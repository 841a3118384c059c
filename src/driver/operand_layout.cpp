#include "driver/operand_layout.h"

#include <algorithm>

namespace tokamak {
namespace {

bool moves(const OperandRead::Axis& axis) { return axis.extent != 1; }

auto count_moving(const std::vector<OperandRead::Axis>& axes) {
  return std::count_if(axes.begin(), axes.end(), moves);
}

/// The axis of an array whose neighbours are neighbours in memory; its rank if there is none.
size_t unit_axis(const TensorType& type, const Layout& layout) {
  size_t unit = type.shape.size();
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const bool is_unit = layout.dense ? type.shape[axis] != 1 : layout.axes[axis] == Layout::Axis::unit;
    if (is_unit) unit = axis;
  }
  return unit;
}

}  // namespace

bool is_matrix(const CompiledOperand& operand, DType computed_in) {
  return operand.dtype == computed_in && operand.read.bounds.empty() &&
         count_moving(operand.read.lines) <= 1 && count_moving(operand.read.contracted) <= 1;
}

bool are_neighbours(const std::vector<OperandRead::Axis>& axes, const TensorType& type,
                    const Layout& layout) {
  const auto along = std::find_if(axes.begin(), axes.end(), moves);
  if (along == axes.end()) return false;
  const size_t unit = unit_axis(type, layout);
  if (unit == type.shape.size()) return false;  // lines that are all the same do not move along any
  for (size_t axis = 0; axis < along->coefficients.size(); ++axis)
    if (along->coefficients[axis] != (axis == unit ? 1 : 0)) return false;
  return true;
}

}  // namespace tokamak
