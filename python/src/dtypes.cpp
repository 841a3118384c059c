#include "dtypes.h"

#include <algorithm>

#include "tokamak/errors.h"

namespace tokamak::python {

namespace detail {
int8_t dtype_by_type_number[kBuiltinTypes];
int bfloat16_type_number = -1;
}  // namespace detail

namespace {

constexpr size_t kDTypes = std::size(kAllDTypes);
PyArray_Descr* descr_by_dtype[kDTypes] = {};

struct Pair {
  int type_number;
  DType dtype;
};

/// Several C types have the same width; the first pair of a dtype is the one that results get.
constexpr Pair kPairs[] = {
    {NPY_BOOL, DType::boolean}, {NPY_INT8, DType::i8},       {NPY_INT16, DType::i16},
    {NPY_INT32, DType::i32},    {NPY_INT64, DType::i64},     {NPY_UINT8, DType::u8},
    {NPY_UINT16, DType::u16},   {NPY_UINT32, DType::u32},    {NPY_UINT64, DType::u64},
    {NPY_FLOAT16, DType::f16},  {NPY_FLOAT32, DType::f32},   {NPY_FLOAT64, DType::f64},
    {NPY_LONGLONG, DType::i64}, {NPY_ULONGLONG, DType::u64},
};
static_assert(sizeof(long long) == 8);

}  // namespace

void prepare_dtypes() {
  std::fill(std::begin(detail::dtype_by_type_number), std::end(detail::dtype_by_type_number), int8_t{-1});
  for (const Pair& pair : kPairs) {
    detail::dtype_by_type_number[pair.type_number] = static_cast<int8_t>(pair.dtype);
    PyArray_Descr*& descr = descr_by_dtype[static_cast<size_t>(pair.dtype)];
    if (descr == nullptr) descr = PyArray_DescrFromType(pair.type_number);
  }
}

void set_bfloat16(PyArray_Descr* descr) {
  Py_INCREF(descr);
  descr_by_dtype[static_cast<size_t>(DType::bf16)] = descr;
  detail::bfloat16_type_number = descr->type_num;
}

PyArray_Descr* descr_of(DType dtype) {
  PyArray_Descr* descr = descr_by_dtype[static_cast<size_t>(dtype)];
  if (descr == nullptr) {
    throw Unsupported("NumPy has no bfloat16 of its own; install and import ml_dtypes");
  }
  return descr;
}

}  // namespace tokamak::python
