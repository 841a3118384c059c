#pragma once

#include <span>
#include <vector>

#include "fusion/kernel.h"
#include "ir/layout.h"

namespace tokamak {

/// Makes kernels equal that differ only in where a part of an array begins, or in numbers, as those of the
/// steps of an unrolled loop do: equal kernels are compiled once.
///   %0 = slice %a0 {starts=[7,0], limits=[8,100]}; %1 = mul %0, 7.0     (a0: f64[200,100])
///   =>  %0 = slice %a0 {starts=[0,0], limits=[1,100]}; %1 = mul %0, %a1  (a0: f64[1,100], 700 elements in)
/// Kernels that have none like them stay as they are.
void share_code(const Graph& graph, std::span<const Layout> layouts, std::vector<FusedKernel>& kernels);

}  // namespace tokamak
