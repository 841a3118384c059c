#pragma once

#include "numpy_api.h"

#include <cstdint>
#include <cstring>

#include "array.h"
#include "dtypes.h"
#include "runtime/program.h"
#include "tokamak/types.h"
#include "trace/numpy_strides.h"

namespace tokamak::python {

/// An argument as compiled code sees it. Points into the Python object it was read from.
struct Leaf {
  DType dtype;
  Weak weak;
  bool dense;  ///< row-major without gaps
  bool writeable;
  bool scalar;  ///< one of NumPy's scalars, which is no array: nobody can write to it
  int rank;
  const int64_t* shape;
  const int64_t* strides;  ///< in bytes
  const void* data;
  PyObject* object;  ///< borrowed
  union {            ///< what `data` points to when the argument is one of Python's numbers
    uint8_t boolean;
    int64_t integer;
    double floating;
  } number;

  Leaf() {}  // NOLINT: all of it is written by the readers below, and a call must not pay for zeroing it
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  TensorType type() const { return {dtype, Shape(shape, shape + rank)}; }
  int64_t elements() const { return element_count({shape, static_cast<size_t>(rank)}); }
};
static_assert(sizeof(npy_intp) == sizeof(int64_t));

/// Reads an ndarray (not a subclass) of a dtype we have.
inline bool read_ndarray(PyArrayObject* array, Leaf& leaf) {
  const std::optional<DType> dtype = dtype_of(PyArray_DESCR(array));
  if (!dtype) return false;
  const int flags = PyArray_FLAGS(array);
  leaf.dtype = *dtype;
  leaf.weak = Weak::none;
  leaf.dense = (flags & NPY_ARRAY_C_CONTIGUOUS) != 0;
  leaf.writeable = (flags & NPY_ARRAY_WRITEABLE) != 0;
  leaf.scalar = false;
  leaf.rank = PyArray_NDIM(array);
  leaf.shape = reinterpret_cast<const int64_t*>(PyArray_DIMS(array));
  leaf.strides = reinterpret_cast<const int64_t*>(PyArray_STRIDES(array));
  leaf.data = PyArray_DATA(array);
  leaf.object = reinterpret_cast<PyObject*>(array);
  return true;
}

/// Reads one of Python's own numbers. False for other objects, and for integers beyond 64 bits.
inline bool read_number(PyObject* object, Leaf& leaf) {
  if (PyFloat_CheckExact(object)) {
    leaf.dtype = DType::f64;
    leaf.weak = Weak::floating;
    leaf.number.floating = PyFloat_AS_DOUBLE(object);
  } else if (PyBool_Check(object)) {
    leaf.dtype = DType::boolean;
    leaf.weak = Weak::boolean;
    leaf.number.boolean = object == Py_True;
  } else if (PyLong_CheckExact(object)) {
    int overflow = 0;
    leaf.dtype = DType::i64;
    leaf.weak = Weak::integer;
    leaf.number.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
  } else {
    return false;
  }
  leaf.dense = true;
  leaf.writeable = false;
  leaf.scalar = false;
  leaf.rank = 0;
  leaf.shape = leaf.strides = nullptr;
  leaf.data = &leaf.number;
  leaf.object = object;
  return true;
}

/// The arguments of the hot path: ndarrays and Python's numbers. Nothing else is looked at.
inline bool read_fast(PyObject* object, Leaf& leaf) {
  if (Py_IS_TYPE(object, &PyArray_Type)) return read_ndarray(reinterpret_cast<PyArrayObject*>(object), leaf);
  return read_number(object, leaf);
}

/// Everything that may be an argument: also memory maps, NumPy scalars and tokamak.Arrays with memory. What
/// had to be made on the way is kept in `made`. False when the object is none of these.
bool read_any(PyObject* object, Leaf& leaf, std::vector<nb::object>& made);

/// The only element of an argument without axes, so that 0.0 and -0.0 are different, and a NaN is itself.
inline uint64_t bytes_of_number(const Leaf& leaf) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, leaf.data, size_of(leaf.dtype));
  return bytes;
}

/// The order in which the axes of an argument lie in memory; empty when that is their own order.
AxisOrder order_of_leaf(const Leaf& leaf);

/// What a program was compiled for, argument by argument.
struct LeafSpec {
  DType dtype;
  Weak weak;
  bool dense;
  bool donated;
  bool scalar;
  bool known = false;  ///< a number that the program was compiled for: `value`, and no other
  int rank;
  std::vector<int64_t> shape;
  std::vector<uint32_t> axes;  ///< of arguments that are not dense: what the program may know of each stride
  AxisOrder order;             ///< in which the axes lie in memory, and the program takes them
  bool gapless = false;        ///< dense, once its axes are put in that order
  uint64_t value = 0;          ///< the bytes of the number

  static LeafSpec of(const Leaf& leaf, bool donated);
  /// The type and the layout of the program's parameter.
  TensorType type_in_memory() const { return {dtype, order.empty() ? shape : in_order(shape, order)}; }
  Layout layout_in_memory(const Leaf& leaf) const;
  /// Makes the value of a number part of what the program was compiled for.
  void know(const Leaf& leaf) {
    known = true;
    value = bytes_of_number(leaf);
  }
  bool matches(const Leaf& leaf) const {
    if (leaf.dtype != dtype || leaf.rank != rank || leaf.dense != dense || leaf.weak != weak ||
        leaf.scalar != scalar)
      return false;
    for (int i = 0; i < rank; ++i) {
      if (leaf.shape[i] != shape[static_cast<size_t>(i)]) return false;
    }
    if (known && bytes_of_number(leaf) != value) return false;
    return dense || matches_strides(leaf);
  }
  bool matches_strides(const Leaf& leaf) const;
};

/// A text that is equal for arguments which the same program serves.
void append_key(std::string& key, const Leaf& leaf);

}  // namespace tokamak::python
