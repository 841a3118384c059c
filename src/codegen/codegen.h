#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/digest.h"
#include "loops/nest.h"
#include "support/cpu.h"

namespace tokamak {

/// The memory that a buffer has.
struct BufferExtent {
  const std::byte* begin;
  const std::byte* end;
};

class AccessReport;

/// What generated code receives.
struct KernelFrame {
  /// By BufferId; entries of scratch buffers are unused. Outputs with non-temporal stores are 64-byte
  /// aligned.
  void* const* buffers;
  const int64_t* strides;  ///< bytes; by Buffer::first_stride_slot + axis
  int32_t* failed_check;   ///< set to 1 + check when a CheckRange fails, or kFailedAccess; 0 before
  int64_t first = 0;       ///< see LoopKernel::range
  int64_t end = 0;
  const int64_t* numbers = nullptr;  ///< by position in LoopKernel::numbers
  // With LoopKernel::bounds_checked:
  const BufferExtent* extents = nullptr;  ///< by BufferId; entries of scratch buffers are unused
  AccessReport* report = nullptr;
};

/// Runs tasks [begin, end) of one nest. `scratch` has LoopKernel::scratch_bytes, 64-byte aligned, and is the
/// caller's alone.
using NestFunction = void (*)(const KernelFrame* frame, int64_t begin, int64_t end, void* scratch);

/// Code as the disk cache has it.
struct KeptCode {
  Digest key;
  std::string name;                  ///< of the kernel that it was made for
  std::vector<std::string> symbols;  ///< by nest
};

/// Machine code of a kernel, one function per nest. Freed with the last reference.
class NativeKernel {
 public:
  virtual ~NativeKernel() = default;
  const std::vector<NestFunction>& nests() const { return nests_; }
  bool from_disk() const { return from_disk_; }  ///< the disk cache had it
  /// How the disk cache knows it, if it may.
  const std::optional<KeptCode>& kept() const { return kept_; }

 protected:
  std::vector<NestFunction> nests_;
  std::optional<KeptCode> kept_;
  bool from_disk_ = false;
};

/// Generates code, or takes it from the disk cache. Thread-safe; several threads may compile at once.
std::shared_ptr<const NativeKernel> compile(const LoopKernel& kernel, const Cpu& cpu);

/// Code that a process has kept; null where the disk cache does not have it. Thread-safe.
std::shared_ptr<const NativeKernel> find_kept(const KeptCode& kept, const Cpu& cpu);

/// The code as text, for reports and tests; works for processors this machine does not have.
std::string emit_llvm(const LoopKernel& kernel, const Cpu& cpu);
std::string emit_assembly(const LoopKernel& kernel, const Cpu& cpu);

}  // namespace tokamak
