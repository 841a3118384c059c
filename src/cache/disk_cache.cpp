#include "cache/disk_cache.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "cache/entry.h"
#include "support/forking.h"
#include "support/log.h"
#include "support/parts.h"

namespace tokamak {
namespace {

constexpr int64_t kDefaultMaxBytes = 512'000'000;
/// Who may write this part of what the folder holds without a look at what others wrote.
constexpr int64_t kPartWrittenUnseen = 16;
/// A thread that has nothing to write waits so long for more: the kernels of one program come together.
constexpr std::chrono::milliseconds kPatience{100};

/// Nobody may ever ask for them.
constexpr size_t kMostNotes = 100;

thread_local int pauses = 0;

/// The value of a variable; a program with more rights than its caller does not listen to that.
std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

/// "512M" in bytes.
std::optional<int64_t> parse_size(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0) return std::nullopt;
  int64_t factor = 1;
  if (rest != end) {
    constexpr std::string_view kUnits = "KMGT";
    const size_t unit = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*rest))));
    if (unit == std::string_view::npos || rest + 1 != end) return std::nullopt;
    for (size_t i = 0; i <= unit; ++i) factor *= 1000;
  }
  if (number > INT64_MAX / factor) return std::nullopt;
  return number * factor;
}

/// ~/.cache, if it is ours: a program that root runs with the variables of somebody else leaves nothing there
/// that they could not remove.
std::string home_cache(Problem& off) {
  const std::string home = variable("HOME");
  struct stat status {};
  if (!home.starts_with('/') || stat(home.c_str(), &status) != 0) {
    off = "there is no home folder";
  } else if (status.st_uid != geteuid()) {
    off = home + " belongs to another user";
  }
  return home + "/.cache";
}

std::string chosen_folder(Problem& off) {
  if (std::string folder = variable("TOKAMAK_CACHE_DIR"); !folder.empty()) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (!folder.starts_with('/')) {
      off = "TOKAMAK_CACHE_DIR is no absolute path: " + folder;
      std::fprintf(stderr, "tokamak: TOKAMAK_CACHE_DIR is no absolute path: '%s'; nothing is kept on disk\n",
                   folder.c_str());
    }
    return folder;
  }
  std::string caches = variable("XDG_CACHE_HOME");
  if (!caches.starts_with('/')) caches = home_cache(off);  // as its specification wants it
  return caches + "/tokamak";
}

bool is_used_earlier(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/// While it lives, this thread and those that it starts take no signals.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// The one of the process, once it is made.
std::atomic<DiskCache*> of_process = nullptr;

void log(const std::string& note) { logging::log(logging::Channel::cache, "disk cache: " + note); }

}  // namespace

/// Entries on their way to the disk, and the thread that takes them there.
struct DiskCache::Writing {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool is_writing = false;  ///< a job that is no longer among `jobs`
  bool has_thread = false;
  std::vector<std::string> notes;
  Writing* of_parent = nullptr;  ///< of the process that forked; kept for those that look for lost memory
};

DiskCache::Settings DiskCache::settings_from_environment() {
  Settings settings;
  settings.folder = chosen_folder(settings.off);
  settings.max_bytes = kDefaultMaxBytes;
  if (const std::string size = variable("TOKAMAK_CACHE_SIZE"); !size.empty()) {
    if (const std::optional<int64_t> bytes = parse_size(size)) {
      settings.max_bytes = *bytes;
    } else {
      std::fprintf(stderr,
                   "tokamak: TOKAMAK_CACHE_SIZE is no size: '%s'; write 512M, 2G or a number of bytes\n",
                   size.c_str());
    }
  }
  if (settings.max_bytes == 0) settings.off = "TOKAMAK_CACHE_SIZE is 0";
  if (!is_enabled(Part::disk_cache)) settings.off = "TOKAMAK_DISABLE says so";
  return settings;
}

DiskCache* DiskCache::instance() {
  if (pauses != 0) return nullptr;
  static const bool once = [] {
    const Settings settings = settings_from_environment();
    if (!settings.off.empty()) {
      log("off: " + settings.off);
      return true;
    }
    of_process = new DiskCache(settings);  // never destroyed: threads may compile until the very end
    act_while_forking({.in_child = [](void*) { of_process.load()->start_afresh_in_child(); }},
                      LockKind::runtime);
    std::atexit(finish);
    return true;
  }();
  (void)once;
  return of_process.load();
}

void DiskCache::log_notes() {
  DiskCache* const cache = of_process.load();
  if (cache == nullptr || !logging::enabled(logging::Channel::cache)) return;
  for (const std::string& note : cache->take_notes()) log(note);
}

void DiskCache::finish() {
  if (DiskCache* const cache = of_process.load()) cache->finish_writing();
}

DiskCache::DiskCache(const Settings& settings)
    : folder_(settings.folder), max_bytes_(settings.max_bytes), writing_(new Writing) {}

/// The parent's thread is not there, and its lock may be held for ever. What was on its way is the parent's
/// to write.
void DiskCache::start_afresh_in_child() {
  DiskCache& cache = *of_process.load();
  cache.writing_ = new Writing{.of_parent = cache.writing_};
  cache.written_since_look_ = INT64_MAX;
}

void DiskCache::note(std::string what) const {
  const std::lock_guard lock(writing_->mutex);
  if (writing_->notes.size() < kMostNotes) writing_->notes.push_back(std::move(what));
}

std::vector<std::string> DiskCache::take_notes() {
  const std::lock_guard lock(writing_->mutex);
  return std::exchange(writing_->notes, {});
}

std::optional<std::string> DiskCache::find(const Digest& key) const {
  const std::string name = to_hex(key);
  Problem problem;
  const std::optional<std::string> bytes = folder_.read(name, problem);
  if (!problem.empty()) note("not read: " + problem);
  if (!bytes) return std::nullopt;
  std::optional<CacheEntry> entry = decode_entry(key, *bytes);
  if (!entry) {
    note("not used: " + name + " is damaged or of another version");
    return std::nullopt;
  }
  return std::move(entry->content);
}

void DiskCache::put(const Digest& key, std::string_view label, std::string_view content) {
  Job job{key, encode_entry(key, label, content)};
  if (static_cast<int64_t>(job.bytes.size()) > max_bytes_) {
    note("not kept: an entry of " + std::to_string(job.bytes.size()) + " bytes is more than it may hold");
    return;
  }
  Writing& writing = *writing_;
  const std::lock_guard lock(writing.mutex);
  writing.jobs.push_back(std::move(job));
  writing.changed.notify_all();
  if (writing.has_thread) return;
  const SignalsBlocked blocked;  // of which one is the end of a program that writes more than it may
  try {
    std::thread([this, &writing] { write_jobs(writing); }).detach();
    writing.has_thread = true;
  } catch (const std::exception&) {  // neither a thread nor memory for one
    writing.jobs.clear();
    writing.notes.emplace_back("not written: there is no thread to be had");
  }
}

void DiskCache::write_jobs(Writing& writing) {
  std::unique_lock lock(writing.mutex);
  while (writing.changed.wait_for(lock, kPatience, [&] { return !writing.jobs.empty(); })) {
    const Job job = std::move(writing.jobs.front());
    writing.jobs.pop_front();
    writing.is_writing = true;
    lock.unlock();
    write_if_there_is_memory(job);
    lock.lock();
    writing.is_writing = false;
    writing.changed.notify_all();
  }
  writing.has_thread = false;
}

/// Nobody is there to be told but by a note, for which there may be no memory either.
void DiskCache::write_if_there_is_memory(const Job& job) noexcept {
  try {
    write(job);
  } catch (const std::exception&) {
    try {
      note("not written: there is no memory");
    } catch (const std::exception&) {  // NOLINT: the entry is compiled again the next time
    }
  }
}

void DiskCache::finish_writing() {
  Writing& writing = *writing_;
  std::unique_lock lock(writing.mutex);
  writing.changed.wait(lock, [&] { return writing.jobs.empty() && !writing.is_writing; });
}

void DiskCache::write(const Job& job) {
  if (const Problem problem = folder_.write(to_hex(job.key), job.bytes); !problem.empty()) {
    note("not written: " + problem);
    return;
  }
  const auto size = static_cast<int64_t>(job.bytes.size());
  if (written_since_look_ < max_bytes_ / kPartWrittenUnseen - size) {
    written_since_look_ += size;
  } else {
    remove_least_used();
    written_since_look_ = 0;
  }
}

/// Those that are entries. Nobody knows what else there may be in a folder that a variable names.
std::vector<CacheFolder::File> DiskCache::files(Problem& problem) const {
  std::vector<CacheFolder::File> files = folder_.files(problem);
  const auto is_other = [](const CacheFolder::File& file) {
    return file.name.size() != 2 * sizeof(Digest) ||
           file.name.find_first_not_of("0123456789abcdef") != std::string::npos;
  };
  std::erase_if(files, is_other);
  return files;
}

void DiskCache::remove_least_used() {
  folder_.remove_abandoned();
  Problem problem;
  std::vector<CacheFolder::File> files = this->files(problem);
  int64_t bytes = 0;
  for (const CacheFolder::File& file : files) bytes += file.bytes;
  if (bytes <= max_bytes_) return;
  std::ranges::sort(files, [](const auto& a, const auto& b) { return is_used_earlier(a.used, b.used); });
  const int64_t enough = max_bytes_ - max_bytes_ / 8;  // or each entry would have another one removed
  size_t removed = 0;
  for (auto file = files.begin(); file != files.end() && bytes > enough; ++file) {
    if (!(problem = folder_.remove(file->name)).empty()) {
      note("not removed: " + problem);
      return;
    }
    bytes -= file->bytes;
    ++removed;
  }
  note(std::to_string(removed) + " entries removed that were not used for longest");
}

std::string DiskCache::label_of(const std::string& name) const {
  Problem problem;
  const std::optional<std::string> bytes = folder_.read(name, problem, CacheFolder::Reading::for_a_look);
  return bytes ? label_of_entry(*bytes) : "";
}

std::vector<DiskCache::Entry> DiskCache::entries(Problem& problem) const {
  std::vector<Entry> entries;
  for (const CacheFolder::File& file : files(problem))
    entries.push_back({file.name, label_of(file.name), file.bytes, file.used});
  return entries;
}

size_t DiskCache::clear(Problem& problem) {
  const std::vector<CacheFolder::File> files = this->files(problem);
  for (const CacheFolder::File& file : files) {
    if (problem.empty()) problem = folder_.remove(file.name);
  }
  return files.size();
}

DiskCachePause::DiskCachePause() { ++pauses; }
DiskCachePause::~DiskCachePause() { --pauses; }

}  // namespace tokamak
