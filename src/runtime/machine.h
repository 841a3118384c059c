#pragma once

// What this process may use of the machine: its affinity mask and its control group (cgroup version 1 or 2)
// may allow less than there is.

#include <cstdint>
#include <optional>
#include <string>

namespace tokamak {

/// The cores this process may use: those of its affinity mask, at most as many as its control group has time
/// for (rounded up). At least 1.
int usable_cpus();

/// Memory as the process sees it, in bytes, swap included and the control group's limit respected.
struct MemoryLimits {
  int64_t total = 0;      ///< what there could ever be
  int64_t available = 0;  ///< what could be had now, as the kernel estimates it
};
MemoryLimits memory_limits();

/// The limits set by the control groups of this process and those above them, the smallest of each kind.
/// `root` stands before the paths of /proc and /sys: the tests have machines of their own.
struct GroupLimits {
  std::optional<double> cpus;
  std::optional<int64_t> memory;  ///< bytes
  std::optional<int64_t>
      memory_available;  ///< limit minus use, page cache that can be dropped not counted as use
};
GroupLimits group_limits(const std::string& root = "");

}  // namespace tokamak
