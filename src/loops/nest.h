#pragma once

// A kernel as loops.
//
// Meaning
//   A kernel is a list of nests run one after the other, with a barrier between. The outermost loop of a nest
//   is `parallel`: its iterations may run in any order, at once. A `serial` loop runs in order. A `vector`
//   loop runs its body for `lanes` neighbouring values of its variable at once; the lanes of its last round
//   that lie past the end are off: they load nothing (and read zeros), store nothing and accumulate nothing.
//   At most one vector loop encloses a statement. A value is uniform (one scalar) unless it depends on the
//   variable of an enclosing vector loop.
//
//   Statements run in order; values are assigned once and seen by what follows in the same body and inside
//   loops and branches there. (Bodies of which only one runs may give the same name to what each computes.)
//   Accumulators are the only state: declared (set to the neutral element of their op), stepped, then read.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/op.h"
#include "ir/tensor.h"
#include "support/index.h"
#include "tokamak/errors.h"
#include "tokamak/types.h"

namespace tokamak {

enum class BufferId : uint32_t {};
enum class AccumulatorId : uint32_t {};

inline constexpr int64_t kDynamicStride = INT64_MIN;

struct Buffer {
  enum class Role : uint8_t {
    input,   ///< KernelFrame::buffers; read only
    output,  ///< KernelFrame::buffers; never overlaps an input unless the plan put it exactly in place of one
    partial,  ///< KernelFrame::buffers; accumulators on their way from one nest to the next, as raw lanes
    scratch,  ///< KernelFrame::scratch + scratch_offset; belongs to the running task
  };
  std::string name;
  TensorType type;
  Role role;
  std::vector<int64_t> strides;    ///< bytes per axis; kDynamicStride is read at run time
  uint32_t first_stride_slot = 0;  ///< axis d's dynamic stride is KernelFrame::strides[first_stride_slot + d]
  int64_t scratch_offset = 0;
  bool aligned = false;  ///< the base is 64-byte aligned: scratch and partial buffers
};

struct Accumulator {
  Op op;          ///< reduce_* or arg* or cum*
  DType dtype;    ///< of the elements; sums and products of f16/bf16 are kept in f32 lanes
  int lanes = 1;  ///< more than one inside or across a vector loop
  bool across_lanes =
      false;  ///< the vector loop's own axis is reduced: Read combines the lanes into one value
  bool cascade =
      false;  ///< a Merge into it is a step of pairwise summation: the n-th part joins its equals in size
  std::optional<DType> position = std::nullopt;  ///< arg*: of where each lane found its element
  int64_t parts = INT64_MAX;                     ///< cascade: no more are merged
  /// cascade: as if so many parts of neutral elements had been merged before.
  std::optional<Index> parts_before = std::nullopt;
  std::optional<LoopVar> each = std::nullopt;  ///< one for every value of this vector loop's: in memory
};

// Statements

struct Literal {
  ValueId result;
  Tensor value;                                ///< rank 0
  std::optional<LoopVar> bits = std::nullopt;  ///< one of LoopKernel::numbers that has its bytes instead
};
/// The index as a number of the value's dtype.
struct IndexValue {
  ValueId result;
  Index index;
};
/// Whether the guard holds, as bool.
struct Test {
  ValueId result;
  Guard guard;
};
/// One element; zero where the guard does not hold (memory is not touched there).
struct Load {
  ValueId result;
  BufferId buffer;
  std::vector<Index> index;  ///< one per axis of the buffer
  Guard guard;
};
/// An element-wise op of the graph.
struct Compute {
  ValueId result;
  Op op;
  std::vector<ValueId> operands;
};
struct Store {
  BufferId buffer;
  std::vector<Index> index;
  ValueId value;
  bool non_temporal = false;
  std::optional<ValueId> mask = std::nullopt;  ///< elements for which it does not hold are left alone
};
/// Brings what lies there, and next to it along the lanes, into the cache. It may be outside of the buffer.
struct Prefetch {
  BufferId buffer;
  std::vector<Index> index;
  bool to_first = false;  ///< the first cache, not the second
};
/// How many of something there are: the extent, or the bound where that is less.
struct Count {
  int64_t extent;
  std::optional<Index> bound;
};
/// Part of a matrix, whose rows lie `distance` bytes apart, to or from a tile of scratch, whose rows are its
/// columns.
struct TransposeTile {
  BufferId matrix;
  std::vector<Index> index;  ///< of the first element in the matrix
  int64_t distance;
  BufferId tile;
  bool to_matrix;  ///< else to the tile
  Count rows;      ///< of the matrix
  Count columns;
};
/// Sets the accumulator to its neutral element.
struct Declare {
  AccumulatorId accumulator;
};
/// Folds a value in. For arg*, `position` is the element's index along the reduced axis.
struct Accumulate {
  AccumulatorId accumulator;
  ValueId value;
  std::optional<Index> position;
  std::optional<ValueId> running;  ///< the accumulator after this step (cumulative ops)
};
/// Folds accumulator `from`, lane by lane, into `into`.
struct Merge {
  AccumulatorId into;
  AccumulatorId from;
};
/// The accumulator's final value (its lanes combined when across_lanes), rounded to its dtype.
struct Read {
  ValueId result;
  AccumulatorId accumulator;
};
/// Writes the accumulator's raw lanes to slot `slot` of a partial buffer / reads them back.
struct Spill {
  AccumulatorId accumulator;
  BufferId buffer;
  Index slot;
};
struct Unspill {
  AccumulatorId accumulator;
  BufferId buffer;
  Index slot;
};
/// Reports check `check` when `value` is outside [0, extent) (in lanes that are on).
struct CheckRange {
  ValueId value;
  int64_t extent;
  uint32_t check;
};

struct Branch;
struct Loop;
using Stmt = std::variant<Literal, IndexValue, Test, Load, Compute, Store, Declare, Accumulate, Merge, Read,
                          Spill, Unspill, CheckRange, Prefetch, TransposeTile, std::shared_ptr<Branch>,
                          std::shared_ptr<Loop>>;

/// One of two bodies, by a guard that is the same for all lanes.
struct Branch {
  Guard guard;
  std::vector<Stmt> body;       ///< where it holds
  std::vector<Stmt> otherwise;  ///< where it does not
};

enum class LoopKind : uint8_t { parallel, serial, vector };

/// for var in [0, min(extent, bound))
struct Loop {
  LoopVar var;
  LoopKind kind = LoopKind::serial;
  int64_t extent = 0;
  int lanes = 1;               ///< vector: values of var per round
  std::optional<Index> bound;  ///< the last tile of a split loop is shorter
  bool ordered = false;        ///< a sweep: iterations depend on those before, through accumulators or memory
  std::vector<Stmt> body;
};

/// One parallel loop. Its iterations are the tasks that threads claim.
struct Nest {
  Loop root;
  double task_cost = 0;  ///< vector instructions and cache lines of one task, roughly nanoseconds
};

/// A check that generated code makes, and what to say when it fails.
struct RuntimeCheck {
  UserError error;
};

/// Sweeps that go through a part of their axis, which is known at run time: from first * first_unit to
/// end * end_unit, or to the axis's end if that comes first.
struct SweptRange {
  LoopVar first;  ///< no loop's: KernelFrame::first
  LoopVar end;    ///< KernelFrame::end
  int64_t first_unit;
  int64_t end_unit;
};

struct LoopKernel {
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<DType> values;  ///< dtype of every ValueId
  std::vector<Accumulator> accumulators;
  std::vector<std::string> variables;  ///< name of every LoopVar
  std::vector<int64_t> extents;        ///< of every LoopVar: it stays below
  std::vector<RuntimeCheck> checks;
  std::vector<Nest> nests;
  /// Loops that lanes may share besides those of the domain: a scatter has some.
  std::vector<LoopVar> lane_loops;
  std::optional<SweptRange> range;
  /// No loop's variables: numbers that are known at run time only, KernelFrame::numbers.
  std::vector<LoopVar> numbers;
  int64_t scratch_bytes = 0;    ///< per running task
  bool relaxed_math = false;    ///< fast_math: a*b+c may be rounded once
  bool bounds_checked = false;  ///< code looks at every access before it makes it: see KernelFrame::extents

  Buffer& operator[](BufferId id) { return buffers[static_cast<size_t>(id)]; }
  const Buffer& operator[](BufferId id) const { return buffers[static_cast<size_t>(id)]; }
  Accumulator& operator[](AccumulatorId id) { return accumulators[static_cast<size_t>(id)]; }
  const Accumulator& operator[](AccumulatorId id) const { return accumulators[static_cast<size_t>(id)]; }
  DType operator[](ValueId id) const { return values[static_cast<size_t>(id)]; }
  Extents extents_function() const {
    return [this](LoopVar var) { return extents[static_cast<size_t>(var)]; };
  }
};

/// Bytes of one lane of a spilled accumulator: of its value, and with its position, which for arg* comes
/// after all the values.
int64_t accumulator_value_bytes(const Accumulator& accumulator);
int64_t accumulator_lane_bytes(const Accumulator& accumulator);

/// kernel @softmax(%x: f32[64,1000]) -> (%out: f32[64,1000]) {
///   parallel i in 0..64
///     ...
std::string print(const LoopKernel& kernel);

/// Checks that values and variables are used only where they are defined, that loops nest as they may, and
/// that accesses have the rank of their buffer. Throws InternalError.
void verify(const LoopKernel& kernel);

}  // namespace tokamak
