#include "interp/positions.h"

namespace tokamak {

std::vector<int64_t> dense_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Positions strided_positions(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t base) {
  const int64_t count = element_count(shape);
  Positions positions(static_cast<size_t>(count));
  std::vector<int64_t> index(shape.size(), 0);
  int64_t position = base;
  for (int64_t& place : positions) {
    place = position;
    for (size_t axis = shape.size(); axis-- > 0;) {
      position += strides[axis];
      if (++index[axis] < shape[axis]) break;
      position -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return positions;
}

Positions broadcast_positions(std::span<const int64_t> shape, std::span<const int64_t> result) {
  std::vector<int64_t> strides(result.size(), 0);
  const std::vector<int64_t> dense = dense_strides(shape);
  const size_t added = result.size() - shape.size();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) strides[axis + added] = dense[axis];
  }
  return strided_positions(result, strides);
}

}  // namespace tokamak
