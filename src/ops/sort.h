#pragma once

#include "ops/record.h"

namespace tokamak {

/// Places [first, last) of sorted lines.
struct SortRange {
  int64_t first;
  int64_t last;
};
/// What a sort makes of lines of that length: all of it, unless it says otherwise.
SortRange range_of_sort(const Attributes& sort, int64_t length);

}  // namespace tokamak

namespace tokamak::rules {

/// sort, argsort {axis, starts?, limits?}: the lines along an axis; with starts and limits of one entry each
/// only that range of every sorted line.
///   f32[8] {axis=0, starts=[2], limits=[5]}  =>  f32[3]
TensorType sort(const TypeContext& context);
TensorType argsort(const TypeContext& context);

inline constexpr OpRecord kSorting[] = {
    {.op = Op::sort,
     .dtypes = DTypes::any,
     .type = sort,
     .attributes = attr_set({Attr::axis}),
     .optional = attr_set({Attr::starts, Attr::limits}),
     .exact = true},
    {.op = Op::argsort,
     .dtypes = DTypes::any,
     .type = argsort,
     .attributes = attr_set({Attr::axis}),
     .optional = attr_set({Attr::starts, Attr::limits})},
};

}  // namespace tokamak::rules
