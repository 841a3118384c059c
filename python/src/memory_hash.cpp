#include "memory_hash.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "array.h"
#include "block_hash.h"
#include "trace/array_impl.h"

namespace tokamak::python {
namespace {

constexpr size_t kMostGathered = 4096;

/// An axis of what is hashed: how often, and how far apart in bytes.
struct Axis {
  int64_t count;
  int64_t stride;
};

/// The axes, outermost first. What is the same all along an axis is looked at once, and axes whose elements
/// follow each other are one.
std::vector<Axis> axes_of(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return {{0, 0}};
    if (shape[i] == 1 || strides[i] == 0) continue;
    if (!axes.empty() && axes.back().stride == shape[i] * strides[i]) {
      axes.back() = {axes.back().count * shape[i], strides[i]};
    } else {
      axes.push_back({shape[i], strides[i]});
    }
  }
  return axes;
}

/// Elements that lie apart, one behind the other.
template <class Item>
void gather_items(const char* data, Axis axis, char* gathered) {
  for (int64_t i = 0; i < axis.count; ++i)
    std::memcpy(gathered + static_cast<size_t>(i) * sizeof(Item), data + i * axis.stride, sizeof(Item));
}

void gather(const char* data, Axis axis, size_t item, char* gathered) {
  if (item == 8) return gather_items<uint64_t>(data, axis, gathered);
  if (item == 4) return gather_items<uint32_t>(data, axis, gathered);
  if (item == 2) return gather_items<uint16_t>(data, axis, gathered);
  if (item == 1) return gather_items<uint8_t>(data, axis, gathered);
  for (int64_t i = 0; i < axis.count; ++i)
    std::memcpy(gathered + static_cast<size_t>(i) * item, data + i * axis.stride, item);
}

uint64_t hash_axis(const char* data, Axis axis, size_t item, uint64_t seed) {
  if (axis.stride == static_cast<int64_t>(item)) {
    return hash_block(data, static_cast<size_t>(axis.count) * item, seed);
  }
  char gathered[kMostGathered];
  const auto per_block = static_cast<int64_t>(sizeof(gathered) / item);
  for (int64_t first = 0; first < axis.count; first += per_block) {
    const int64_t count = std::min(per_block, axis.count - first);
    gather(data + first * axis.stride, {count, axis.stride}, item, gathered);
    seed = hash_block(gathered, static_cast<size_t>(count) * item, seed);
  }
  return seed;
}

uint64_t hash_axes(const char* data, std::span<const Axis> axes, size_t item, uint64_t seed) {
  if (axes.empty()) return hash_block(data, item, seed);
  if (axes.size() == 1) return hash_axis(data, axes[0], item, seed);
  for (int64_t i = 0; i < axes[0].count; ++i) {
    seed = hash_axes(data + i * axes[0].stride, axes.subspan(1), item, seed);
  }
  return seed;
}

uint64_t hash_form(std::span<const int64_t> shape, uint64_t seed) {
  return hash_block(reinterpret_cast<const char*>(shape.data()), shape.size_bytes(), seed);
}

uint64_t hash_ndarray(PyArrayObject* array) {
  const auto rank = static_cast<size_t>(PyArray_NDIM(array));
  const std::span shape(reinterpret_cast<const int64_t*>(PyArray_DIMS(array)), rank);
  const std::span strides(reinterpret_cast<const int64_t*>(PyArray_STRIDES(array)), rank);
  const char* data = PyArray_BYTES(array);
  const auto item = static_cast<size_t>(PyArray_ITEMSIZE(array));
  const PyArray_Descr* descr = PyArray_DESCR(array);
  const uint64_t form[] = {static_cast<uint64_t>(descr->type_num), static_cast<uint64_t>(descr->byteorder),
                           PyArray_IS_C_CONTIGUOUS(array)};
  const uint64_t seed = hash_form(shape, hash_block(reinterpret_cast<const char*>(form), sizeof(form), 0));
  if (PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array)) {
    return hash_block(data, static_cast<size_t>(PyArray_NBYTES(array)), seed);
  }
  if (item == 0 || item > kMostGathered) return seed;
  return hash_axes(data, axes_of(shape, strides), item, seed);
}

uint64_t hash_array(const PythonArray& held) {
  if (held.array.is_traced() || held.array.impl().is_donated()) return 0;
  const tokamak::Memory& memory = memory_of(held.array, "a captured array", std::source_location::current());
  const TensorType& type = held.array.type();
  const uint64_t seed = hash_form(type.shape, static_cast<uint64_t>(type.dtype));
  return hash_axes(reinterpret_cast<const char*>(memory.data), axes_of(type.shape, memory.strides),
                   size_of(type.dtype), seed);
}

uint64_t hash_view(Py_buffer& view) {
  if (PyBuffer_IsContiguous(&view, 'A'))
    return hash_block(static_cast<const char*>(view.buf), static_cast<size_t>(view.len), 0);
  std::vector<char> copy(static_cast<size_t>(view.len));
  if (PyBuffer_ToContiguous(copy.data(), &view, view.len, 'C') < 0) {
    PyErr_Clear();
    return 0;
  }
  return hash_block(copy.data(), copy.size(), 0);
}

uint64_t hash_buffer(PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
    PyErr_Clear();
    return 0;
  }
  const uint64_t hash = hash_view(view);
  PyBuffer_Release(&view);
  return hash;
}

}  // namespace

uint64_t hash_memory(PyObject* object) {
  if (PyArray_Check(object)) return hash_ndarray(reinterpret_cast<PyArrayObject*>(object));
  if (const PythonArray* array = as_python_array(object)) return hash_array(*array);
  return hash_buffer(object);
}

bool is_frozen(PyObject* object) {
  if (const PythonArray* array = as_python_array(object)) return array->is_constant;
  if (!PyArray_Check(object)) return false;
  PyObject* owner = object;
  while (owner != nullptr && PyArray_Check(owner))
    owner = PyArray_BASE(reinterpret_cast<PyArrayObject*>(owner));
  return owner != nullptr && PyBytes_Check(owner);
}

}  // namespace tokamak::python
