#include "runtime/system_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/buffer_pool.h"
#include "runtime/machine.h"
#include "support/sizes.h"

namespace tokamak {

namespace {

constexpr int64_t kCheckedFrom = int64_t{256} << 20;

void* map_huge(int64_t capacity) {
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
  madvise(data, static_cast<size_t>(capacity),
          MADV_HUGEPAGE);  // a kernel without huge pages is all right too
  return data;
}

}  // namespace

void* system_allocate(int64_t capacity) {
  if (capacity >= kHugePage) return map_huge(capacity);
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
