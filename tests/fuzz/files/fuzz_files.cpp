// Any bytes as the files that Tokamak reads beside programs: entries of the disk cache, and what the kernel
// tells of the limits of a process. libFuzzer makes them up (make fuzz-files); the first byte says which.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cache/entry.h"
#include "runtime/machine.h"

namespace tokamak {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

const Digest kKey = digest_of("key");

/// It is the entry that it would be written as, or none.
void try_entry(std::string_view bytes) {
  (void)label_of_entry(bytes);
  const std::optional<CacheEntry> entry = decode_entry(kKey, bytes);
  if (!entry) return;
  if (encode_entry(kKey, entry->label, entry->content) != bytes) fail("read and written, it is another");
  if (label_of_entry(bytes) != entry->label) fail("it has two labels");
}

/// With the version, the checksum and the key that an entry has to have: the rest is what nobody checks
/// twice.
void try_sealed_entry(std::string_view rest) {
  constexpr size_t kVersion = 8, kDigest = 32;
  std::string bytes = encode_entry(kKey, {}, {}).substr(0, kVersion + 2 * kDigest);
  bytes.append(rest);
  const Digest checksum = digest_of(std::string_view(bytes).substr(kVersion + kDigest));
  std::memcpy(bytes.data() + kVersion, checksum.data(), checksum.size());
  try_entry(bytes);
}

/// A machine in a folder of its own.
class Machine {
 public:
  Machine() {
    std::string name = (fs::temp_directory_path() / "tokamak-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail("no folder to be had");
    root_ = name;
    for (const char* folder : {"/proc/self", "/g"}) fs::create_directories(root_ + folder);
  }
  ~Machine() { fs::remove_all(root_); }

  /// Files follow each other, each ends with a zero.
  void run(std::string_view files) {
    for (const char* name : {"/proc/self/cgroup", "/proc/self/mountinfo", "/g/cpu.max", "/g/memory.max",
                             "/g/memory.current", "/g/memory.stat"}) {
      const std::string_view text = files.substr(0, files.find('\0'));
      std::ofstream(root_ + name) << text;
      files.remove_prefix(std::min(files.size(), text.size() + 1));
    }
    const GroupLimits limits = group_limits(root_);
    if (limits.cpus && !(*limits.cpus > 0)) fail("no time to run in");
    if (limits.memory_available && *limits.memory_available < 0) fail("less than no memory");
  }

 private:
  std::string root_;
};

}  // namespace
}  // namespace tokamak

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  static tokamak::Machine machine;
  switch (data[0] % 3) {
    case 0:
      tokamak::try_entry(bytes);
      break;
    case 1:
      tokamak::try_sealed_entry(bytes);
      break;
    default:
      machine.run(bytes);
  }
  return 0;
}
