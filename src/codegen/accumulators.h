#pragma once

// Accumulators: the state that loops carry. An accumulator is a stack slot that becomes registers once the
// function is complete; a cascade is an array of parts on the stack and the number of parts merged so far.

#include <optional>

#include "codegen/function_state.h"

namespace tokamak::codegen {

class Accumulators {
 public:
  explicit Accumulators(FunctionState& f) : f_(f), slots_(f.kernel.accumulators.size()) {}

  void declare(AccumulatorId id);
  /// Folds `value` in; gives the accumulator after the step, rounded to its dtype.
  llvm::Value* accumulate(const Accumulate& step);
  void merge(AccumulatorId into, AccumulatorId from);
  llvm::Value* read(const Read& read);
  void spill(const Spill& spill);
  void unspill(const Unspill& unspill);

 private:
  /// The lanes of an accumulator; `position` for arg* only: where `value` was found.
  struct State {
    llvm::Value* value = nullptr;
    llvm::Value* position = nullptr;
  };
  struct Variable;
  struct Slots {
    llvm::AllocaInst* value = nullptr;
    llvm::AllocaInst* position = nullptr;
    llvm::AllocaInst* parts = nullptr;  ///< cascade: the number of parts merged
    llvm::AllocaInst* nan = nullptr;    ///< searches of floats: whether there was one, by lanes of a register
    std::optional<int64_t> merged;      ///< cascade: how many parts what is written so far merges, if known
    size_t depth = 0;                   ///< cascade: of the loops, and
    int branches = 0;                   ///< of the branches, around where it was declared
  };

  const Accumulator& of(AccumulatorId id) const { return f_.kernel[id]; }
  llvm::Type* value_type(const Accumulator& accumulator);
  llvm::Type* position_type(const Accumulator& accumulator);
  Slots& slots(AccumulatorId id);
  /// How many times an accumulator is there.
  uint64_t rounds_of(const Accumulator& accumulator) const;
  /// Where in its stack space an accumulator, or a level of a cascade, is.
  llvm::Value* place(const Accumulator& accumulator, llvm::AllocaInst* stack, llvm::Value* level = nullptr);
  State neutral(const Accumulator& accumulator);
  State current(AccumulatorId id);
  State fold_cascade(AccumulatorId id);
  State fold_levels(AccumulatorId id, uint64_t parts);
  State level(AccumulatorId id, llvm::Value* number);
  void set_level(AccumulatorId id, llvm::Value* number, State state);
  void set(AccumulatorId id, State state);
  llvm::Value* identity_of(const Accumulator& accumulator);
  llvm::Value* lanes_from(llvm::Value* value, unsigned begin, unsigned count);
  bool searches_floats(const Accumulator& accumulator) const;
  unsigned lanes_of_a_register(const Accumulator& accumulator) const;
  llvm::Value* some_are_nan(const Accumulator& accumulator, llvm::Value* value);
  llvm::Value* seen_nan(AccumulatorId id);
  llvm::Value* nan_where_seen(AccumulatorId id, llvm::Value* value);
  void search(AccumulatorId id, llvm::Value* value);
  llvm::Value* found(AccumulatorId id);
  State combined(const Accumulator& accumulator, State earlier, State later);
  llvm::Value* better(const Accumulator& accumulator, llvm::Value* candidate, llvm::Value* best);
  void accumulate_in_turn(AccumulatorId id, llvm::Value* value);
  bool accumulate_count(AccumulatorId id, llvm::Value* value);
  void push(AccumulatorId into, State part);
  void count_part(Slots& cascade);
  std::optional<uint64_t> parts_here(const Slots& cascade) const;
  State across_lanes(const Accumulator& accumulator, State state);
  llvm::Value* rounded(const Accumulator& accumulator, llvm::Value* value);
  llvm::Value* partial_slot(const Accumulator& accumulator, BufferId buffer, const Index& slot,
                            int64_t offset);
  void check_slot(const Accumulator& accumulator, BufferId buffer, const Index& slot, bool writes);

  FunctionState& f_;
  std::vector<Slots> slots_;
};

}  // namespace tokamak::codegen
