#include "support/forking.h"

#include <pthread.h>

#include <array>
#include <new>
#include <vector>

namespace tokamak {
namespace {

/// A lock of whatever kind.
struct AnyLock {
  void* lock;
  void (*acquire)(void*);
  void (*release)(void*);
  void (*release_in_child)(void*);

  friend bool operator==(const AnyLock& a, const AnyLock& b) { return a.lock == b.lock; }
};
AnyLock any(std::mutex& lock) {
  constexpr auto release = [](void* of) { static_cast<std::mutex*>(of)->unlock(); };
  return {.lock = &lock,
          .acquire = [](void* of) { static_cast<std::mutex*>(of)->lock(); },
          .release = release,
          .release_in_child = release};
}
/// It knows its holder by the number of the thread, which is another one in the child.
AnyLock any(std::shared_mutex& lock) {
  return {.lock = &lock,
          .acquire = [](void* of) { static_cast<std::shared_mutex*>(of)->lock(); },
          .release = [](void* of) { static_cast<std::shared_mutex*>(of)->unlock(); },
          .release_in_child = [](void* of) { new (of) std::shared_mutex; }};
}

class Forking {
 public:
  static Forking& instance() {
    static auto* forking = [] {
      auto* made = new Forking;  // never destroyed: the process may fork until the very end
      pthread_atfork([] { instance().before(); }, [] { instance().after(&AnyLock::release); },
                     [] { instance().after(&AnyLock::release_in_child); });
      return made;
    }();
    return *forking;
  }

  void add(AnyLock lock, LockKind kind) {
    const std::lock_guard guard(mutex_);
    locks_[static_cast<size_t>(kind)].push_back(lock);
  }
  void remove(AnyLock lock) {
    const std::lock_guard not_while_forking(removal_);
    const std::lock_guard guard(mutex_);
    for (auto& kind : locks_) std::erase(kind, lock);
  }
  void add(void (*wait)()) {
    const std::lock_guard guard(mutex_);
    waits_.push_back(wait);
  }

 private:
  using Locks = std::array<std::vector<AnyLock>, 3>;  ///< by LockKind

  void before() {
    for (void (*wait)() : current(waits_)) wait();
    removal_.lock();  // first: what is about to be locked stays
    while (true) {
      const Locks held = current(locks_);
      for_each(held, [](const AnyLock& each) { each.acquire(each.lock); });
      mutex_.lock();  // last: whoever holds one of the others may be about to add a new one
      if (held == locks_) return;
      mutex_.unlock();
      for_each(held, [](const AnyLock& each) { each.release(each.lock); });
    }
  }
  void after(void (*AnyLock::*release)(void*)) {
    for_each(locks_, [&](const AnyLock& each) { (each.*release)(each.lock); });
    mutex_.unlock();
    removal_.unlock();
  }

  template <class T>
  T current(const T& member) {
    const std::lock_guard guard(mutex_);
    return member;
  }
  template <class Action>
  static void for_each(const Locks& locks, Action action) {
    for (const auto& kind : locks) {
      for (const AnyLock& lock : kind) action(lock);
    }
  }

  std::mutex removal_;
  std::mutex mutex_;
  std::vector<void (*)()> waits_;
  Locks locks_;
};

}  // namespace

void hold_while_forking(std::mutex& mutex, LockKind kind) { Forking::instance().add(any(mutex), kind); }

HeldWhileForking::HeldWhileForking(std::shared_mutex& mutex, LockKind kind) : mutex_(mutex) {
  Forking::instance().add(any(mutex_), kind);
}
HeldWhileForking::~HeldWhileForking() { Forking::instance().remove(any(mutex_)); }

void wait_before_forking(void (*wait)()) { Forking::instance().add(wait); }

}  // namespace tokamak
