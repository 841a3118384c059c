#include "codegen/code_names.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>

namespace tokamak::codegen {
namespace {

struct Wanted {
  bool map = false;
  bool jitdump = false;
};

const Wanted& wanted() {
  static const Wanted from_environment = [] {
    Wanted found;
    const char* text = std::getenv("TOKAMAK_PERF");
    std::string_view rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      const std::string_view name = rest.substr(0, comma);
      if (name == "map") {
        found.map = true;
      } else if (name == "jitdump") {
        found.jitdump = true;
      } else if (!name.empty()) {
        std::fprintf(stderr, "tokamak: TOKAMAK_PERF knows no '%.*s'; there are map and jitdump\n",
                     static_cast<int>(name.size()), name.data());
      }
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    return found;
  }();
  return from_environment;
}

/// A file that grows with the code. After a fork the child begins one of its own: its name has the process
/// in it.
class GrowingFile {
 public:
  virtual ~GrowingFile() = default;

  void append(const ListedCode& code) {
    if (process_ != getpid()) begin();
    if (file_ < 0) return;
    const std::string text = record(code);
    if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) report("write", errno);
  }

 protected:
  virtual std::string path() const = 0;
  virtual std::string header() const { return {}; }
  virtual std::string record(const ListedCode& code) = 0;
  virtual void opened(int /*file*/) {}

 private:
  void begin() {
    process_ = getpid();
    if (file_ >= 0) close(file_);
    file_ = open(path().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file_ < 0) return report("open", errno);
    const std::string text = header();
    if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) report("write", errno);
    opened(file_);
  }

  void report(const char* what, int error) {
    std::fprintf(stderr, "tokamak: TOKAMAK_PERF: cannot %s %s: %s\n", what, path().c_str(),
                 std::strerror(error));
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  pid_t process_ = 0;
  int file_ = -1;
};

/// "address size name", in hexadecimal, a line for each function.
class PerfMap final : public GrowingFile {
  std::string path() const override { return "/tmp/perf-" + std::to_string(getpid()) + ".map"; }
  std::string record(const ListedCode& code) override {
    char numbers[40];
    std::snprintf(numbers, sizeof numbers, "%llx %llx ", static_cast<unsigned long long>(code.address),
                  static_cast<unsigned long long>(code.code.size()));
    return numbers + code.name + "\n";
  }
};

uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The format of tools/perf/Documentation/jitdump-specification.txt of Linux.
class JitDump final : public GrowingFile {
  static constexpr uint32_t kMagic = 0x4A695444, kVersion = 1, kHeaderBytes = 40;
  static constexpr uint32_t kCodeLoad = 0, kCodeLoadBytes = 56;

  std::string path() const override {
    const char* folder = std::getenv("JITDUMPDIR");
    return std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/jit-" +
           std::to_string(getpid()) + ".dump";
  }
  std::string header() const override {
    std::string text;
    put(text, kMagic);
    put(text, kVersion);
    put(text, kHeaderBytes);
    put(text, uint32_t{EM_X86_64});
    put(text, uint32_t{0});
    put(text, static_cast<uint32_t>(getpid()));
    put(text, now_ns());
    put(text, uint64_t{0});
    return text;
  }
  /// perf learns of the file from this mapping, which is kept.
  void opened(int file) override {
    mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  }
  std::string record(const ListedCode& code) override {
    std::string text;
    put(text, kCodeLoad);
    put(text, static_cast<uint32_t>(kCodeLoadBytes + code.name.size() + 1 + code.code.size()));
    put(text, now_ns());
    put(text, static_cast<uint32_t>(getpid()));
    put(text, static_cast<uint32_t>(gettid()));
    put(text, code.address);
    put(text, code.address);
    put(text, static_cast<uint64_t>(code.code.size()));
    put(text, functions_++);
    text.append(code.name).push_back('\0');
    return text.append(code.code.data(), code.code.size());
  }

  uint64_t functions_ = 0;
};

}  // namespace

bool lists_code() { return wanted().map || wanted().jitdump; }

bool registers_with_debuggers() {
  const char* text = std::getenv("TOKAMAK_GDB");
  return text != nullptr && std::string_view(text) == "1";
}

bool keeps_code_in_place() { return wanted().map || registers_with_debuggers(); }

void list_code(const ListedCode& code) {
  struct Files {
    std::mutex mutex;
    PerfMap map;
    JitDump dump;
  };
  static auto* files = new Files;
  const std::lock_guard lock(files->mutex);
  if (wanted().map) files->map.append(code);
  if (wanted().jitdump) files->dump.append(code);
}

}  // namespace tokamak::codegen
