#include "runtime/checked_access.h"

namespace tokamak {

void CheckedKernel::throw_reported(const LoopKernel& kernel, const std::vector<BufferSite>& sites) const {
  if (!report.first()) return;
  const FailedAccess& access = *report.first();
  const BufferSite& site = sites[static_cast<size_t>(access.buffer)];
  throw InternalError("kernel " + kernel.name + (access.writes ? " would write " : " would read ") +
                          site.name + to_string(access.index) + ", " + to_string(kernel[access.buffer].type) +
                          ", at byte " + std::to_string(access.offset) + " of " +
                          std::to_string(access.bytes),
                      site.where);
}

}  // namespace tokamak
