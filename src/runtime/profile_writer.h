#pragma once

#include <sys/types.h>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/profiler.h"

namespace tokamak {

/// Writes a session to a file while it records, a few times a second, so that a process that is killed leaves
/// all but the last moments of it. The file is a list of events that Chrome and Perfetto read; until close()
/// it lacks its last bracket, which they do without. What was in the file before stays until there is
/// something to write. A program that closes descriptors it does not know of may close this one, and open a
/// file of its own under its number: that is never written to, and the trace is opened again.
///
///   ProfileSession session;
///   ProfileWriter writer(session, "trace.json");
///   ...
///   writer.close();
class ProfileWriter {
 public:
  /// Throws UserError when the file cannot be made. The session must live longer than the writer.
  ProfileWriter(const ProfileSession& session, const std::string& path);
  ~ProfileWriter();
  ProfileWriter(const ProfileWriter&) = delete;
  ProfileWriter& operator=(const ProfileWriter&) = delete;

  /// Writes the rest. Throws UserError when something could not be written, now or before. In the child of a
  /// fork, whose file it is not, nothing happens.
  void close();
  /// The same where the run has failed: if it has recorded nothing, a file of an earlier one stays as it is.
  void close_after_failure();

 private:
  void begin();
  void finish(bool replaces_for_nothing);
  void write_until_closed();
  void write_news();
  void write_end();
  void append(std::string_view text);
  bool is_ours() const;
  void open_file();
  /// Whether the descriptor still leads to what was opened.
  bool is_our_file() const;
  /// Opens the file again if it does not. One that is no longer there is written anew, from its first event.
  void open_again_if_lost();

  const ProfileSession& session_;
  std::string path_;  ///< absolute: the program may go elsewhere
  int file_ = -1;
  dev_t device_ = 0;  ///< with the number, which file that is
  ino_t number_ = 0;
  size_t written_ = 0;  ///< bytes of it
  pid_t process_;
  int error_ = 0;           ///< the first that writing met
  bool has_begun_ = false;  ///< the file is of this run
  ProfileSession::Cursor cursor_;
  size_t named_threads_ = 0;
  int64_t told_dropped_ = 0;
  /// The thread that writes, and how to tell it to end. The child of a fork has no such thread, and could
  /// neither join it nor destroy what it waits for: there, this is never freed.
  struct Running {
    std::mutex mutex;
    std::condition_variable condition;
    bool closing = false;
    std::thread thread;
  };
  std::unique_ptr<Running> running_ = std::make_unique<Running>();
};

}  // namespace tokamak
