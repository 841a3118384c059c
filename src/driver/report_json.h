#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokamak/explanation.h"

namespace tokamak {

/// How a kernel looks on the way down to machine code.
struct KernelLevel {
  std::string_view name;
  std::string (*of)(const KernelReport& kernel);
};
const KernelLevel* level_named(std::string_view name);  ///< graph, schedule, loops, llvm or asm; else nullptr

/// What a summary shows, as JSON: the function, its kernels, memory, fusions refused, dead code and times.
/// Kernels have the levels of `shown` as text, and the memory its plan if that has "memory".
std::string explanation_json(std::string_view function, const Explanation& explanation,
                             const std::vector<std::string>& shown);

}  // namespace tokamak
