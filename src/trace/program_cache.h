#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support/forking.h"

namespace tokamak {

/// A bounded cache whose entries are made once, however many threads ask at the same time.
///
/// Finding an entry is a scan under a shared lock: the entries are few, and comparing them needs no
/// allocation. The entry that was not used for longest makes room. A failed making is forgotten: whoever
/// waited gets the error, the next one tries again. So does the child of a fork with what a thread of the
/// parent was making.
template <class Key, class Made>
class ProgramCache {
 public:
  using Pointer = std::shared_ptr<const Made>;

  explicit ProgramCache(size_t capacity) : capacity_(std::max<size_t>(capacity, 1)) {}

  /// The finished entry whose key satisfies `matches`, or nullptr.
  template <class Matches>
  Pointer find(const Matches& matches) const {
    std::shared_lock lock(mutex_);
    Entry* entry = scan(matches);
    if (entry == nullptr || entry->ready == nullptr) return nullptr;
    touch(*entry);
    return entry->ready;
  }

  /// The entry, made by `make` under the key of `make_key` if need be. Calls `on_recursion`, which must
  /// throw, if this thread is making that very entry.
  template <class Matches, class MakeKey, class Make, class OnRecursion>
  Pointer get(const Matches& matches, const MakeKey& make_key, const Make& make,
              const OnRecursion& on_recursion) {
    if (Pointer found = find(matches)) return found;
    std::promise<Pointer> promise;
    std::shared_ptr<Entry> mine;
    std::shared_future<Pointer> theirs;
    {
      std::unique_lock lock(mutex_);
      Entry* entry = scan(matches);
      if (entry != nullptr && is_left_behind(*entry)) {
        erase(*entry);
        entry = nullptr;
      }
      if (entry != nullptr) {
        touch(*entry);
        if (entry->ready) return entry->ready;
        if (entry->maker == std::this_thread::get_id()) on_recursion();
        theirs = entry->pending;
      } else {
        mine = std::make_shared<Entry>();
        mine->key = make_key();
        mine->pending = promise.get_future().share();
        mine->maker = std::this_thread::get_id();
        mine->process = getpid();
        misses_.fetch_add(1, std::memory_order_relaxed);
        entries_.push_back(mine);
      }
    }
    if (mine == nullptr) return theirs.get();
    try {
      Pointer made = make();
      publish(*mine, made);
      promise.set_value(made);
      return made;
    } catch (...) {
      forget(*mine);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  void clear() {
    Entries dropped;  // after the lock was given back
    std::unique_lock lock(mutex_);
    for (auto& entry : std::exchange(entries_, {})) {
      (entry->ready != nullptr ? dropped : entries_).push_back(std::move(entry));
    }
  }
  size_t size() const {
    std::shared_lock lock(mutex_);
    return entries_.size();
  }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

  /// The key used last; nullptr when there is none.
  std::shared_ptr<const Key> latest_key() const {
    std::shared_lock lock(mutex_);
    std::shared_ptr<Entry> latest;
    for (const auto& entry : entries_) {
      if (entry->ready && (!latest || entry->used > latest->used)) latest = entry;
    }
    return latest ? std::shared_ptr<const Key>(latest, &latest->key) : nullptr;
  }

 private:
  struct Entry {
    Key key;
    Pointer ready;  ///< null while it is being made
    std::shared_future<Pointer> pending;
    std::thread::id maker;
    pid_t process = 0;  ///< of the maker
    std::atomic<uint64_t> used = 0;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;

  template <class Matches>
  Entry* scan(const Matches& matches) const {
    for (const auto& entry : entries_) {
      if (matches(entry->key)) return entry.get();
    }
    return nullptr;
  }
  void touch(Entry& entry) const {
    hits_.fetch_add(1, std::memory_order_relaxed);
    entry.used.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void publish(Entry& entry, const Pointer& made) {
    Entries dropped;  // after the lock was given back
    std::unique_lock lock(mutex_);
    entry.ready = made;
    entry.used.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    while (entries_.size() > capacity_) {
      auto oldest = entries_.end();
      for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if ((*it)->ready && (oldest == entries_.end() || (*it)->used < (*oldest)->used)) oldest = it;
      }
      if (oldest == entries_.end()) break;  // all are being made
      dropped.push_back(std::move(*oldest));
      entries_.erase(oldest);
    }
  }
  void forget(const Entry& entry) {
    std::unique_lock lock(mutex_);
    erase(entry);
  }
  void erase(const Entry& entry) {
    std::erase_if(entries_, [&](const auto& other) { return other.get() == &entry; });
  }
  /// Its maker is a thread of the process that forked, and will never be done.
  static bool is_left_behind(const Entry& entry) {
    return entry.ready == nullptr && entry.process != getpid();
  }

  size_t capacity_;
  mutable std::shared_mutex
      mutex_;  ///< nothing that takes locks, such as dropping programs, is done under it
  HeldWhileForking held_while_forking_{mutex_, LockKind::leaf};
  Entries entries_;
  mutable std::atomic<uint64_t> clock_ = 0;
  mutable std::atomic<uint64_t> hits_ = 0;
  std::atomic<uint64_t> misses_ = 0;
};

}  // namespace tokamak
