#include "codegen/access_report.h"

#include <atomic>

namespace tokamak {

void AccessReport::add(FailedAccess access) {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::move(access);
}

namespace codegen {

void report_access(const KernelFrame* frame, uint32_t buffer, uint32_t writes, int64_t offset, int64_t bytes,
                   const int64_t* index, int64_t rank) noexcept {
  frame->report->add({BufferId(buffer), writes != 0, offset, bytes, {index, index + rank}});
  int32_t none = 0;  // a check that failed before is what the user is told of
  std::atomic_ref(*frame->failed_check).compare_exchange_strong(none, kFailedAccess);
}

}  // namespace codegen
}  // namespace tokamak
