#include "runtime/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace tokamak {

namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> to_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return number;
}

std::optional<int64_t> number_in(const std::string& path) {
  const auto line = first_line(path);
  return line ? to_number(*line) : std::nullopt;
}

/// The number after `key` in a file of "key number" or "key: number kB" lines.
std::optional<int64_t> field_in(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// Where one hierarchy of control groups is mounted, and which group in it is ours.
struct Hierarchy {
  std::string mount_point;
  std::string mount_root;  ///< the group that the mount point shows; "/" unless in a container
  std::string group;
};

/// Finds the hierarchy of a version 1 controller, or that of version 2 when `controller` is empty.
std::optional<Hierarchy> find_hierarchy(const std::string& root, const std::string& controller) {
  const auto lists = [&](const std::string& names) {
    const auto parts = split(names, ',');
    return std::find(parts.begin(), parts.end(), controller) != parts.end();
  };
  Hierarchy found;
  bool has_group = false;
  std::ifstream groups(root + "/proc/self/cgroup");  // hierarchy:controllers:path
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? line.substr(0, first) == "0" && names.empty() : lists(names)) {
      found.group = line.substr(second + 1);
      has_group = true;
    }
  }
  if (!has_group) return std::nullopt;

  std::ifstream mounts(root +
                       "/proc/self/mountinfo");  // ... root, mount point, options, ... - type source options
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    if (controller.empty() ? after[0] == "cgroup2" : after[0] == "cgroup" && lists(after[2])) {
      found.mount_root = before[3];
      found.mount_point = root + before[4];
      return found;
    }
  }
  return std::nullopt;
}

/// The folders of our group and of all above it, as far as the mount shows them; the innermost first.
std::vector<std::string> group_folders(const Hierarchy& hierarchy) {
  std::string group = hierarchy.group;
  if (hierarchy.mount_root != "/") {
    const bool shown = group.starts_with(hierarchy.mount_root);
    group = shown ? group.substr(hierarchy.mount_root.size()) : "";
  }
  if (!group.starts_with('/')) group.clear();  // it is no path, or only begins as the one shown does
  std::vector<std::string> folders;
  while (!group.empty() && group != "/") {
    folders.push_back(hierarchy.mount_point + group);
    group.resize(group.find_last_of('/'));
  }
  folders.push_back(hierarchy.mount_point);
  return folders;
}

template <class Number>
void lower(std::optional<Number>& limit, Number candidate) {
  limit = limit ? std::min(*limit, candidate) : candidate;
}

void add_cpu_quota(GroupLimits& limits, int64_t quota, int64_t period) {
  if (quota > 0 && period > 0) lower(limits.cpus, static_cast<double>(quota) / static_cast<double>(period));
}

void add_memory(GroupLimits& limits, int64_t limit, int64_t used, int64_t droppable) {
  if (limit < 0) return;
  lower(limits.memory, limit);
  const int64_t in_use = std::max<int64_t>(std::max<int64_t>(used, 0) - std::max<int64_t>(droppable, 0), 0);
  lower(limits.memory_available, std::max<int64_t>(limit - in_use, 0));
}

void add_version_2(GroupLimits& limits, const Hierarchy& hierarchy) {
  for (const std::string& folder : group_folders(hierarchy)) {
    if (const auto line = first_line(folder + "/cpu.max")) {  // "max 100000" or "150000 100000"
      const auto words = split(*line, ' ');
      if (words.size() == 2) {
        add_cpu_quota(limits, to_number(words[0]).value_or(0), to_number(words[1]).value_or(0));
      }
    }
    if (const auto limit = number_in(folder + "/memory.max")) {  // "max" is no number: no limit
      add_memory(limits, *limit, number_in(folder + "/memory.current").value_or(0),
                 field_in(folder + "/memory.stat", "inactive_file").value_or(0));
    }
  }
}

void add_version_1_cpu(GroupLimits& limits, const Hierarchy& hierarchy) {
  for (const std::string& folder : group_folders(hierarchy)) {
    add_cpu_quota(limits, number_in(folder + "/cpu.cfs_quota_us").value_or(-1),
                  number_in(folder + "/cpu.cfs_period_us").value_or(0));
  }
}

void add_version_1_memory(GroupLimits& limits, const Hierarchy& hierarchy) {
  constexpr int64_t kNoLimit = int64_t{1} << 62;  // version 1 writes "no limit" as a number near 2^63
  for (const std::string& folder : group_folders(hierarchy)) {
    const auto limit = number_in(folder + "/memory.limit_in_bytes");
    if (!limit || *limit >= kNoLimit) continue;
    add_memory(limits, *limit, number_in(folder + "/memory.usage_in_bytes").value_or(0),
               field_in(folder + "/memory.stat", "total_inactive_file").value_or(0));
  }
}

int cpus_of_affinity() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {  // the kernel refuses masks smaller than its own
    cpu_set_t* mask = CPU_ALLOC(cpus);
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (known) return std::max(count, 1);
  }
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

}  // namespace

GroupLimits group_limits(const std::string& root) {
  GroupLimits limits;
  if (const auto hierarchy = find_hierarchy(root, "")) add_version_2(limits, *hierarchy);
  if (const auto hierarchy = find_hierarchy(root, "cpu")) add_version_1_cpu(limits, *hierarchy);
  if (const auto hierarchy = find_hierarchy(root, "memory")) add_version_1_memory(limits, *hierarchy);
  return limits;
}

int usable_cpus() {
  const int cpus = cpus_of_affinity();
  const auto quota = group_limits().cpus;
  if (!quota || *quota >= cpus) return cpus;
  return std::max(static_cast<int>(std::ceil(*quota)), 1);
}

MemoryLimits memory_limits() {
  constexpr int64_t kKilobyte = 1024;
  const auto meminfo = [](std::string_view key) {
    return field_in("/proc/meminfo", key).value_or(0) * kKilobyte;
  };
  MemoryLimits limits{.total = meminfo("MemTotal:") + meminfo("SwapTotal:"),
                      .available = meminfo("MemAvailable:") + meminfo("SwapFree:")};
  if (limits.total == 0) {  // no /proc: nothing is known, and the allocation itself will tell
    limits.total = limits.available = std::numeric_limits<int64_t>::max();
  }
  const GroupLimits group = group_limits();
  if (group.memory) limits.total = std::min(limits.total, *group.memory);
  if (group.memory_available) limits.available = std::min(limits.available, *group.memory_available);
  return limits;
}

}  // namespace tokamak
