#pragma once

#include "ir/graph.h"
#include "tokamak/errors.h"

namespace tokamak {

/// Writes the program that shows a bug of ours to a file, and gives the error that tells the user so.
InternalError with_bug_report(const InternalError& error, const Graph& graph) noexcept;
/// The same for a program that is there as text IR.
InternalError with_bug_report(const InternalError& error, const std::string& program) noexcept;

}  // namespace tokamak
