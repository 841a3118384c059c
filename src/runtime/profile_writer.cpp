#include "runtime/profile_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "support/json.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// What a process that is killed may lose.
constexpr auto kPeriod = std::chrono::milliseconds(100);

UserError cannot_write(const std::string& path, int error) {
  return UserError("cannot write " + valid_utf8(path) + ": " + std::strerror(error));
}

std::string absolute(const std::string& path) {
  std::error_code error;  // where the folder that the process is in is gone
  const std::filesystem::path made = std::filesystem::absolute(path, error);
  return error ? path : made.string();
}

}  // namespace

ProfileWriter::ProfileWriter(const ProfileSession& session, const std::string& path)
    : session_(session), path_(absolute(path)), process_(getpid()) {
  open_file();
  if (file_ < 0) throw cannot_write(path, error_);
  struct stat about {};
  const bool is_of_another_run = fstat(file_, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
  if (!is_of_another_run) begin();
  // Signals are for the threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running_->thread = std::thread([this] { write_until_closed(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProfileWriter::~ProfileWriter() {
  try {
    close();
  } catch (const std::exception&) {  // who wants to know calls close()
  }
}

bool ProfileWriter::is_ours() const { return getpid() == process_; }

void ProfileWriter::open_file() {
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  struct stat about {};
  if (file_ < 0 || fstat(file_, &about) != 0) {
    error_ = errno;
    return;
  }
  device_ = about.st_dev;
  number_ = about.st_ino;
}

bool ProfileWriter::is_our_file() const {
  struct stat about {};
  return file_ >= 0 && fstat(file_, &about) == 0 && about.st_dev == device_ && about.st_ino == number_;
}

void ProfileWriter::open_again_if_lost() {
  if (error_ != 0 || is_our_file()) return;
  const dev_t device = device_;
  const ino_t number = number_;
  open_file();
  struct stat about {};
  if (error_ != 0 || fstat(file_, &about) != 0) return;
  // A file that was removed may leave its number to another.
  const bool has_all = !S_ISREG(about.st_mode) || static_cast<size_t>(about.st_size) == written_;
  if (has_begun_ && device == device_ && number == number_ && has_all) return;
  has_begun_ = false;
  cursor_.clear();
  named_threads_ = 0;
  told_dropped_ = 0;
}

void ProfileWriter::close() { finish(/*replaces_for_nothing=*/true); }

void ProfileWriter::close_after_failure() { finish(/*replaces_for_nothing=*/false); }

void ProfileWriter::begin() {
  if (has_begun_) return;
  has_begun_ = true;
  written_ = 0;
  if (ftruncate(file_, 0) != 0 && errno != EINVAL) error_ = errno;  // EINVAL: a device or a pipe
  append("[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"tokamak\"}}");
}

void ProfileWriter::finish(bool replaces_for_nothing) {
  if (running_ == nullptr) return;
  if (!is_ours()) {
    static_cast<void>(running_.release());
    if (is_our_file()) ::close(file_);
    return;
  }
  {
    const std::lock_guard lock(running_->mutex);
    running_->closing = true;
  }
  running_->condition.notify_all();
  running_->thread.join();
  running_.reset();
  try {
    write_news();
    if (replaces_for_nothing) begin();
    if (has_begun_) write_end();
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
  }
  if (is_our_file() && ::close(file_) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) throw cannot_write(path_, error_);
}

void ProfileWriter::write_until_closed() {
  pthread_setname_np(pthread_self(), "tokamak-trace");
  std::unique_lock lock(running_->mutex);
  while (!running_->condition.wait_for(lock, kPeriod, [&] { return running_->closing; })) {
    try {
      write_news();
    } catch (const std::bad_alloc&) {  // NOLINT: it is written the next time
    }
  }
}

void ProfileWriter::write_news() {
  open_again_if_lost();
  ProfileSession::Cursor cursor = cursor_;
  const Profile news = session_.read(cursor);
  if (news.events.empty() && news.dropped == told_dropped_) return;
  std::string text;
  append_trace_lines(text, news, named_threads_);
  if (news.dropped != told_dropped_) (text += ",\n") += trace_line_about(news);
  cursor_.swap(cursor);
  named_threads_ = news.threads.size();
  told_dropped_ = news.dropped;
  begin();
  append(text);
}

void ProfileWriter::write_end() {
  ProfileSession::Cursor behind_all = cursor_;
  append(",\n" + trace_line_about(session_.read(behind_all)) + "\n]\n");
}

void ProfileWriter::append(std::string_view text) {
  size_t done = 0;
  while (done < text.size() && error_ == 0) {
    open_again_if_lost();
    if (!has_begun_ || error_ != 0) return;  // another file: all of it is written there the next time
    const ssize_t written = write(file_, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
      written_ += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

}  // namespace tokamak
