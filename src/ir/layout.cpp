#include "ir/layout.h"

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
