#pragma once

// Which ops, dtypes and shapes the tests go through.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "ops/record.h"

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

/// A wide float, a narrow one and the narrowest integer, as far as the op takes them; otherwise bool.
inline std::vector<DType> representative_dtypes(Op op) {
  std::vector<DType> dtypes;
  for (DType dtype : {DType::f32, DType::i8, DType::f64}) {
    if (contains(record_of(op).dtypes, dtype)) dtypes.push_back(dtype);
  }
  if (dtypes.empty()) dtypes.push_back(DType::boolean);
  return dtypes;
}

/// Scalars, nothing, one, and sizes around the widths of vectors and their multiples; up to five axes.
inline const std::vector<Shape> kShapes = {{},        {0},    {1},     {2},       {3},
                                           {4},       {5},    {7},     {8},       {9},
                                           {15},      {16},   {17},    {31},      {33},
                                           {63},      {65},   {129},   {1003},    {3, 0, 2},
                                           {1, 1, 1}, {5, 3}, {3, 17}, {9, 1, 5}, {2, 3, 2, 3, 5}};

inline std::string op_test_name(const ::testing::TestParamInfo<Op>& info) {
  return std::string(name_of(info.param));
}

}  // namespace tokamak::testing
