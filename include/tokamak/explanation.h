#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokamak/errors.h"
#include "tokamak/export.h"
#include "tokamak/types.h"

namespace tokamak {

/// One kernel of a compiled program, at every level.
struct TOKAMAK_API KernelReport {
  std::string name;
  std::vector<std::string> ops;  ///< what it computes, in order, without views and constants: {"mul", "add", "max", "sum"}
  std::string graph;             ///< the operations it swallowed, as text IR
  std::string loops;             ///< its loop nests, scheduled
  std::string schedule;          ///< the decisions that made them
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  double flops = 0;
  std::vector<SourceLocation> lines;

  std::string llvm() const;  ///< made when asked for
  std::string assembly() const;

  std::shared_ptr<const void> code;  ///< what llvm() and assembly() are made from
};

struct MemoryReport {
  int64_t peak_bytes = 0;   ///< arena and outputs, as planned
  int64_t naive_bytes = 0;  ///< one buffer for every intermediate value and output
  int64_t arena_bytes = 0;
  int64_t output_bytes = 0;
  std::string plan;  ///< a line per buffer: offset, size, lifetime, what it reuses
};

/// A fusion that was considered and not made.
struct RefusedFusion {
  std::string producer;
  std::string consumer;
  std::string reason;
  int times = 1;  ///< a loop that repeats the same work is refused the same way every time
};

struct StageTime {
  std::string stage;
  double milliseconds;
};

/// Everything the compiler did for one function and one signature.
class TOKAMAK_API Explanation {
 public:
  const std::vector<KernelReport>& kernels() const { return kernels_; }
  const std::string& graph() const { return graph_; }          ///< as traced
  const std::string& optimized() const { return optimized_; }  ///< after the passes
  const MemoryReport& memory() const { return memory_; }
  const std::vector<RefusedFusion>& refused() const { return refused_; }
  const std::vector<StageTime>& times() const { return times_; }
  const std::vector<std::string>& steps() const { return steps_; }  ///< the program: one line per step

  /// A summary for a terminal.
  std::string to_string() const;

  std::vector<KernelReport> kernels_;
  std::string graph_;
  std::string optimized_;
  MemoryReport memory_;
  std::vector<RefusedFusion> refused_;
  std::vector<StageTime> times_;
  std::vector<std::string> steps_;
};

}  // namespace tokamak
