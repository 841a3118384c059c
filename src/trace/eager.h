#pragma once

#include <source_location>
#include <span>

#include "ir/attributes.h"
#include "ir/op.h"
#include "tokamak/array.h"

namespace tokamak {

/// Does one operation on arrays with memory, at once. Programs are kept, by operation, attributes, types and
/// layouts.
Array run_eagerly(Op op, std::span<const Array> inputs, const Attributes& attributes,
                  const std::source_location& where);

}  // namespace tokamak
