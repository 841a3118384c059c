#pragma once

// A folder of files that only its owner can have written.
//
// What is read from it is run as code, so it has to be certain who wrote it: the folder and the file belong
// to the user that runs us, and nobody else may write to either. Both are checked on what was opened, not on
// a name that may mean something else a moment later, and no symbolic link is followed. The folders above it
// matter less: whoever can change them can put another folder in the place of ours, but none that belongs to
// us and has something in it that we did not write.

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// Why something could not be done, for people; empty if it could.
using Problem = std::string;

class CacheFolder {
 public:
  struct File {
    std::string name;
    int64_t bytes;
    timespec used;  ///< when it was last read or written
  };

  explicit CacheFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  enum class Reading { for_use, for_a_look };

  /// A file, whole. When read for use, it counts as used now. None without a problem: there is no such file,
  /// or no folder.
  std::optional<std::string> read(const std::string& name, Problem& problem,
                                  Reading reading = Reading::for_use) const;

  /// Makes the file, in the place of what has its name: whoever reads it finds all of the one or all of the
  /// other. Makes the folder if there is none.
  Problem write(const std::string& name, std::string_view content) const;

  /// All files, but not those that are being written.
  std::vector<File> files(Problem& problem) const;

  /// A file that is gone already is no problem.
  Problem remove(const std::string& name) const;

  /// Removes what processes that ended while they wrote have left.
  void remove_abandoned() const;

 private:
  std::string path_;
};

}  // namespace tokamak
