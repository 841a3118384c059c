#pragma once

// Index expressions and addresses as LLVM values. Whatever does not change inside a loop is computed before
// it.

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

/// The buffer's first byte.
llvm::Value* emit_base(FunctionState& f, BufferId buffer);

}  // namespace tokamak::codegen
