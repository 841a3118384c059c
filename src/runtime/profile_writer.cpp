#include "runtime/profile_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "support/json.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// What a process that is killed may lose.
constexpr auto kPeriod = std::chrono::milliseconds(100);

UserError cannot_write(const std::string& path, int error) {
  return UserError("cannot write " + valid_utf8(path) + ": " + std::strerror(error));
}

}  // namespace

ProfileWriter::ProfileWriter(const ProfileSession& session, const std::string& path)
    : session_(session),
      path_(path),
      file_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)),
      process_(getpid()) {
  if (file_ < 0) throw cannot_write(path, errno);
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
  } catch (const Error&) {  // who wants to know calls close()
  }
}

bool ProfileWriter::is_ours() const { return getpid() == process_; }

void ProfileWriter::close() { finish(/*replaces_for_nothing=*/true); }

void ProfileWriter::close_after_failure() { finish(/*replaces_for_nothing=*/false); }

void ProfileWriter::begin() {
  if (has_begun_) return;
  has_begun_ = true;
  if (ftruncate(file_, 0) != 0 && errno != EINVAL) error_ = errno;  // EINVAL: a device or a pipe
  append("[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"tokamak\"}}");
}

void ProfileWriter::finish(bool replaces_for_nothing) {
  if (file_ < 0) return;
  if (!is_ours()) {
    static_cast<void>(running_.release());
    ::close(file_);
    file_ = -1;
    return;
  }
  {
    const std::lock_guard lock(running_->mutex);
    running_->closing = true;
  }
  running_->condition.notify_all();
  running_->thread.join();
  if (replaces_for_nothing) begin();
  if (has_begun_) append("\n]\n");
  if (::close(file_) != 0 && error_ == 0) error_ = errno;
  file_ = -1;
  if (error_ != 0) throw cannot_write(path_, error_);
}

void ProfileWriter::write_until_closed() {
  pthread_setname_np(pthread_self(), "tokamak-trace");
  std::unique_lock lock(running_->mutex);
  do {
    running_->condition.wait_for(lock, kPeriod, [&] { return running_->closing; });
    write_news();
  } while (!running_->closing);  // which may be so before the thread has begun
}

void ProfileWriter::write_news() {
  const Profile news = session_.read(cursor_);
  if (news.events.empty()) return;
  std::string text;
  for (const std::string& line : trace_lines(news, named_threads_)) (text += ",\n") += line;
  named_threads_ = news.threads.size();
  begin();
  append(text);
}

void ProfileWriter::append(const std::string& text) {
  size_t done = 0;
  while (done < text.size() && error_ == 0) {
    const ssize_t written = write(file_, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

}  // namespace tokamak
