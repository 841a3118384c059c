#pragma once

// What the functions share: operands into arrays, axes into lists.

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokamak/array.h"
#include "tokamak/functions.h"
#include "trace/apply.h"
#include "trace/location.h"

namespace tokamak {

class Trace;

/// The trace that operations on these operands belong to; nullptr when they run at once.
Trace* trace_of(std::span<const Operand> operands);

/// The operand as an array; a number takes its default dtype.
Array as_array(const Operand& operand);
/// The same in `dtype`. `op` opens the message when an integer does not fit.
Array as_array(const Operand& operand, DType dtype, Trace* trace, std::string_view op);

/// Throws UserError: "sum: " before the message, the user's line behind it.
[[noreturn]] void fail(std::string_view op, const std::string& message, const std::source_location& where,
                       UserError::Kind kind = UserError::Kind::value);

/// `axis` counted from the front. `rank` is that of the result for functions that add axes.
int64_t normalized_axis(int64_t axis, int64_t rank, const TensorType& of, std::string_view op,
                        const std::source_location& where);
/// Sorted and without repetition, which is an error.
std::vector<int64_t> normalized_axes(const Axes& axes, int64_t rank, const TensorType& of,
                                     std::string_view op, const std::source_location& where);

/// `shape` with extent 1 at the (sorted) axes.
Shape with_ones_at(Shape shape, std::span<const int64_t> axes);

/// Views, left out where they would change nothing.
Array reshaped(const Array& x, Shape shape, const std::source_location& where);
Array broadcasted(const Array& x, Shape shape, const std::source_location& where);

}  // namespace tokamak
