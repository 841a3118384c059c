#pragma once

// The entry points that every front end goes through.

#include <source_location>
#include <span>

#include "ir/attributes.h"
#include "ir/op.h"
#include "tokamak/array.h"
#include "trace/location.h"

namespace tokamak {

/// One operation of the IR, with the IR's rules: dtypes must match already.
///
/// If an operand is traced (or there is none and this thread is tracing) the operation is recorded. Otherwise
/// it happens at once: views share the memory of their operand, everything else runs a one-operation program,
/// compiled on first use.
Array apply(Op op, std::span<const Array> inputs, Attributes attributes, const std::source_location& where);
Array apply(Op op, std::initializer_list<Array> inputs, Attributes attributes,
            const std::source_location& where);

/// An element-wise operation with NumPy's rules: numbers adopt the arrays' dtype, dtypes promote, integers
/// become floats where the operation needs floats. For every op of the family but convert; `select` takes any
/// condition.
Array elementwise(Op op, std::span<const Operand> operands);

}  // namespace tokamak
