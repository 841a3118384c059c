#include "array.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>  // PyMemberDef, before Python 3.12

#include <array>

#include "attributes.h"
#include "dtypes.h"
#include "errors.h"
#include "ir/text.h"
#include "location.h"
#include "strides.h"
#include "trace/apply.h"
#include "trace/array_impl.h"
#include "trace/trace.h"
#include "tracing.h"

namespace tokamak::python {
namespace {

/// The Python class, a subclass of the one that bind_array makes. It lives as long as the interpreter.
PyObject* python_class = nullptr;
PyTypeObject* base_class = nullptr;
Py_ssize_t place_offset = 0;  ///< of the slot `_place` in instances of the class

/// Above this many elements an eager operation is worth letting other Python threads run meanwhile.
constexpr int64_t kReleaseElements = 1 << 15;

constexpr std::source_location kHere = std::source_location::current();

Array apply_releasing(Op op, std::span<const Array> inputs, Attributes attributes) {
  bool traced = inputs.empty();
  int64_t elements = 0;
  for (const Array& input : inputs) {
    traced |= input.is_traced();
    elements += input.size();
  }
  if (traced || elements < kReleaseElements) return apply(op, inputs, std::move(attributes), kHere);
  nb::gil_scoped_release release;
  return apply(op, inputs, std::move(attributes), kHere);
}

nb::object apply_named(const std::string& name, const std::vector<nb::object>& operands,
                       const nb::kwargs& attributes) {
  const std::optional<Op> op = op_named(name);
  if (!op) throw InternalError("there is no operation '" + name + "'");
  std::vector<Array> inputs;
  inputs.reserve(operands.size());
  for (const nb::object& operand : operands) {
    const PythonArray* array = as_python_array(operand.ptr());
    if (array == nullptr) throw InternalError(name + ": an operand is not a tokamak.Array");
    inputs.push_back(array->array);
  }
  return make_python_array(apply_releasing(*op, inputs, attributes_from(attributes)));
}

nb::object shape_tuple(const PythonArray& self) {
  const Shape& shape = self.array.shape();
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  }
  return tuple;
}

void set_shape(nb::handle self, nb::handle shape) {
  nb::module_::import_("tokamak._numpy.shapes").attr("set_shape")(self, shape);
}

nb::object weak_type(const PythonArray& self) {
  switch (self.weak) {
    case Weak::none:
      return nb::none();
    case Weak::boolean:
      return nb::borrow(reinterpret_cast<PyObject*>(&PyBool_Type));
    case Weak::integer:
      return nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type));
    case Weak::floating:
      return nb::borrow(reinterpret_cast<PyObject*>(&PyFloat_Type));
  }
  return nb::none();
}

nb::object with_weak(const PythonArray& self, nb::handle type) {
  Weak weak = Weak::none;
  if (type.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) weak = Weak::boolean;
  if (type.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) weak = Weak::integer;
  if (type.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) weak = Weak::floating;
  return make_python_array(self.array, weak);
}

nb::object as_constant(const PythonArray& self) {
  nb::object made = make_python_array(self.array);
  nb::inst_ptr<PythonArray>(made)->is_constant = true;
  return made;
}

/// An ndarray over the memory of `self`.
nb::object ndarray_view(nb::handle self, bool writeable) {
  const PythonArray& held = *as_python_array(self.ptr());
  const Memory& memory = memory_of(held.array, "an ndarray", kHere);
  const TensorType& type = held.array.type();
  PyArray_Descr* descr = descr_of(type.dtype);
  Py_INCREF(descr);
  const int flags = NPY_ARRAY_ALIGNED | (writeable ? NPY_ARRAY_WRITEABLE : 0);
  std::vector<npy_intp> shape(type.shape.begin(), type.shape.end());
  std::vector<npy_intp> strides(memory.strides.begin(), memory.strides.end());
  nb::object view =
      nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(shape.size()), shape.data(),
                                     strides.data(), memory.data, flags, nullptr));
  if (!view.is_valid()) throw nb::python_error();
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view.ptr()),
                            nb::object(nb::borrow(self)).release().ptr()) < 0) {
    throw nb::python_error();
  }
  return view;
}

nb::object wrap_object(nb::handle object) {
  if (!PyArray_Check(object.ptr())) throw nb::type_error("expected an ndarray");
  note_captured(object.ptr());
  return make_python_array(wrap_ndarray(reinterpret_cast<PyArrayObject*>(object.ptr())));
}

const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "?";
    case DType::i8:
      return "b";
    case DType::i16:
      return "h";
    case DType::i32:
      return "i";
    case DType::i64:
      return "l";
    case DType::u8:
      return "B";
    case DType::u16:
      return "H";
    case DType::u32:
      return "I";
    case DType::u64:
      return "L";
    case DType::f16:
      return "e";
    case DType::bf16:
      return nullptr;
    case DType::f32:
      return "f";
    case DType::f64:
      return "d";
  }
  return nullptr;
}

/// What a buffer view points to besides the elements.
struct BufferParts {
  Array array;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
};

void fill_buffer(PyObject* self, Py_buffer* view, int flags) {
  const PythonArray& held = *as_python_array(self);
  const Memory& memory = memory_of(held.array, "the buffer", kHere);
  const TensorType& type = held.array.type();
  const char* format = buffer_format(type.dtype);
  if (format == nullptr) throw nb::buffer_error("the buffer protocol has no bfloat16");
  if (flags & PyBUF_WRITABLE) throw nb::buffer_error("a tokamak.Array is read-only");
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !memory.layout.dense) {
    throw nb::buffer_error("the array is not dense, and the consumer takes no strides");
  }
  auto parts = std::make_unique<BufferParts>();
  parts->array = held.array;
  parts->shape.assign(type.shape.begin(), type.shape.end());
  parts->strides.assign(memory.strides.begin(), memory.strides.end());
  view->buf = memory.data;
  view->len = type.bytes();
  view->itemsize = static_cast<Py_ssize_t>(size_of(type.dtype));
  view->readonly = 1;
  view->ndim = static_cast<int>(type.rank());
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) ? parts->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? parts->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = parts.release();
  Py_INCREF(self);
  view->obj = self;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (PyErr_Occurred()) return -1;  // compiled code that goes on after an error: that one counts
  try {
    fill_buffer(self, view, flags);
    return 0;
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  } catch (...) {
    raise_python_error(std::current_exception());
  }
  return -1;
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<BufferParts*>(view->internal); }

// -- What tracing asks of every operand: attributes of C, which take a fraction of the time of properties.

/// `get(array)` is the attribute; an instance that was never made has none.
template <auto get>
PyObject* attribute(PyObject* self, void*) noexcept {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_TypeError, "an Array that was not made by tokamak");
    return nullptr;
  }
  try {
    return nb::object(get(*nb::inst_ptr<PythonArray>(self))).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

int assign_shape(PyObject* self, PyObject* shape, void*) noexcept {
  if (shape == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "Cannot delete array shape");
    return -1;
  }
  try {
    set_shape(self, shape);
    return 0;
  } catch (nb::python_error& error) {
    error.restore();
  }
  return -1;
}

nb::object rank_of(const PythonArray& self) { return nb::int_(self.array.rank()); }
nb::object dtype_of(const PythonArray& self) {
  return nb::borrow(reinterpret_cast<PyObject*>(descr_of(self.array.dtype())));
}
nb::object is_traced(const PythonArray& self) {
  return nb::borrow(self.array.is_traced() ? Py_True : Py_False);
}

PyGetSetDef kAttributes[] = {
    {"shape", attribute<shape_tuple>, assign_shape, nullptr, nullptr},
    {"ndim", attribute<rank_of>, nullptr, nullptr, nullptr},
    {"dtype", attribute<dtype_of>, nullptr, nullptr, nullptr},
    {"_traced", attribute<is_traced>, nullptr, nullptr, nullptr},
    {"_weak", attribute<weak_type>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_getset, kAttributes},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

}  // namespace

nb::object make_python_array(Array array, Weak weak) {
  nb::object instance = nb::inst_alloc(nb::handle(python_class));
  new (nb::inst_ptr<PythonArray>(instance)) PythonArray{std::move(array), weak, false};
  nb::inst_mark_ready(instance);
  return instance;
}

const PythonArray* as_python_array(PyObject* object) {
  if (!PyObject_TypeCheck(object, base_class)) return nullptr;
  return nb::inst_ptr<PythonArray>(nb::handle(object));
}

nb::object place_of(nb::handle value) {
  if (python_class == nullptr ||
      !PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(python_class)))
    return nb::none();
  PyObject* const place = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(value.ptr()) + place_offset);
  return place == nullptr ? nb::none() : nb::borrow(place);
}

std::shared_ptr<void> share_reference(PyObject* object) {
  Py_INCREF(object);
  return {static_cast<void*>(object), [](void* kept) {
            if (!Py_IsInitialized()) return;
            const PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF(static_cast<PyObject*>(kept));
            PyGILState_Release(state);
          }};
}

Array wrap_ndarray(PyArrayObject* ndarray) {
  const std::optional<DType> dtype = dtype_of(PyArray_DESCR(ndarray));
  if (!dtype) {
    nb::str name = nb::str(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(ndarray))));
    throw UserError(
        std::string("arrays of dtype ") + name.c_str() +
            " are not supported; bool, integers, and floats of 16, 32 and 64 bits in native byte order are",
        user_python_line(), UserError::Kind::type);
  }
  const int rank = PyArray_NDIM(ndarray);
  const npy_intp* shape = PyArray_DIMS(ndarray);
  const npy_intp* strides = PyArray_STRIDES(ndarray);
  const Array wrapped = Array::wrap(PyArray_DATA(ndarray), TensorType{*dtype, Shape(shape, shape + rank)},
                                    std::vector<int64_t>(strides, strides + rank),
                                    share_reference(reinterpret_cast<PyObject*>(ndarray)), kHere);
  if (PyArray_ISWRITEABLE(ndarray)) return wrapped;
  Memory memory = *wrapped.impl().memory();
  memory.writeable = false;
  return make_array(wrapped.type(), std::move(memory));
}

namespace {

/// Whether two values of a graph are computed in the same way from the same values. `budget` is how many
/// operations are looked at before the answer is no.
bool is_computed_alike(const Graph& graph, Value a, Value b, int& budget) {
  if (a == b) return true;
  const Node& one = graph[a];
  const Node& other = graph[b];
  if (--budget < 0 || one.op == Op::parameter || one.op != other.op || one.type != other.type) return false;
  if (one.op == Op::constant) return *graph.constant_value(a) == *graph.constant_value(b);
  if (one.attributes != other.attributes || one.inputs.size() != other.inputs.size()) return false;
  for (size_t i = 0; i < one.inputs.size(); ++i)
    if (!is_computed_alike(graph, one.inputs[i], other.inputs[i], budget)) return false;
  return true;
}

bool is_same_value(const PythonArray& a, const PythonArray& b) {
  const Recorded* one = a.array.impl().recorded();
  const Recorded* other = b.array.impl().recorded();
  if (one == nullptr || other == nullptr || one->trace != other->trace) return false;
  int budget = 1000;
  return is_computed_alike(one->trace->graph(), one->value, other->value, budget);
}

/// An array with memory as a value of what is traced; others as they are.
nb::object as_traced(const PythonArray& self) {
  Trace* trace = Trace::current();
  if (trace == nullptr || self.array.is_traced()) return make_python_array(self.array, self.weak);
  return make_python_array(trace->captured(self.array, user_python_line()), self.weak);
}

}  // namespace

void bind_array(nb::module_& module) {
  auto base =
      nb::class_<PythonArray>(module, "ArrayBase", nb::type_slots(kSlots))
          .def_prop_ro("size", [](const PythonArray& self) { return self.array.size(); })
          .def("_as_traced", as_traced)
          .def_prop_ro("_type_text", [](const PythonArray& self) { return to_string(self.array.type()); })
          .def("_with_weak", with_weak, nb::arg("type").none())
          .def_ro("_is_constant", &PythonArray::is_constant)
          .def("_as_constant", as_constant)
          .def("_become", [](PythonArray& self, const PythonArray& other) { self.array = other.array; })
          .def("_view", ndarray_view, nb::arg("writeable"));
  bind_strides(base, module);
  base_class = reinterpret_cast<PyTypeObject*>(base.ptr());
  module.def("set_array_class", [](nb::handle type) {
    Py_INCREF(type.ptr());
    python_class = type.ptr();
    const nb::object slot = type.attr("_place");
    if (Py_TYPE(slot.ptr()) != &PyMemberDescr_Type) throw nb::type_error("_place is no slot");
    place_offset = reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->offset;
  });
  module.def("place_of", place_of, nb::arg("value").none());
  module.def("is_same_value", is_same_value, nb::arg("a"), nb::arg("b"));
  module.def("wrap", wrap_object, nb::arg("ndarray"));
  module.def("apply", apply_named, nb::arg("op"), nb::arg("operands"), nb::arg("attributes"));
  module.def("set_bfloat16",
             [](nb::handle descr) { set_bfloat16(reinterpret_cast<PyArray_Descr*>(descr.ptr())); });
}

}  // namespace tokamak::python
