#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "runtime/program.h"
#include "tokamak/array.h"
#include "tokamak/jit.h"
#include "trace/program_cache.h"

namespace tokamak {

/// What a front end makes of the parameters while they are traced.
struct TraceResult {
  std::vector<Array> outputs;
  std::shared_ptr<const void> structure;  ///< how the front end puts outputs together; kept with the program
};
/// How to trace a function; needed only when it has to be compiled.
struct Tracer {
  std::function<TraceResult(const std::vector<Array>& parameters)> run;
  std::vector<std::string>
      names;                 ///< of the parameters, for reports; "arg0", "arg1", ... where there is none
  std::vector<int> donated;  ///< positions of parameters whose memory an output may take over
};

/// A function compiled for one signature. Immutable.
struct CompiledFunction {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Explanation> explanation;
  std::shared_ptr<const void> structure;
};

/// An argument, as far as the choice of a program depends on it. Points into the caller's arrays.
struct ArgumentView {
  const TensorType* type;
  const Layout* layout;
};

/// What a program was compiled for.
struct Signature {
  struct Argument {
    TensorType type;
    Layout layout;
  };
  std::vector<Argument> arguments;
  uint64_t variant = 0;
  Checks checks = current_checks();

  bool matches(std::span<const ArgumentView> views, uint64_t with_variant) const;
};

/// A jitted function: programs by signature. Any number of threads may use it.
class JitFunction {
 public:
  JitFunction(JitOptions options, SourceLocation where);

  /// The program if there is one; nullptr otherwise, or when it is still being compiled. `variant` tells
  /// apart what the front end knows besides the arrays: the structure of the arguments, static values.
  std::shared_ptr<const CompiledFunction> lookup(std::span<const ArgumentView> arguments,
                                                 uint64_t variant = 0) const;

  /// The program, tracing and compiling it if need be. One thread does so; others that want the same wait for
  /// it (so release the GIL before). If it fails all of them get its error, and the next call tries again.
  std::shared_ptr<const CompiledFunction> compiled(std::span<const ArgumentView> arguments,
                                                   const Tracer& tracer, const std::source_location& where,
                                                   uint64_t variant = 0);

  /// Runs a compiled function on arrays with memory, into blocks of the pool or memory of donated arguments.
  std::vector<Array> run(const CompiledFunction& function, std::span<const Array> arguments,
                         const std::source_location& where) const;

  /// A whole call: inlined when an argument is traced, compiled and run otherwise.
  std::vector<Array> call(std::span<const Array> arguments, const Tracer& tracer,
                          const std::source_location& where, uint64_t variant = 0);

  /// What arrays with memory are to lookup() and compiled(). Valid while the arrays are.
  std::vector<ArgumentView> views_of(std::span<const Array> arguments,
                                     const std::source_location& where) const;

  const JitOptions& options() const { return options_; }
  JitCacheInfo cache_info() const;
  void clear() { cache_.clear(); }

 private:
  std::shared_ptr<const CompiledFunction> trace_and_compile(std::span<const ArgumentView> arguments,
                                                            const Tracer& tracer) const;
  void log_recompile(std::span<const ArgumentView> arguments) const;

  JitOptions options_;
  SourceLocation where_;
  ProgramCache<Signature, CompiledFunction> cache_;
};

}  // namespace tokamak
