#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

// ThreadSanitizer does not know threads that begin in a forked child.
#if defined(__SANITIZE_THREAD__)
#define SKIP_IF_FORK_IS_NOT_SUPPORTED() GTEST_SKIP() << "ThreadSanitizer does not support threads after fork"
#else
#define SKIP_IF_FORK_IS_NOT_SUPPORTED() static_cast<void>(0)
#endif

// Nor does AddressSanitizer give up, in the child, the locks of its allocator that other threads held at that
// moment.
#if defined(__SANITIZE_ADDRESS__)
#define SKIP_IF_OTHERS_ALLOCATE_DURING_FORK() \
  GTEST_SKIP() << "AddressSanitizer does not support fork while other threads allocate"
#else
#define SKIP_IF_OTHERS_ALLOCATE_DURING_FORK() static_cast<void>(0)
#endif

namespace tokamak {

/// The exit code of a child that runs `body` and then exits, with all that exit() does: 0 if it returned
/// true.
template <class Body>
int exit_code_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang must not hang the tests
    const int code = body() ? 0 : 1;
#if defined(__SANITIZE_ADDRESS__)
    _exit(code);  // what the parent's other threads held is lost to the child, which exit() would report as
                  // leaks
#else
    std::exit(code);
#endif
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tokamak
