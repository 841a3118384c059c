#include "support/forking.h"

#include <pthread.h>

#include <array>
#include <new>
#include <vector>

namespace tokamak {
namespace {

ForkActions holding(std::mutex& lock) {
  constexpr auto release = [](void* of) { static_cast<std::mutex*>(of)->unlock(); };
  return {.of = &lock,
          .before = [](void* of) { static_cast<std::mutex*>(of)->lock(); },
          .in_parent = release,
          .in_child = release};
}
/// It knows its holder by the number of the thread, which is another one in the child.
ForkActions holding(std::shared_mutex& lock) {
  return {.of = &lock,
          .before = [](void* of) { static_cast<std::shared_mutex*>(of)->lock(); },
          .in_parent = [](void* of) { static_cast<std::shared_mutex*>(of)->unlock(); },
          .in_child = [](void* of) { new (of) std::shared_mutex; }};
}

class Forking {
 public:
  static Forking& instance() {
    static auto* forking = [] {
      auto* made = new Forking;  // never destroyed: the process may fork until the very end
      pthread_atfork([] { instance().before(); }, [] { instance().after(&ForkActions::in_parent); },
                     [] { instance().after(&ForkActions::in_child); });
      return made;
    }();
    return *forking;
  }

  void add(const ForkActions& actions, LockKind kind) {
    const std::lock_guard guard(mutex_);
    actions_[static_cast<size_t>(kind)].push_back(actions);
  }
  /// All that is done with it.
  void remove(const void* of) {
    const std::lock_guard not_while_forking(removal_);
    const std::lock_guard guard(mutex_);
    for (auto& kind : actions_) std::erase_if(kind, [&](const ForkActions& each) { return each.of == of; });
  }
  void add(void (*wait)()) {
    const std::lock_guard guard(mutex_);
    waits_.push_back(wait);
  }

 private:
  using Actions = std::array<std::vector<ForkActions>, 3>;  ///< by LockKind

  void before() {
    for (void (*wait)() : current(waits_)) wait();
    removal_.lock();  // first: what is about to be locked stays
    while (true) {
      const Actions known = current(actions_);
      for (const auto& kind : known) {
        for (const ForkActions& each : kind) each.before(each.of);
      }
      mutex_.lock();  // last: whoever holds one of the others may be about to add a new one
      if (count(known) == count(actions_)) return;  // none can have gone
      mutex_.unlock();
      undo(known, &ForkActions::in_parent);
    }
  }
  void after(void (*ForkActions::*what)(void*)) {
    undo(actions_, what);
    mutex_.unlock();
    removal_.unlock();
  }

  template <class T>
  T current(const T& member) {
    const std::lock_guard guard(mutex_);
    return member;
  }
  static size_t count(const Actions& actions) {
    size_t all = 0;
    for (const auto& kind : actions) all += kind.size();
    return all;
  }
  /// The last that was done first.
  static void undo(const Actions& actions, void (*ForkActions::*what)(void*)) {
    for (auto kind = actions.rbegin(); kind != actions.rend(); ++kind) {
      for (auto each = kind->rbegin(); each != kind->rend(); ++each) ((*each).*what)(each->of);
    }
  }

  std::mutex removal_;
  std::mutex mutex_;
  std::vector<void (*)()> waits_;
  Actions actions_;
};

}  // namespace

void hold_while_forking(std::mutex& mutex, LockKind kind) { Forking::instance().add(holding(mutex), kind); }

HeldWhileForking::HeldWhileForking(std::shared_mutex& mutex, LockKind kind) : mutex_(mutex) {
  Forking::instance().add(holding(mutex_), kind);
}
HeldWhileForking::~HeldWhileForking() { Forking::instance().remove(&mutex_); }

void act_while_forking(const ForkActions& actions, LockKind kind) { Forking::instance().add(actions, kind); }

void wait_before_forking(void (*wait)()) { Forking::instance().add(wait); }

}  // namespace tokamak
