#include "limits/allocations.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace tokamak::testing {
namespace {

constexpr int64_t kAlways = std::numeric_limits<int64_t>::max() / 2;

std::atomic<int64_t> calls = 0;
std::atomic<int64_t> first_refused = kAlways;  ///< call
std::atomic<bool> refuses_for_good = false;
std::atomic<bool> has_refused = false;

bool is_refused() {
  const int64_t call = calls.fetch_add(1, std::memory_order_relaxed);
  const int64_t first = first_refused.load(std::memory_order_relaxed);
  if (call < first || (call > first && !refuses_for_good.load(std::memory_order_relaxed))) return false;
  has_refused.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

int64_t allocations() { return calls; }

NoMemory::NoMemory(int64_t spared, bool for_good) {
  has_refused = false;
  refuses_for_good = for_good;
  first_refused = calls + spared;
}
NoMemory::~NoMemory() { first_refused = kAlways; }
bool NoMemory::was_noticed() { return has_refused; }

}  // namespace tokamak::testing

// NOLINTBEGIN: what the standard says they are
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return tokamak::testing::is_refused() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
// NOLINTEND
