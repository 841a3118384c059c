#pragma once

// Index expressions and addresses as LLVM values. Whatever does not change inside a loop is computed before
// it.

#include <optional>
#include <span>

#include "codegen/function_state.h"

namespace tokamak::codegen {

/// An index: i64 when uniform, else one i32 or i64 per lane (i32 where the bounds prove that it suffices).
llvm::Value* emit_index(FunctionState& f, const Index& index);
llvm::Value* emit_uniform_index(FunctionState& f, const Index& index);
/// A constant, or an i64 that may be below 1.
llvm::Value* emit_count(FunctionState& f, const Count& count);

/// Whether the guard holds: null when always, else i1, uniform or one per lane.
llvm::Value* emit_guard(FunctionState& f, const Guard& guard);

/// Where the lanes of an access lie.
struct Address {
  enum class Pattern : uint8_t {
    uniform,     ///< all at `first`
    contiguous,  ///< neighbours, `first` the lowest
    reversed,    ///< neighbours, `first` the highest
    strided,     ///< `first` + lane * step
    irregular,   ///< `first` + offsets[lane]
  };
  Pattern pattern = Pattern::uniform;
  llvm::Value* first = nullptr;    ///< ptr
  llvm::Value* step = nullptr;     ///< i64 bytes; strided only
  llvm::Value* offsets = nullptr;  ///< i64 bytes per lane; irregular only
};
Address emit_address(FunctionState& f, BufferId buffer, std::span<const Index> index);

/// Lanes that read few neighbouring elements: each one several times in a row, or all of them in turns.
struct Repetition {
  llvm::Value* first;  ///< ptr to the lowest element
  unsigned count;      ///< of the elements
  bool in_turns;       ///< lane i reads element i % count, else i / (width / count)
};
/// What x[i / 8] and x[i % 8] are, where the rounds of lanes begin at multiples of 8.
std::optional<Repetition> emit_repetition(FunctionState& f, BufferId buffer, std::span<const Index> index);

/// Lanes that each read one element of a group of neighbours, the groups side by side.
struct Interleaving {
  llvm::Value* first;  ///< ptr to the first group
  int64_t group;       ///< bytes: 2, 4 or 8
  int64_t offset;      ///< bytes: where the element is in its group
};
/// What x[8*i + 3] is, where all of x is such groups.
std::optional<Interleaving> emit_interleaving(FunctionState& f, BufferId buffer,
                                              std::span<const Index> index);

/// The buffer's first byte.
llvm::Value* emit_base(FunctionState& f, BufferId buffer);

}  // namespace tokamak::codegen
