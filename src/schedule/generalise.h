#pragma once

#include <optional>
#include <span>
#include <vector>

#include "loops/nest.h"

namespace tokamak {

/// A kernel, and apart from it the numbers in it that code may as well read at run time: how often loops run,
/// where accesses begin and how far apart rows lie.
///   for i in 0..93 { v0 = %a[100*i + 7] }  =>  for i in 0..0 { v0 = %a[i] }; 93, 100, 7
struct KernelShape {
  LoopKernel shape;              ///< equal for kernels that can share code
  std::vector<int64_t> numbers;  ///< in an order that the shape decides
};
KernelShape shape_of(const LoopKernel& kernel);

/// One kernel in place of several, with LoopKernel::numbers where those differ.
struct GeneralKernel {
  LoopKernel kernel;
  std::vector<std::vector<int64_t>> numbers;  ///< of each of them
};
/// `first` in a form that is every one of the kernels, all of its shape, whose numbers are given. None where
/// they differ in too many.
std::optional<GeneralKernel> generalise(const LoopKernel& first,
                                        std::span<const std::vector<int64_t>* const> numbers);

}  // namespace tokamak
