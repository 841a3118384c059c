#pragma once

// Values that one loop over rows computes and a later one over the same rows needs.

#include <vector>

#include "loops/nest.h"

namespace tokamak {

/// What one of the loops over `var` in `body` computes, and another one uses, goes through a row of scratch
/// of `extent` elements.
///   for i { v = acc }  for i { w = log v }
///   =>  for i { v = acc; %row[i] = v }  for i { u = %row[i]; w = log u }
void hand_over(LoopKernel& kernel, LoopVar var, int64_t extent, std::vector<Stmt>& body);

}  // namespace tokamak
