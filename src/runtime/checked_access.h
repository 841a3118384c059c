#pragma once

// The accesses of code that looks at them before it makes them (LoopKernel::bounds_checked).

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/access_report.h"
#include "codegen/codegen.h"
#include "tokamak/errors.h"

namespace tokamak {

/// A buffer of a kernel, for whoever is told of an access to it.
struct BufferSite {
  std::string name;  ///< of the value in the graph, where it is one
  int64_t bytes;     ///< of an array that is dense
  SourceLocation where;
};

/// What a kernel needs to be checked, while it runs.
struct CheckedKernel {
  std::vector<BufferExtent> extents;  ///< by BufferId
  AccessReport report;

  void join(KernelFrame& frame) {
    frame.extents = extents.data();
    frame.report = &report;
  }
  /// Throws InternalError, which names kernel, buffer, index and line, where an access was reported.
  void throw_reported(const LoopKernel& kernel, const std::vector<BufferSite>& sites) const;
};

}  // namespace tokamak
