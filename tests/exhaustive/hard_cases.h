#pragma once

#include <vector>

namespace tokamak::exhaustive {

/// Doubles that are nearer to a multiple of pi/2 than others of their size: what is left of them without it
/// has to come from digits of pi that are far behind.
std::vector<double> nearest_to_quarter_turns();

}  // namespace tokamak::exhaustive
