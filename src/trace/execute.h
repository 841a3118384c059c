#pragma once

#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/program.h"
#include "tokamak/array.h"
#include "trace/location.h"

namespace tokamak {

/// Runs a program on arrays with memory, which have the types and layouts it was compiled for. Outputs lie in
/// pool blocks, or in the memory of donated inputs, which are then unusable. Nothing is donated when the run
/// fails.
std::vector<Array> run_program(const Program& program, std::span<const Array> inputs, std::string_view name,
                               const std::source_location& where);

/// Calls `function`; a UserError that it throws without a line gets the user's.
template <class Function>
auto with_user_line(const std::source_location& where, const Function& function) {
  try {
    return function();
  } catch (const UserError& error) {
    if (error.where().known()) throw;
    throw UserError(error.message(), user_line(where), error.kind());
  } catch (const Unsupported& error) {
    if (error.where().known()) throw;
    throw Unsupported(error.message(), user_line(where));
  }
}

}  // namespace tokamak
