#pragma once

#include <array>
#include <cstdint>

#include "runtime/buffer_pool.h"
#include "runtime/size_classes.h"

namespace tokamak {

/// Free blocks of all sizes, with the order in which they came. Knows no locks; headers linked by `next` are
/// lists.
class BlockStore {
 public:
  using Header = detail::BlockHeader;

  void put(Header* block) {
    Header*& head = heads_[block->size_class];
    block->previous = nullptr;
    block->next = head;
    if (head != nullptr) head->previous = block;
    head = block;
    block->older = newest_;
    block->newer = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer) = block;
    newest_ = block;
    bytes_ += block->capacity;
  }

  /// The block of that class that came last (it is the likeliest to be in cache), or nullptr.
  Header* take(int size_class) {
    Header* block = heads_[size_class];
    if (block != nullptr) unlink(block);
    return block;
  }

  /// Takes out the oldest blocks until at most `limit` bytes are left; gives them as a list.
  Header* take_oldest_beyond(int64_t limit) {
    Header* list = nullptr;
    while (bytes_ > limit && oldest_ != nullptr) {
      Header* block = oldest_;
      unlink(block);
      block->next = list;
      list = block;
    }
    return list;
  }

  int64_t bytes() const { return bytes_; }

 private:
  void unlink(Header* block) {
    (block->previous == nullptr ? heads_[block->size_class] : block->previous->next) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
    (block->newer == nullptr ? newest_ : block->newer->older) = block->older;
    (block->older == nullptr ? oldest_ : block->older->newer) = block->newer;
    block->next = block->previous = block->newer = block->older = nullptr;
    bytes_ -= block->capacity;
  }

  std::array<Header*, kSizeClasses> heads_ = {};
  Header* newest_ = nullptr;
  Header* oldest_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tokamak
