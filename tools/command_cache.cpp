// tokamak cache: the compiled programs and kernels that are kept on disk.

#include "cache/disk_cache.h"

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <iostream>

#include "commands.h"
#include "support/json.h"
#include "support/sizes.h"
#include "tokamak/errors.h"

namespace tokamak::tool {
namespace {

constexpr Option kOptions[] = {
    {"--json", "", "as JSON; sizes in bytes, times in seconds since 1970"},
};

std::string time_text(time_t seconds) {
  tm parts{};
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &parts));
  return text;
}

void check(const Problem& problem) {
  if (!problem.empty()) throw UserError(problem);
}

/// The last used first.
std::vector<DiskCache::Entry> entries_of(const DiskCache& cache) {
  Problem problem;
  std::vector<DiskCache::Entry> entries = cache.entries(problem);
  check(problem);
  const auto used = [](const DiskCache::Entry& entry) {
    return std::pair(entry.used.tv_sec, entry.used.tv_nsec);
  };
  std::ranges::sort(entries, std::greater(), used);
  return entries;
}

int64_t bytes_of(const std::vector<DiskCache::Entry>& entries) {
  int64_t bytes = 0;
  for (const DiskCache::Entry& entry : entries) bytes += entry.bytes;
  return bytes;
}

std::string plural(size_t count) { return std::to_string(count) + (count == 1 ? " entry" : " entries"); }

void print_json(const DiskCache::Settings& settings, const std::vector<DiskCache::Entry>& entries,
                bool with_list) {
  std::cout << "{\"folder\": " << json_string(settings.folder)
            << ", \"off\": " << (settings.off.empty() ? "null" : json_string(settings.off))
            << ", \"max_bytes\": " << settings.max_bytes << ", \"bytes\": " << bytes_of(entries)
            << ", \"count\": " << entries.size();
  if (with_list) {
    std::cout << ", \"entries\": [";
    for (size_t i = 0; i < entries.size(); ++i) {
      std::cout << (i == 0 ? "" : ", ") << "{\"name\": " << json_string(entries[i].name)
                << ", \"kernel\": " << json_string(entries[i].label) << ", \"bytes\": " << entries[i].bytes
                << ", \"used\": " << entries[i].used.tv_sec << "}";
    }
    std::cout << "]";
  }
  std::cout << "}\n";
}

void print_size(const DiskCache::Settings& settings, const std::vector<DiskCache::Entry>& entries) {
  std::cout << settings.folder << ": " << plural(entries.size()) << ", " << bytes_text(bytes_of(entries))
            << " of " << bytes_text(settings.max_bytes) << "\n";
  if (!settings.off.empty()) std::cout << "It is off: " << settings.off << "\n";
}

void print_list(const std::vector<DiskCache::Entry>& entries) {
  for (const DiskCache::Entry& entry : entries) {
    std::cout << time_text(entry.used.tv_sec) << std::setw(9) << bytes_text(entry.bytes) << "  "
              << (entry.label.empty() ? "(of another version, or damaged)" : entry.label) << "\n";
  }
}

}  // namespace

std::span<const Option> cache_options() { return kOptions; }

int run_cache(const Arguments& arguments) {
  if (arguments.files().size() > 1) throw UsageError("one of size, list, path and clear");
  const std::string action = arguments.files().empty() ? "size" : arguments.files()[0];
  const DiskCache::Settings settings = DiskCache::settings_from_environment();
  DiskCache cache(settings);
  if (action == "path") {
    if (arguments.has("--json")) {
      std::cout << "{\"folder\": " << json_string(settings.folder) << "}\n";
    } else {
      std::cout << settings.folder << "\n";
    }
  } else if (action == "clear") {
    Problem problem;
    const std::vector<DiskCache::Entry> entries = entries_of(cache);
    const size_t removed = cache.clear(problem);
    check(problem);
    if (arguments.has("--json")) {
      print_json(settings, {}, false);
    } else {
      std::cout << plural(removed) << " removed, " << bytes_text(bytes_of(entries)) << "\n";
    }
  } else if (action == "size" || action == "list") {
    const std::vector<DiskCache::Entry> entries = entries_of(cache);
    if (arguments.has("--json")) {
      print_json(settings, entries, action == "list");
    } else {
      if (action == "list") print_list(entries);
      print_size(settings, entries);
    }
  } else {
    throw UsageError("there is no '" + action + "' of it, but size, list, path and clear");
  }
  return kOk;
}

}  // namespace tokamak::tool
