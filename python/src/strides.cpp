#include "strides.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "ir/layout.h"
#include "trace/array_impl.h"
#include "trace/numpy_strides.h"
#include "trace/trace.h"

namespace tokamak::python {
namespace {

using Strides = std::vector<int64_t>;

const Recorded& traced_value(const PythonArray& self) {
  const Recorded* recorded = self.array.impl().recorded();
  if (recorded == nullptr) throw InternalError("an array with memory has strides of its own");
  return *recorded;
}

/// The strides, in elements, that NumPy would give a traced value.
nb::tuple numpy_strides(const PythonArray& self) {
  const Recorded& recorded = traced_value(self);
  return nb::tuple(nb::cast(recorded.trace->numpy_strides(recorded.value)));
}

/// Those of the memory that it gets when it is a result.
nb::tuple given_strides(const PythonArray& self) {
  const Recorded& recorded = traced_value(self);
  return nb::tuple(nb::cast(recorded.trace->given_strides(recorded.value)));
}

/// Says what the strides are that NumPy would give a traced value that was just made.
void say_numpy_strides(const PythonArray& self, Strides strides) {
  const Recorded& recorded = traced_value(self);
  recorded.trace->say_numpy_strides(recorded.value, std::move(strides));
}

/// A traced value gets memory that lies as NumPy's when it is a result.
void give_numpy_strides(const PythonArray& self) {
  const Recorded& recorded = traced_value(self);
  recorded.trace->give_numpy_strides(recorded.value);
}

/// Whether elements are repeated along an axis.
bool is_stretched(const Shape& shape, const Strides& strides) {
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (strides[axis] == 0 && shape[axis] > 1) return true;
  return false;
}

/// Of an array that has memory of its own, or will have it: that of one of which all elements along an axis
/// are the same one is without gaps.
Strides own_strides(const Array& array) {
  const Shape& shape = array.shape();
  if (const Recorded* recorded = array.impl().recorded()) {
    const Strides strides = recorded->trace->numpy_strides(recorded->value);
    const bool is_repeated = is_stretched(shape, strides);
    return strides_in_order(shape, is_repeated ? AxisOrder() : order_in_memory(shape, strides));
  }
  Strides strides = memory_of(array, "strides", std::source_location::current()).strides;
  if (is_stretched(shape, strides)) return strides_in_order(shape, {});
  for (int64_t& stride : strides) stride /= static_cast<int64_t>(size_of(array.dtype()));
  return strides;
}

const Array& array_in(nb::handle object) {
  const PythonArray* held = as_python_array(object.ptr());
  if (held == nullptr) throw InternalError("strides of what is no tokamak.Array");
  return held->array;
}

/// In elements: those that its place says, or else its own.
nb::object strides_of(nb::handle x) {
  const nb::object place = place_of(x);
  return place.is_none() ? nb::tuple(nb::cast(own_strides(array_in(x)))) : place.attr("strides");
}

/// Whether the elements lie in the order of the axes, without gaps.
bool lies_by_rows(nb::handle x) {
  const Array& array = array_in(x);
  const nb::object place = place_of(x);
  const Strides strides =
      place.is_none() ? own_strides(array) : nb::cast<Strides>(nb::object(place.attr("strides")));
  return strides == strides_in_order(array.shape(), {});
}

}  // namespace

void bind_strides(nb::class_<PythonArray>& array, nb::module_& module) {
  array.def("_numpy_strides", numpy_strides)
      .def("_given_strides", given_strides)
      .def("_say_numpy_strides", say_numpy_strides, nb::arg("strides"))
      .def("_give_numpy_strides", give_numpy_strides);
  module.def("strides_of", strides_of, nb::arg("x"));
  module.def("lies_by_rows", lies_by_rows, nb::arg("x"));
}

}  // namespace tokamak::python
