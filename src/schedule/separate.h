#pragma once

#include "loops/nest.h"

namespace tokamak {

/// Gives rounds in which the conditions on loop variables have one answer a body that does not ask: the
/// inside of a stencil apart from its edges, each operand of a concatenation apart from the others. Row loops
/// and serial ones get branches in their body; a vector loop becomes several, one after the other. `aligned`:
/// they begin at multiples of its lanes; sums always do, so that what is added up in which order stays as it
/// was.
void separate_ranges(LoopKernel& kernel, bool aligned);

/// Whether that would change anything.
bool has_ranges_to_separate(const LoopKernel& kernel);

}  // namespace tokamak
