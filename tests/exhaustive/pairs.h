#pragma once

// Every pair of small integers.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/op.h"
#include "tokamak/types.h"

namespace tokamak::exhaustive {

struct PairsFinding {
  Op op;
  DType dtype;
  uint64_t lengths = 0;  ///< programs, one for each length of the operands
  uint64_t values = 0;   ///< results that were compared
  uint64_t wrong = 0;    ///< runs with a result that is not what it should be
  std::string first_wrong;
};

/// Operations of two operands that take i8 or u8, as ops.def lists them.
std::vector<Op> binary_ops_of(DType dtype);

/// Every pair of values of i8 or u8, in arrays that have them all: each at every place of a vector of up to
/// 64 bytes. And in arrays from one element to two vectors: each pair at every place of every length if
/// `everywhere`, otherwise somewhere in each length between one and two vectors. Throws for an op that
/// nothing here judges.
PairsFinding check_pairs(Op op, DType dtype, bool everywhere);

}  // namespace tokamak::exhaustive
