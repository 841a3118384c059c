#pragma once

// Whole programs that outlive the process: the steps, the plan of their memory, and where the disk cache has
// their code. Who finds one need not run passes, fuse, schedule or plan.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "driver/compile.h"
#include "support/cpu.h"

namespace tokamak {

/// A program, how many kernels it has, and how many pieces of code these have.
struct KeptProgram {
  std::shared_ptr<Program> program;
  size_t kernels = 0;
  size_t codes = 0;
};

/// What is kept of a program; nothing where it has something that would not be the same in another process
/// (errors with the user's lines), or that few programs have (sorts).
std::optional<std::string> encode_program(const Program& program, size_t kernels);
/// The program that was encoded, with its code from the disk cache. Nothing if the bytes are anything else,
/// or some of the code is not there.
std::optional<KeptProgram> decode_program(std::string_view bytes, const Cpu& cpu);

/// The place of one program in the disk cache.
class ProgramEntry {
 public:
  /// Its key is all that the program depends on: the graph, the layouts of the arguments, the options, the
  /// number of threads, the processor and this build.
  ProgramEntry(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
               const Cpu& cpu);

  /// The program, if the disk cache has it. When the compiler checks its work, it has none.
  std::optional<KeptProgram> find() const;
  /// Keeps the program that was compiled. When the compiler checks its work, throws InternalError if another
  /// one was kept.
  void keep(const Program& program, size_t kernels) const;

 private:
  const Graph& graph_;
  const Cpu& cpu_;
  std::optional<Digest> key_;  ///< none: it is not kept
};

}  // namespace tokamak
