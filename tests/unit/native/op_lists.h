#pragma once

// Which ops, dtypes and shapes the tests go through.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include "ops/record.h"

namespace tokamak {

/// How GoogleTest prints an op.
inline void PrintTo(Op op, std::ostream* to) { *to << name_of(op); }

}  // namespace tokamak

namespace tokamak::testing {

inline std::vector<Op> ops_of(std::initializer_list<OpFamily> families) {
  std::vector<Op> ops;
  for (size_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const bool wanted = std::find(families.begin(), families.end(), family_of(op)) != families.end();
    if (wanted) ops.push_back(op);
  }
  return ops;
}

inline std::vector<DType> dtypes_of(Op op) {
  std::vector<DType> dtypes;
  for (DType dtype : kAllDTypes) {
    if (contains(record_of(op).dtypes, dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

/// A dtype that the bits of another can be read as.
inline DType same_bits(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return DType::u32;
    case DType::f64:
      return DType::i64;
    case DType::i32:
      return DType::f32;
    case DType::u64:
      return DType::f64;
    case DType::i8:
      return DType::u8;
    case DType::u16:
      return DType::i16;
    default:
      return dtype;
  }
}

/// A wide float, a narrow one and the narrowest integer, as far as the op takes them; otherwise bool.
inline std::vector<DType> representative_dtypes(Op op) {
  std::vector<DType> dtypes;
  for (DType dtype : {DType::f32, DType::i8, DType::f64}) {
    if (contains(record_of(op).dtypes, dtype)) dtypes.push_back(dtype);
  }
  if (dtypes.empty()) dtypes.push_back(DType::boolean);
  return dtypes;
}

/// A scalar, nothing, one, and several axes, up to five.
inline const std::vector<Shape> kShapes = {{},        {0},    {1},     {37},      {3, 0, 2},
                                           {1, 1, 1}, {5, 3}, {3, 17}, {9, 1, 5}, {2, 3, 2, 3, 5}};

/// Those, and sizes around the widths of all vectors.
inline std::vector<Shape> shapes_for(DType dtype) {
  std::vector<Shape> shapes = kShapes;
  for (int64_t vector_bytes : {16, 32, 64}) {
    const int64_t lanes = vector_bytes / static_cast<int64_t>(size_of(dtype));
    for (int64_t size : {lanes - 1, lanes, lanes + 1}) shapes.push_back({size});
  }
  shapes.push_back({1003});
  return shapes;
}

inline std::string op_test_name(const ::testing::TestParamInfo<Op>& info) {
  return std::string(name_of(info.param));
}

}  // namespace tokamak::testing
