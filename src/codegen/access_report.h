#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "codegen/codegen.h"

namespace tokamak {

/// KernelFrame::failed_check after an access was reported.
inline constexpr int32_t kFailedAccess = -1;

/// An access that would have left the memory of its buffer.
struct FailedAccess {
  BufferId buffer;
  bool writes;
  int64_t offset;  ///< bytes from the beginning of that memory,
  int64_t bytes;   ///< which has so many
  std::vector<int64_t> index;
};

/// The first access that was reported. Tasks on several threads may report at once.
class AccessReport {
 public:
  void add(FailedAccess access);
  const std::optional<FailedAccess>& first() const { return first_; }  ///< once all tasks are done

 private:
  std::mutex mutex_;
  std::optional<FailedAccess> first_;
};

namespace codegen {

/// What generated code calls, by name.
inline constexpr const char* kReportAccess = "tokamak_report_access";
void report_access(const KernelFrame* frame, uint32_t buffer, uint32_t writes, int64_t offset, int64_t bytes,
                   const int64_t* index, int64_t rank) noexcept;

}  // namespace codegen
}  // namespace tokamak
