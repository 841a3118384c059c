#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokamak/errors.h"
#include "tokamak/export.h"
#include "tokamak/types.h"

namespace tokamak {

/// One operation of a program: a node of its graph.
struct OperationReport {
  std::string name;  ///< of its value, as in the text: "%3", "%x"; of a number that stands inline, the number
  std::string op;
  std::string text;  ///< as in the text, without the name: "reduce_sum %2 {axes=[0]}"
  TensorType type;
  std::vector<int> inputs;  ///< positions of operations
  SourceLocation line;      ///< the user's
  bool is_view = false;     ///< costs nothing: index arithmetic of whoever reads it
  bool is_output = false;
  bool is_dead = false;     ///< no output depends on it, and the function does not write to it
  bool is_written = false;  ///< an argument that the function writes to
  /// Those that compute it, by position; more than one where that is cheaper. Of an operation as traced that
  /// the passes found a way around: those that compute what reads it, unless another does its work.
  std::vector<int> kernels;
  int becomes = -1;  ///< of an operation as traced: which of Explanation::operations() has its value
  /// Of an operation as traced whose value nobody has any more: which one does its work all the same, in
  /// another shape or for several.
  int done_by = -1;
};

/// One run of one pass.
struct PassReport {
  std::string name;
  std::string summary;
  int round = 0;  ///< -1: once, after all rounds
  double milliseconds = 0;
  int64_t operations_before = 0;
  int64_t operations_after = 0;
  bool changed = false;
  std::string graph;  ///< after it, when it changed something
};

/// One kernel of a compiled program, at every level.
struct TOKAMAK_API KernelReport {
  std::string name;
  std::vector<std::string>
      ops;  ///< what it computes, in order, without views and constants: {"mul", "add", "max", "sum"}
  std::string graph;     ///< the operations it swallowed, as text IR
  std::string loops;     ///< its loop nests, scheduled
  std::string schedule;  ///< the decisions that made them
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  double flops = 0;
  std::vector<SourceLocation> lines;
  std::vector<int> operations;  ///< what it swallowed: positions in Explanation::operations()
  std::vector<int> reads;       ///< operations whose values it reads from memory
  std::vector<int> writes;
  DType dtype = DType::f32;  ///< of most of its arithmetic
  /// Its arithmetic with loads and stores: as many multiplications and additions of f32 as a core can do in
  /// the time that it takes.
  double work = 0;
  double predicted_ns = 0;  ///< roughly, with all threads, on a machine that was not measured
  int64_t tasks = 1;        ///< that threads may share
  int step = -1;            ///< of the program; -1: nothing to do
  bool has_code = false;    ///< made for it; routines of the library, as sorts and plain products, have none
  bool from_disk_cache = false;  ///< its code was made by a process before this one

  std::string llvm() const;  ///< made when asked for, of all its stages
  std::string assembly() const;

  std::shared_ptr<const void> code;  ///< what llvm() and assembly() are made from
};

/// Memory that a program uses while it runs.
struct BufferReport {
  /// `scratch` is what the threads take while one kernel runs, and give back.
  enum class Place : uint8_t { arena, output, argument, scratch };

  std::string name;  ///< of the value, or what else it is for
  int64_t bytes = 0;
  int first_kernel = 0;  ///< writes it
  int last_kernel = 0;   ///< reads it last; of an output, the last kernel of all
  Place place = Place::arena;
  int64_t at = 0;        ///< the offset in the arena, the position of the output or argument
  int in_place_of = -1;  ///< the buffer, by position, whose memory it took over from the same kernel
};

/// The memory that a program takes, as planned.
struct MemoryReport {
  /// Arena, results and scratch: what a call takes beside its arguments and the constants.
  int64_t peak_bytes = 0;
  /// The same with a buffer of its own for every operation, every result, packed operand and partial sum,
  /// none used twice. Views that nobody copies need none.
  int64_t naive_bytes = 0;
  int64_t arena_bytes = 0;    ///< intermediate values, operands packed as a whole, partial sums
  int64_t output_bytes = 0;   ///< results and their copies, but for those in the memory of an argument
  int64_t scratch_bytes = 0;  ///< of the threads, while a kernel runs: the most that one takes
  std::string plan;           ///< the totals and what they contain; then a line per buffer
  std::vector<BufferReport> buffers;
};

/// How an array is read or written that is not simply read in order where it lies, or what is copied.
struct LayoutReport {
  std::string value;
  int kernel = -1;  ///< by position; -1: of the whole program
  std::string decision;
  int64_t bytes_copied = 0;  ///< in every run
};

/// A fusion that was considered and not made.
struct RefusedFusion {
  std::string producer;
  std::string consumer;
  std::string reason;
  int times = 1;  ///< a loop that repeats the same work is refused the same way every time
  /// The first time: positions in Explanation::operations(), and the line of the consumer.
  int producer_operation = -1;
  int consumer_operation = -1;
  SourceLocation line = {};
};

/// "sub into the kernel of reduce_sum: it needs the finished reduction": `it` is the consumer, which would
/// have joined the kernel that has the producer.
TOKAMAK_API std::string to_string(const RefusedFusion& refused);

/// What a stage of compiling took.
struct StageTime {
  std::string stage;
  double milliseconds;
};

/// Everything the compiler did for one function and one signature. All but times() is made when some of it is
/// first asked for; any number of threads may ask.
class TOKAMAK_API Explanation {
 public:
  struct Contents {
    std::vector<KernelReport> kernels;
    std::string graph;
    std::string optimized;
    std::vector<OperationReport> traced;
    std::vector<OperationReport> operations;
    std::vector<PassReport> passes;
    MemoryReport memory;
    std::vector<LayoutReport> layouts;
    std::vector<RefusedFusion> refused;
    std::vector<std::string> steps;
  };
  /// `make` may be called more than once, and by several threads; it is dropped when the contents are there.
  Explanation(std::vector<StageTime> times, std::function<Contents()> make);

  const std::vector<KernelReport>& kernels() const { return contents().kernels; }
  const std::string& graph() const { return contents().graph; }                     ///< as traced
  const std::string& optimized() const { return contents().optimized; }             ///< after the passes
  const std::vector<OperationReport>& traced() const { return contents().traced; }  ///< of graph()
  /// Of optimized().
  const std::vector<OperationReport>& operations() const { return contents().operations; }
  const std::vector<PassReport>& passes() const { return contents().passes; }  ///< in the order they ran
  const MemoryReport& memory() const { return contents().memory; }
  const std::vector<LayoutReport>& layouts() const { return contents().layouts; }
  const std::vector<RefusedFusion>& refused() const { return contents().refused; }
  const std::vector<StageTime>& times() const { return times_; }
  const std::vector<std::string>& steps() const { return contents().steps; }  ///< one line per step

  /// What recording the graph took, which the front end knows: the first of the stages.
  void add_tracing(double milliseconds) { times_.insert(times_.begin(), {"trace", milliseconds}); }

  /// The function writes to this parameter, which the front end knows: it is not without use. Said before
  /// others may ask.
  void note_written(size_t parameter);

  /// All but times(), which is made now unless it is there.
  const Contents& contents() const;

  /// What kernels compute: positions in operations(), without arguments, numbers and views.
  std::vector<int> computed() const;
  /// What the function computes and nothing needs: positions in traced(), without views, which cost nothing.
  std::vector<int> dead() const;
  /// How many kernels have something to do, and what they are for: "for 6 operations".
  int running() const;
  std::string purpose() const;
  std::string headline() const;  ///< both: "1 kernel for 6 operations"

  /// A summary for a terminal.
  std::string to_string() const;

 private:
  struct Making;  ///< what the contents are made from, then they themselves; copies share it

  std::vector<StageTime> times_;
  std::shared_ptr<Making> making_;
};

}  // namespace tokamak
