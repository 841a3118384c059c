#include "runtime/system_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/buffer_pool.h"
#include "runtime/machine.h"
#include "support/rounding.h"
#include "support/sizes.h"

namespace tokamak {

namespace {

constexpr int64_t kCheckedFrom = int64_t{256} << 20;

/// Asks for huge pages; but not where a large block's array ends, if it would leave more than a hundredth of
/// what it takes unused there.
void advise_huge(char* data, int64_t capacity, int64_t bytes) {
  constexpr int64_t kLarge = 8 * kHugePage;
  constexpr int64_t kHundredth = 100;
  const auto advise = [&](int64_t from, int64_t to) {  // a kernel without huge pages is all right too
    if (from < to) madvise(data + from, static_cast<size_t>(to - from), MADV_HUGEPAGE);
  };
  const int64_t last = round_down(bytes, kHugePage);
  const int64_t end = std::min(last + kHugePage, capacity);
  const bool is_wasteful = bytes > last && bytes >= kLarge && (end - bytes) * kHundredth > bytes;
  if (!is_wasteful) return advise(0, capacity);
  advise(0, last);
  advise(end, capacity);
}

void* map_huge(int64_t capacity, int64_t bytes) {
  // Mapping 2 MB more than needed leaves room to start at a boundary; what sticks out is unmapped again.
  const size_t mapped = static_cast<size_t>(capacity + kHugePage);
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(start);
  const uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = aligned + static_cast<uintptr_t>(capacity);
  if (aligned > address) munmap(start, aligned - address);
  if (address + mapped > end) munmap(reinterpret_cast<void*>(end), address + mapped - end);
  void* data = reinterpret_cast<void*>(aligned);
  advise_huge(static_cast<char*>(data), capacity, bytes);
  return data;
}

}  // namespace

void* system_allocate(int64_t capacity, int64_t bytes) {
  if (capacity >= kHugePage) return map_huge(capacity, bytes);
  return std::aligned_alloc(kBlockAlignment, static_cast<size_t>(capacity));
}

void system_free(void* data, int64_t capacity) {
  if (capacity >= kHugePage) {
    munmap(data, static_cast<size_t>(capacity));
  } else {
    std::free(data);
  }
}

bool memory_is_available(int64_t capacity) {
  return capacity < kCheckedFrom || capacity <= memory_limits().available;
}

std::string out_of_memory_message(int64_t bytes, int64_t in_use) {
  const MemoryLimits limits = memory_limits();
  std::string text = "out of memory: cannot allocate " + bytes_text(bytes);
  if (bytes >= 1000) text += " (" + std::to_string(bytes) + " bytes)";
  text += "; " + bytes_text(limits.available) + " of " + bytes_text(limits.total) + " are available";
  rlimit address_space;
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    text += ", this process is limited to " + bytes_text(static_cast<int64_t>(address_space.rlim_cur)) +
            " of address space";
  }
  if (in_use > 0) text += ", and arrays hold " + bytes_text(in_use);
  return text;
}

}  // namespace tokamak
