#pragma once

// Which line of the user an operation belongs to.
//
// Every operation has a std::source_location. It is not always the answer: called from Python, the line is
// Python's; inside softmax, the line is the one that called softmax. It is worked out only when something is
// recorded or fails.

#include <source_location>

#include "tokamak/array.h"
#include "tokamak/errors.h"

namespace tokamak {

/// Finds the line of another language that is running on this thread; an unknown location when there is none.
using LocationProvider = SourceLocation (*)();

/// Replaces the provider for all threads; nullptr removes it. May be called at any time.
void set_location_provider(LocationProvider provider);

/// The provider's line if it knows one, else that of the outermost AtLine on this thread, else `where`.
SourceLocation user_line(const std::source_location& where);

/// While it lives, what this thread does belongs to one line of the user: the provider's, which is asked
/// once, or else `where`, unless an outer AtLine said so before. Functions composed of other functions open
/// with one.
class AtLine {
 public:
  explicit AtLine(const std::source_location& where);
  explicit AtLine(const Operand& operand) : AtLine(operand.where()) {}
  ~AtLine();
  AtLine(const AtLine&) = delete;
  AtLine& operator=(const AtLine&) = delete;

 private:
  friend SourceLocation user_line(const std::source_location& where);
  const SourceLocation& line();

  AtLine* outer_;
  std::source_location where_;
  SourceLocation line_;  ///< unknown until somebody asks for it
};

}  // namespace tokamak
