#include "leaf.h"

#include <cstdlib>

#include "trace/array_impl.h"

namespace tokamak::python {
namespace {

Layout::Axis axis_class(const Leaf& leaf, int axis) {
  if (leaf.shape[axis] == 1 || leaf.strides[axis] == 0) return Layout::Axis::zero;
  return leaf.strides[axis] == static_cast<int64_t>(size_of(leaf.dtype)) ? Layout::Axis::unit
                                                                         : Layout::Axis::other;
}

/// What the strides say about an axis: its class, and whether the next one continues it. Which reshapes are
/// views depends on these.
uint32_t axis_code(const Leaf& leaf, int axis) {
  const auto kind = static_cast<uint32_t>(axis_class(leaf, axis));
  if (leaf.shape[axis] == 1) return kind;
  int next = axis + 1;
  while (next < leaf.rank && leaf.shape[next] == 1) ++next;
  const bool continues = next < leaf.rank && leaf.strides[axis] == leaf.strides[next] * leaf.shape[next];
  return kind | (continues ? 4U : 0U);
}

/// Whether the elements of an argument lie without gaps, with its axes in this order.
bool is_gapless(const Leaf& leaf, const AxisOrder& order) {
  auto stride = static_cast<int64_t>(size_of(leaf.dtype));
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t axis = order[i];
    if (leaf.shape[axis] == 1) continue;
    if (leaf.strides[axis] != stride) return false;
    stride *= leaf.shape[axis];
  }
  return !order.empty();
}

/// Whether an element is repeated along an axis, or there is none.
bool has_no_order(const Leaf& leaf) {
  for (int axis = 0; axis < leaf.rank; ++axis)
    if (leaf.shape[axis] == 0 || (leaf.shape[axis] != 1 && leaf.strides[axis] == 0)) return true;
  return false;
}

/// Whether `order` is that of the axes of an argument in memory, as order_of_leaf would find it.
bool lies_in_order(const Leaf& leaf, const AxisOrder& order) {
  if (has_no_order(leaf)) return order.empty();
  int64_t before = -1;
  for (int i = 0; i < leaf.rank; ++i) {
    const int64_t axis = order.empty() ? i : order[static_cast<size_t>(i)];
    if (leaf.shape[axis] == 1) continue;
    const int64_t stride = std::abs(leaf.strides[axis]);
    const int64_t outer = before < 0 ? INT64_MAX : std::abs(leaf.strides[before]);
    if (outer < stride || (outer == stride && before > axis)) return false;
    before = axis;
  }
  return true;
}

bool read_python_array(const PythonArray& array, PyObject* object, Leaf& leaf) {
  if (array.array.is_traced()) return false;
  const Memory& memory = memory_of(array.array, "a call", std::source_location::current());
  const TensorType& type = array.array.type();
  leaf.dtype = type.dtype;
  leaf.weak = array.weak;
  leaf.dense = memory.layout.dense;
  leaf.writeable = memory.writeable && memory.owner.use_count() == 1;  // else a view shares it
  leaf.scalar = false;
  leaf.rank = static_cast<int>(type.rank());
  leaf.shape = type.shape.data();
  leaf.strides = memory.strides.data();
  leaf.data = memory.data;
  leaf.object = object;
  return true;
}

bool is_memory_map(PyObject* object) {
  return PyArray_Check(object) && std::strcmp(Py_TYPE(object)->tp_name, "memmap") == 0;
}

}  // namespace

bool read_any(PyObject* object, Leaf& leaf, std::vector<nb::object>& made) {
  if (read_fast(object, leaf)) return true;
  if (const PythonArray* array = as_python_array(object)) return read_python_array(*array, object, leaf);
  if (is_memory_map(object)) return read_ndarray(reinterpret_cast<PyArrayObject*>(object), leaf);
  if (PyArray_CheckScalar(object) && !PyArray_Check(object)) {
    nb::object array = nb::steal(PyArray_FromScalar(object, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    made.push_back(array);
    if (!read_ndarray(reinterpret_cast<PyArrayObject*>(array.ptr()), leaf)) return false;
    leaf.scalar = true;
    return true;
  }
  return false;
}

AxisOrder order_of_leaf(const Leaf& leaf) {
  if (leaf.dense) return {};
  const auto rank = static_cast<size_t>(leaf.rank);
  return order_in_memory({leaf.shape, rank}, {leaf.strides, rank});
}

LeafSpec LeafSpec::of(const Leaf& leaf, bool donated) {
  LeafSpec spec{.dtype = leaf.dtype,
                .weak = leaf.weak,
                .dense = leaf.dense,
                .donated = donated,
                .scalar = leaf.scalar,
                .rank = leaf.rank,
                .shape = Shape(leaf.shape, leaf.shape + leaf.rank),
                .axes = {},
                .order = order_of_leaf(leaf)};
  spec.gapless = is_gapless(leaf, spec.order);
  if (!leaf.dense) {
    for (int axis = 0; axis < leaf.rank; ++axis) spec.axes.push_back(axis_code(leaf, axis));
  }
  return spec;
}

Layout LeafSpec::layout_in_memory(const Leaf& leaf) const {
  if (dense || gapless) return {};
  const std::vector<int64_t> strides(leaf.strides, leaf.strides + leaf.rank);
  return Layout::of(type_in_memory(), (order.empty() ? strides : in_order(strides, order)).data());
}

bool LeafSpec::matches_strides(const Leaf& leaf) const {
  if (gapless) return is_gapless(leaf, order);
  for (int axis = 0; axis < rank; ++axis) {
    if (axis_code(leaf, axis) != axes[static_cast<size_t>(axis)]) return false;
  }
  return lies_in_order(leaf, order);
}

void append_key(std::string& key, const Leaf& leaf) {
  key += static_cast<char>(leaf.dtype);
  key += static_cast<char>(leaf.weak);
  key += static_cast<char>(leaf.dense);
  key += static_cast<char>(leaf.scalar);
  key += static_cast<char>(leaf.rank);
  key.append(reinterpret_cast<const char*>(leaf.shape), sizeof(int64_t) * static_cast<size_t>(leaf.rank));
  if (leaf.dense) return;
  for (int axis = 0; axis < leaf.rank; ++axis) key += static_cast<char>(axis_code(leaf, axis));
  const AxisOrder order = order_of_leaf(leaf);
  for (int64_t axis : order) key += static_cast<char>(axis);
  key += static_cast<char>(is_gapless(leaf, order));
}

}  // namespace tokamak::python
