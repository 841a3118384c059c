// Which part of an array views of views of it are: found by making them of an ndarray.

#include "part_after.h"

#include "numpy_api.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

namespace tokamak::python {
namespace {

using Axis = std::pair<int64_t, int64_t>;  ///< of the array, and the step along it; -1 for one of one element
using Part = std::pair<nb::tuple, nb::tuple>;  ///< where the first element is, and an Axis for every axis

PyArrayObject* ndarray(const nb::object& object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

/// An array of a shape, each element a byte, that nobody writes to or reads.
nb::object array_of_bytes(const std::vector<int64_t>& shape) {
  std::vector<npy_intp> extents(shape.begin(), shape.end());
  nb::object made = nb::steal(PyArray_SimpleNew(static_cast<int>(extents.size()), extents.data(), NPY_INT8));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

/// The axis along which a stride leads `extent` elements on without leaving the array.
std::optional<Axis> axis_along(PyArrayObject* whole, const std::vector<int64_t>& starts, int64_t extent,
                               int64_t stride) {
  if (extent == 1) return Axis(-1, 0);
  for (int axis = 0; axis < PyArray_NDIM(whole); ++axis) {
    const int64_t one = PyArray_STRIDE(whole, axis);
    if (stride == 0 || stride % one != 0) continue;
    const int64_t last = starts[static_cast<size_t>(axis)] + stride / one * (extent - 1);
    if (last >= 0 && last < PyArray_DIM(whole, axis)) return Axis(axis, stride / one);
  }
  return std::nullopt;
}

/// The part that views are of an array of a shape; nothing where they are all of it, or no such part. A step
/// makes a view of an ndarray.
std::optional<Part> part_after(const nb::list& steps, const std::vector<int64_t>& shape) {
  const nb::object whole = array_of_bytes(shape);
  nb::object made = whole;
  for (nb::handle step : steps) made = step(made);
  if (!PyArray_Check(made.ptr())) return std::nullopt;
  PyArrayObject* const all = ndarray(whole);
  PyArrayObject* const part = ndarray(made);
  int64_t offset = PyArray_BYTES(part) - PyArray_BYTES(all);
  const bool is_all = PyArray_NDIM(part) == PyArray_NDIM(all) &&
                      PyArray_CompareLists(PyArray_DIMS(part), PyArray_DIMS(all), PyArray_NDIM(all));
  if (is_all || offset < 0 || offset >= PyArray_SIZE(all)) return std::nullopt;  // a copy is somewhere else
  std::vector<int64_t> starts;
  for (int axis = 0; axis < PyArray_NDIM(all); ++axis) {
    const int64_t stride = PyArray_STRIDE(all, axis);
    starts.push_back(offset / stride);
    offset %= stride;
  }
  std::vector<Axis> axes;
  for (int axis = 0; axis < PyArray_NDIM(part); ++axis) {
    const auto along = axis_along(all, starts, PyArray_DIM(part, axis), PyArray_STRIDE(part, axis));
    if (!along) return std::nullopt;
    axes.push_back(*along);
  }
  return Part(nb::tuple(nb::cast(starts)), nb::tuple(nb::cast(axes)));
}

}  // namespace

void bind_part_after(nb::module_& module) {
  module.def("part_after", part_after, nb::arg("steps"), nb::arg("shape"));
}

}  // namespace tokamak::python
