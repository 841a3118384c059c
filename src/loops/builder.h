#pragma once

// Builds the statements of one nest: open loops are a stack, and a statement goes into the outermost of them
// that has everything it depends on.

#include <optional>
#include <string>
#include <vector>

#include "loops/nest.h"

namespace tokamak {

class NestBuilder {
 public:
  explicit NestBuilder(LoopKernel& kernel) : kernel_(kernel) {}

  LoopVar add_variable(std::string name, int64_t extent);
  AccumulatorId add_accumulator(Accumulator accumulator);
  BufferId add_buffer(Buffer buffer);

  void open(LoopVar var, LoopKind kind, int64_t extent, bool ordered = false);
  /// The innermost loop ends there, if that is sooner.
  void bound(const Index& bound) { open_.back().loop.bound = bound; }
  /// Closes the innermost loop and puts it into the one around it; the outermost becomes a nest of the
  /// kernel.
  void close();
  size_t depth() const { return open_.size(); }
  /// A number that no other loop has, for the loop that is open at `depth`.
  uint64_t instance(size_t depth) const { return open_[depth].instance; }

  /// Depth of the outermost loop that has the variables and values of these.
  size_t depth_of(const Index& index) const;
  size_t depth_of(const std::vector<Index>& indices) const;
  size_t depth_of(const Guard& guard) const;
  size_t depth_of(ValueId value) const { return value_depths_[static_cast<size_t>(value)]; }

  ValueId literal(const Tensor& value);
  ValueId index_value(const Index& index, DType dtype);
  ValueId test(const Guard& guard);
  ValueId load(BufferId buffer, std::vector<Index> index, Guard guard);
  ValueId compute(Op op, std::vector<ValueId> operands, DType result);
  /// An integer as i64. A u64 beyond that becomes the largest, which no axis reaches.
  ValueId as_index(ValueId integer);
  void store(BufferId buffer, std::vector<Index> index, ValueId value);
  void check_range(ValueId value, int64_t extent, uint32_t check);

  // These go into the innermost loop.
  ValueId load_here(BufferId buffer, std::vector<Index> index);
  void declare(AccumulatorId accumulator);
  void accumulate(AccumulatorId accumulator, ValueId value, std::optional<Index> position);
  ValueId accumulate_running(AccumulatorId accumulator, ValueId value);
  ValueId read(AccumulatorId accumulator);

 private:
  struct OpenLoop {
    Loop loop;
    uint64_t instance;
  };

  ValueId new_value(DType dtype, size_t depth);
  std::vector<Stmt>& body(size_t depth) { return open_[depth].loop.body; }
  size_t innermost() const { return open_.size() - 1; }

  LoopKernel& kernel_;
  std::vector<OpenLoop> open_;
  std::vector<size_t> value_depths_;
  uint64_t next_instance_ = 0;
};

}  // namespace tokamak
