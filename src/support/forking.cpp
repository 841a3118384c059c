#include "support/forking.h"

#include <pthread.h>

#include <array>
#include <vector>

namespace tokamak {
namespace {

class Forking {
 public:
  static Forking& instance() {
    static auto* forking = [] {
      auto* made = new Forking;  // never destroyed: the process may fork until the very end
      pthread_atfork([] { instance().before(); }, [] { instance().after(); }, [] { instance().after(); });
      return made;
    }();
    return *forking;
  }

  void add(std::mutex& lock, LockKind kind) {
    const std::lock_guard guard(mutex_);
    locks_[static_cast<size_t>(kind)].push_back(&lock);
  }
  void add(void (*wait)()) {
    const std::lock_guard guard(mutex_);
    waits_.push_back(wait);
  }

 private:
  using Locks = std::array<std::vector<std::mutex*>, 3>;  ///< by LockKind

  void before() {
    for (void (*wait)() : current(waits_)) wait();
    while (true) {
      const Locks held = current(locks_);
      for_each(held, [](std::mutex& lock) { lock.lock(); });
      mutex_.lock();  // last: whoever holds one of the others may be about to add a new one
      if (held == locks_) return;
      mutex_.unlock();
      for_each(held, [](std::mutex& lock) { lock.unlock(); });
    }
  }
  void after() {
    for_each(locks_, [](std::mutex& lock) { lock.unlock(); });
    mutex_.unlock();
  }

  template <class T>
  T current(const T& member) {
    const std::lock_guard guard(mutex_);
    return member;
  }
  template <class Action>
  static void for_each(const Locks& locks, Action action) {
    for (const auto& kind : locks) {
      for (std::mutex* lock : kind) action(*lock);
    }
  }

  std::mutex mutex_;
  std::vector<void (*)()> waits_;
  Locks locks_;
};

}  // namespace

void hold_while_forking(std::mutex& mutex, LockKind kind) { Forking::instance().add(mutex, kind); }

void wait_before_forking(void (*wait)()) { Forking::instance().add(wait); }

}  // namespace tokamak
