// Every test program has a disk cache of its own, which is empty when it starts and gone when it ends: what a
// user has kept neither helps nor is changed. Children of a test share their parent's.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

class OwnDiskCache {
 public:
  OwnDiskCache() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/tokamak-test-" + std::to_string(getpid());
    setenv("TOKAMAK_CACHE_DIR", path_.c_str(), 1);
  }
  ~OwnDiskCache() {
    if (getpid() != owner_) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnDiskCache(const OwnDiskCache&) = delete;
  OwnDiskCache& operator=(const OwnDiskCache&) = delete;

 private:
  std::string path_;
  pid_t owner_ = getpid();
};

const OwnDiskCache own_disk_cache;

}  // namespace
