#pragma once

// Compiled objects and programs that outlive the process, for all processes of a user.
//
// An entry is a file, whose name is the digest of all that its content depends on; see codegen/object_key.h
// and driver/kept_program/kept_program.h.
// What is not what it should be in any way (cut short, changed, of another version, somebody else's) is not
// there: it is compiled, and written anew. Nothing that goes wrong here is an error of the program; it is
// told in the log, channel `cache`, when somebody asks for it: the threads that find it out may not be such
// that can log.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/digest.h"
#include "cache/folder.h"

namespace tokamak {

class DiskCache {
 public:
  struct Settings {
    std::string folder;
    int64_t max_bytes = 0;
    Problem off;  ///< why nothing is kept, if so
  };
  struct Entry {
    std::string name;  ///< of the file
    std::string label;
    int64_t bytes;
    timespec used;
  };

  /// From the environment:
  ///   TOKAMAK_CACHE_DIR         the folder; otherwise $XDG_CACHE_HOME/tokamak or ~/.cache/tokamak
  ///   TOKAMAK_CACHE_SIZE        what it may hold: "512M", "2G", or bytes; 0 turns it off
  ///   TOKAMAK_DISABLE=disk-cache
  static Settings settings_from_environment();

  /// That of the process; null where it is off or paused.
  static DiskCache* instance();
  /// Logs what there is to be told of it.
  static void log_notes();
  /// Returns when all has been written that the process put there.
  static void finish();

  explicit DiskCache(const Settings& settings);

  std::optional<std::string> find(const Digest& key) const;
  /// Keeps a copy, which a thread of its own writes. The label is for people.
  void put(const Digest& key, std::string_view label, std::string_view content);
  /// Returns when all has been written that was put before.
  void finish_writing();

  /// What went wrong, and what was removed, since this was last asked.
  std::vector<std::string> take_notes();

  std::vector<Entry> entries(Problem& problem) const;
  /// Removes all; the number of what there was.
  size_t clear(Problem& problem);
  const CacheFolder& folder() const { return folder_; }
  int64_t max_bytes() const { return max_bytes_; }

 private:
  struct Writing;
  struct Job {
    Digest key;
    std::string bytes;
  };

  static void start_afresh_in_child();
  void note(std::string what) const;
  void write_jobs(Writing& writing);
  void write(const Job& job);
  void write_if_there_is_memory(const Job& job) noexcept;
  void remove_least_used();
  std::vector<CacheFolder::File> files(Problem& problem) const;
  std::string label_of(const std::string& name) const;

  CacheFolder folder_;
  int64_t max_bytes_;
  Writing* writing_;                        ///< never destroyed: a thread may be at it until the very end
  int64_t written_since_look_ = INT64_MAX;  ///< of the writing thread
};

/// While one lives, its thread has no disk cache.
class DiskCachePause {
 public:
  DiskCachePause();
  ~DiskCachePause();
  DiskCachePause(const DiskCachePause&) = delete;
  DiskCachePause& operator=(const DiskCachePause&) = delete;
};

}  // namespace tokamak
