#include "driver/operand_windows.h"

#include <algorithm>

namespace tokamak {

bool are_windows(const OperandRead& read, int64_t unit) {
  if (unit == 0 || read.lines.empty() || read.lines.back().extent % unit != 0) return false;
  auto share = [](const OperandRead::Axis& line, const OperandRead::Axis& contracted) {
    if (line.extent == 1 || contracted.extent == 1) return false;
    for (size_t axis = 0; axis < line.coefficients.size(); ++axis)
      if (line.coefficients[axis] == 1 && contracted.coefficients[axis] != 0) return true;
    return false;
  };
  return std::any_of(read.lines.begin(), read.lines.end(), [&](const OperandRead::Axis& line) {
    return std::any_of(read.contracted.begin(), read.contracted.end(),
                       [&](const OperandRead::Axis& contracted) { return share(line, contracted); });
  });
}

std::optional<WindowedPicture> windowed_picture(const OperandRead& read) {
  constexpr size_t kAxes = 2;
  constexpr int64_t kWindow = 3;
  if (read.lines.size() != kAxes || read.contracted.size() < kAxes) return std::nullopt;
  const size_t first = read.contracted.size() - kAxes;  // of the window
  for (size_t axis = 0; axis < kAxes; ++axis) {
    const OperandRead::Axis& along = read.contracted[first + axis];
    const OperandRead::Axis& line = read.lines[axis];
    if (along.extent != kWindow || line.extent < 2 || along.coefficients != line.coefficients)
      return std::nullopt;
  }
  for (const OperandRead::Bound& bound : read.bounds) {  // of the row, or of the column
    std::vector<int64_t> one(bound.coefficients.size(), 0);
    const size_t axis = bound.coefficients[0] != 0 ? 0 : 1;
    one[axis] = one[kAxes + first + axis] = 1;
    if (bound.coefficients != one) return std::nullopt;
  }
  int64_t channels = 1;
  for (size_t axis = 0; axis < first; ++axis) channels *= read.contracted[axis].extent;
  return WindowedPicture{read.lines[0].extent, read.lines[1].extent, channels};
}

}  // namespace tokamak
