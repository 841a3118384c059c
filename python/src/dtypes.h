#pragma once

#include "numpy_api.h"

#include <optional>

#include "tokamak/types.h"

namespace tokamak::python {

/// Fills the tables below. Called once, when the module is imported.
void prepare_dtypes();

/// Tells which NumPy dtype bfloat16 is: that of ml_dtypes, once somebody has imported it.
void set_bfloat16(PyArray_Descr* descr);

namespace detail {
inline constexpr int kBuiltinTypes = 32;
extern int8_t dtype_by_type_number[kBuiltinTypes];  ///< -1 where Tokamak has no such dtype
extern int bfloat16_type_number;                    ///< -1 while nobody has imported ml_dtypes
}  // namespace detail

/// The dtype of a NumPy array; nullopt when it is none of ours, or not in native byte order.
inline std::optional<DType> dtype_of(const PyArray_Descr* descr) {
  const int number = descr->type_num;
  if (number < detail::kBuiltinTypes) {
    const int8_t dtype = detail::dtype_by_type_number[number];
    if (dtype < 0 || !PyArray_ISNBO(descr->byteorder)) return std::nullopt;
    return static_cast<DType>(dtype);
  }
  if (number == detail::bfloat16_type_number) return DType::bf16;
  return std::nullopt;
}

/// NumPy's dtype; a borrowed reference. Throws Unsupported for bf16 when ml_dtypes has not been imported.
PyArray_Descr* descr_of(DType dtype);

}  // namespace tokamak::python
