#include "trace/views.h"

namespace tokamak {
namespace {

Array broadcast_view(const TensorType& from, const Memory& memory, TensorType to) {
  std::vector<int64_t> strides(to.shape.size(), 0);
  const size_t added = to.shape.size() - from.shape.size();
  for (size_t axis = 0; axis < from.shape.size(); ++axis) {
    if (from.shape[axis] == to.shape[axis + added]) strides[axis + added] = memory.strides[axis];
  }
  return make_view(std::move(to), memory, memory.data, std::move(strides));
}

Array transpose_view(const Memory& memory, const Ints& permutation, TensorType to) {
  std::vector<int64_t> strides;
  for (int64_t axis : permutation) strides.push_back(memory.strides[static_cast<size_t>(axis)]);
  return make_view(std::move(to), memory, memory.data, std::move(strides));
}

Array slice_view(const Memory& memory, const Ints& starts, const Ints& steps, TensorType to) {
  std::vector<int64_t> strides = memory.strides;
  std::byte* data = memory.data;
  const bool empty = to.elements() == 0;  // then its first element may lie outside the memory
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (!empty) data += starts[axis] * strides[axis];
    strides[axis] *= steps[axis];
  }
  return make_view(std::move(to), memory, data, std::move(strides));
}

Array reverse_view(const Memory& memory, const Ints& axes, TensorType to) {
  std::vector<int64_t> strides = memory.strides;
  std::byte* data = memory.data;
  const bool empty = to.elements() == 0;
  for (int64_t axis : axes) {
    int64_t& stride = strides[static_cast<size_t>(axis)];
    if (!empty) data += (to.shape[static_cast<size_t>(axis)] - 1) * stride;
    stride = -stride;
  }
  return make_view(std::move(to), memory, data, std::move(strides));
}

/// Windows overlap: their elements are the same memory.
Array window_view(const Memory& memory, const Attributes& attributes, TensorType to) {
  std::vector<int64_t> strides = memory.strides;
  const Ints& axes = attributes.ints(Attr::axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    strides.push_back(memory.strides[axis] * attributes.ints(Attr::dilations)[i]);
    strides[axis] *= attributes.ints(Attr::steps)[i];
  }
  return make_view(std::move(to), memory, memory.data, std::move(strides));
}

Array reshape_view(const Array& operand, TensorType to) {
  const Memory& memory = *operand.impl().memory();
  if (auto strides = reshaped_strides(operand.type(), memory.strides, to)) {
    return make_view(std::move(to), memory, memory.data, std::move(*strides));
  }
  const Array dense = operand.contiguous();
  std::vector<int64_t> strides = dense_strides(to);
  const Memory& copied = *dense.impl().memory();
  return make_view(std::move(to), copied, copied.data, std::move(strides));
}

}  // namespace

std::optional<std::vector<int64_t>> reshaped_strides(const TensorType& from,
                                                     const std::vector<int64_t>& strides,
                                                     const TensorType& to) {
  std::vector<int64_t> result = dense_strides(to);
  if (from.elements() == 0) return result;
  // Both shapes are cut into the shortest groups of axes with equal products; within a group the axes of
  // `from` must follow each other in memory as those of a dense array do. Extents of 1 have no say.
  std::vector<int64_t> extents;
  std::vector<int64_t> steps;
  for (size_t axis = 0; axis < from.shape.size(); ++axis) {
    if (from.shape[axis] == 1) continue;
    extents.push_back(from.shape[axis]);
    steps.push_back(strides[axis]);
  }
  size_t old_axis = 0;
  size_t new_axis = 0;
  while (old_axis < extents.size()) {
    const size_t old_begin = old_axis;
    const size_t new_begin = new_axis;
    int64_t old_count = extents[old_axis++];
    int64_t new_count = to.shape[new_axis++];
    while (old_count != new_count) {
      if (old_count < new_count) {
        old_count *= extents[old_axis++];
      } else {
        new_count *= to.shape[new_axis++];
      }
    }
    for (size_t axis = old_begin; axis + 1 < old_axis; ++axis) {
      if (steps[axis] != steps[axis + 1] * extents[axis + 1]) return std::nullopt;
    }
    int64_t stride = steps[old_axis - 1];
    for (size_t axis = new_axis; axis-- > new_begin;) {
      result[axis] = stride;
      stride *= to.shape[axis];
    }
  }
  return result;
}

Array view_of(Op op, const Array& operand, const Attributes& attributes, TensorType result) {
  const Memory& memory = *operand.impl().memory();
  if (op == Op::broadcast) return broadcast_view(operand.type(), memory, std::move(result));
  if (op == Op::transpose)
    return transpose_view(memory, attributes.ints(Attr::permutation), std::move(result));
  if (op == Op::slice) {
    return slice_view(memory, attributes.ints(Attr::starts), attributes.ints(Attr::steps), std::move(result));
  }
  if (op == Op::reverse) return reverse_view(memory, attributes.ints(Attr::axes), std::move(result));
  if (op == Op::window) return window_view(memory, attributes, std::move(result));
  return reshape_view(operand, std::move(result));
}

}  // namespace tokamak
