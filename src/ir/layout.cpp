#include "ir/layout.h"

#include <cstring>

namespace tokamak {

std::vector<int64_t> dense_strides(const TensorType& type) {
  std::vector<int64_t> strides(type.shape.size());
  auto stride = static_cast<int64_t>(size_of(type.dtype));
  for (size_t axis = type.shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= type.shape[axis];
  }
  return strides;
}

Layout Layout::of(const TensorType& type, const int64_t* strides) {
  Layout layout;
  if (type.elements() == 0) return layout;
  const auto unit = static_cast<int64_t>(size_of(type.dtype));
  int64_t expected = unit;
  for (size_t axis = type.shape.size(); axis-- > 0;) {
    if (type.shape[axis] == 1) continue;
    if (strides[axis] != expected) layout.dense = false;
    expected *= type.shape[axis];
  }
  if (layout.dense) return layout;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const bool immaterial = type.shape[axis] == 1;
    layout.axes.push_back(immaterial || strides[axis] == 0 ? Axis::zero
                          : strides[axis] == unit          ? Axis::unit
                                                           : Axis::other);
  }
  return layout;
}

ByteRange byte_range(const TensorType& type, const int64_t* strides) {
  ByteRange range;
  if (type.elements() == 0) return range;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const int64_t reach = strides[axis] * (type.shape[axis] - 1);
    (reach < 0 ? range.begin : range.end) += reach;
  }
  range.end += static_cast<int64_t>(size_of(type.dtype));
  return range;
}

void copy_to_dense(const TensorType& type, const std::byte* from, const int64_t* strides, void* to) {
  if (type.elements() == 0) return;
  const size_t size = size_of(type.dtype);
  auto* out = static_cast<std::byte*>(to);
  if (type.shape.empty()) {
    std::memcpy(out, from, size);
    return;
  }
  const size_t last = type.shape.size() - 1;
  const int64_t extent = type.shape[last];
  const int64_t stride = strides[last];
  std::vector<int64_t> index(last, 0);
  while (true) {
    if (stride == static_cast<int64_t>(size)) {
      std::memcpy(out, from, size * static_cast<size_t>(extent));
      out += size * static_cast<size_t>(extent);
    } else {
      for (int64_t i = 0; i < extent; ++i, out += size) std::memcpy(out, from + i * stride, size);
    }
    size_t axis = last;
    while (axis-- > 0) {
      from += strides[axis];
      if (++index[axis] < type.shape[axis]) break;
      from -= strides[axis] * type.shape[axis];
      index[axis] = 0;
    }
    if (axis == SIZE_MAX) return;
  }
}

std::string strides_text(const Layout& layout) {
  std::string text;
  for (Layout::Axis axis : layout.axes) {
    text += text.empty() ? "(" : ", ";
    switch (axis) {
      case Layout::Axis::zero:
        text += "0";
        break;
      case Layout::Axis::unit:
        text += "1";
        break;
      case Layout::Axis::other:
        text += "any";
        break;
    }
  }
  return text + ")";
}

}  // namespace tokamak
