#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "driver/product_kernel.h"
#include "driver/sort_kernel.h"
#include "fusion/kernel.h"
#include "ir/layout.h"
#include "schedule/schedule.h"
#include "support/cpu.h"

namespace tokamak {

/// A kernel all the way down to machine code.
struct CompiledKernel {
  std::shared_ptr<const LoopKernel> loops;
  std::string decisions;
  std::shared_ptr<const NativeKernel> code;
  /// Where the code is shared with kernels that differ in numbers: the kernel it was made for, which reads
  /// them at run time.
  std::shared_ptr<const CompiledKernel> general;
  std::vector<int64_t> numbers;  ///< then: what this one's are
  /// With a product: all of it. `loops` and `code` are then those of the last stage, and may be empty.
  std::shared_ptr<const CompiledProduct> product;
  /// A sort: all of it. `loops` has only the name, and there is no code.
  std::shared_ptr<const CompiledSort> sort;

  /// The loops that the code was made from.
  const std::shared_ptr<const LoopKernel>& loops_of_code() const {
    return general != nullptr ? general->loops : loops;
  }
  bool has_code() const;
  /// It has code, and all of it was in the disk cache.
  bool is_from_disk() const;
};

/// One kernel to compile.
struct KernelRequest {
  const FusedKernel* kernel;
  std::vector<std::vector<Layout>> layouts;  ///< of the inputs of each part
  bool own_outputs;                          ///< no output takes over the memory of an argument
  bool read_soon;                            ///< by other kernels, or the last cache has room for it
};

/// Compiles kernels, several at a time; equal ones once, and none that is still in use somewhere in the
/// process. A program that repeats the same work a thousand times has one kernel to compile, or few where
/// what is worked on shrinks from one time to the next: many that differ only in numbers share code.
class KernelCompilation {
 public:
  /// Makes the loops of all. The requests have to stay.
  KernelCompilation(const std::vector<KernelRequest>& requests, CodeOptions code, const Cpu& cpu);

  /// By request: the kernel, which need not have code yet.
  const std::vector<std::shared_ptr<const CompiledKernel>>& scheduled() const { return kernels_; }
  /// Compiles these loops, made of those that were scheduled, for a request.
  void replace_loops(size_t request, LoopKernel loops);
  /// By request: the kernel with its code.
  std::vector<std::shared_ptr<const CompiledKernel>> finish();

 private:
  CodeOptions code_;
  const Cpu& cpu_;
  std::vector<std::string> keys_;  ///< by request: what the kernel is known by
  std::vector<std::shared_ptr<const CompiledKernel>> kernels_;
  std::map<std::string, std::shared_ptr<CompiledKernel>> unfinished_;
};

/// Logs how many kernels a program has, for how many there was no code yet, and for how many of these the
/// disk cache had some.
void log_kernels(size_t kernels, size_t made, size_t from_disk);

}  // namespace tokamak
