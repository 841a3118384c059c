#include "cache/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace tokamak {
namespace {

constexpr std::string_view kUnfinished = ".new-";
constexpr time_t kAbandonedAfterSeconds = 3600;
constexpr off_t kMaxFileBytes = off_t{256} << 20;

Problem system_problem(const std::string& what) { return what + ": " + std::strerror(errno); }

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }
  int operator*() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// What keeps a file or folder from being ours alone to write. A list of access rights that lets others write
/// shows in the bits of the group.
Problem ownership_problem(const struct stat& status, const std::string& what) {
  if (status.st_uid != geteuid())
    return what + " belongs to user " + std::to_string(status.st_uid) + ", not to " +
           std::to_string(geteuid());
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return what + " may be written to by other users";
  return {};
}

/// The folder, checked. Neither descriptor nor problem: there is none.
Descriptor open_folder(const std::string& path, Problem& problem) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno == ENOENT) return folder;
    if (errno == ELOOP || errno == ENOTDIR) {
      problem = path + " is no folder";  // a link to one is none
    } else {
      problem = system_problem(path);
    }
    return folder;
  }
  struct stat status {};
  problem = fstat(*folder, &status) == 0 ? ownership_problem(status, path) : system_problem(path);
  return problem.empty() ? std::move(folder) : Descriptor();
}

/// Those above may be for all to read; the last is for us alone.
Problem make_folder(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string above = path.substr(0, end);
    if (mkdir(above.c_str(), 0700) != 0 && errno != EEXIST && access(above.c_str(), F_OK) != 0)
      return system_problem(above);
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_problem(path);
  return {};
}

std::optional<std::string> read_all(int file, off_t size) {
  std::string content(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::read(file, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<size_t>(count);
  }
  return content;
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    content.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

/// A name that no other process has, on whatever machine it may run.
std::string unfinished_name() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    number = static_cast<uint64_t>(now.tv_nsec) << 32 ^ static_cast<uint64_t>(getpid());
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016lx", static_cast<unsigned long>(number));
  return std::string(kUnfinished) + digits;
}

/// Calls visit(name) for every name in the folder, which it takes over.
template <class Visit>
Problem for_each_name(Descriptor folder, Visit visit) {
  DIR* const listing = fdopendir(*folder);
  if (listing == nullptr) return system_problem("listing");
  folder.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closed_in_the_end(listing, closedir);
  while (const dirent* entry = readdir(listing)) visit(dirfd(listing), std::string(entry->d_name));
  return {};
}

}  // namespace

std::optional<std::string> CacheFolder::read(const std::string& name, Problem& problem,
                                             Reading reading) const {
  const Descriptor folder = open_folder(path_, problem);
  if (!folder) return std::nullopt;
  // What blocks when it is opened, as a pipe does, is no file.
  const Descriptor file(openat(*folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno != ENOENT) problem = system_problem(name);
    return std::nullopt;
  }
  struct stat status {};
  if (fstat(*file, &status) != 0) {
    problem = system_problem(name);
    return std::nullopt;
  }
  problem = !S_ISREG(status.st_mode)         ? name + " is no file"
            : status.st_size > kMaxFileBytes ? name + " is too large"
                                             : ownership_problem(status, name);
  if (!problem.empty()) return std::nullopt;
  std::optional<std::string> content = read_all(*file, status.st_size);
  if (!content) problem = name + " cannot be read";
  if (reading == Reading::for_use) {
    const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
    (void)futimens(*file, times);  // where nothing can be written, nothing needs to be thrown out
  }
  return content;
}

Problem CacheFolder::write(const std::string& name, std::string_view content) const {
  Problem problem;
  Descriptor folder = open_folder(path_, problem);
  if (!folder && problem.empty()) {
    problem = make_folder(path_);
    if (problem.empty()) folder = open_folder(path_, problem);
    if (!folder && problem.empty()) problem = path_ + " is gone again";
  }
  if (!folder) return problem;
  const std::string unfinished = unfinished_name();
  const Descriptor file(
      openat(*folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_problem("writing to " + path_);
  // A file that the system loses the end of when it crashes has the wrong checksum: there is no need to wait
  // for the disk.
  if (!write_all(*file, content) || renameat(*folder, unfinished.c_str(), *folder, name.c_str()) != 0) {
    problem = system_problem("writing to " + path_);
    unlinkat(*folder, unfinished.c_str(), 0);
  }
  return problem;
}

std::vector<CacheFolder::File> CacheFolder::files(Problem& problem) const {
  std::vector<File> found;
  Descriptor folder = open_folder(path_, problem);
  if (!folder) return found;
  problem = for_each_name(std::move(folder), [&](int directory, std::string name) {
    struct stat status {};
    if (name.starts_with('.') || fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISREG(status.st_mode)) found.push_back({std::move(name), status.st_size, status.st_mtim});
  });
  return found;
}

Problem CacheFolder::remove(const std::string& name) const {
  Problem problem;
  const Descriptor folder = open_folder(path_, problem);
  if (folder && unlinkat(*folder, name.c_str(), 0) != 0 && errno != ENOENT)
    problem = system_problem(path_ + "/" + name);
  return problem;
}

void CacheFolder::remove_abandoned() const {
  Problem problem;
  Descriptor folder = open_folder(path_, problem);
  if (!folder) return;
  const time_t now = time(nullptr);
  for_each_name(std::move(folder), [&](int directory, const std::string& name) {
    struct stat status {};
    if (name.starts_with(kUnfinished) &&
        fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        now - status.st_mtim.tv_sec > kAbandonedAfterSeconds)
      unlinkat(directory, name.c_str(), 0);
  });
}

}  // namespace tokamak
