#include "driver/prepare_pages.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/buffer_pool.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// Smaller results are not worth a thread; for more than this it is better not to take memory in advance.
constexpr int64_t kWorthwhile = int64_t{8} << 20;
constexpr int64_t kMost = int64_t{512} << 20;
constexpr int64_t kPage = 4096;

}  // namespace

struct PagePreparation::Work {
  std::vector<Block> blocks;
  std::atomic<bool> enough = false;
  std::thread thread;

  void touch() noexcept {
    for (const Block& block : blocks) {
      auto* bytes = static_cast<volatile char*>(block.data());
      for (int64_t at = 0; at < block.bytes() && !enough.load(std::memory_order_relaxed); at += kPage)
        bytes[at] = 0;
    }
  }
};

PagePreparation::PagePreparation(std::span<const TensorType> results) {
  int64_t total = 0;
  for (const TensorType& type : results) total += type.bytes();
  if (total < kWorthwhile || total > kMost || std::thread::hardware_concurrency() < 2) return;
  auto work = std::make_unique<Work>();
  try {
    for (const TensorType& type : results) {
      if (type.bytes() >= kHugePage) work->blocks.push_back(BufferPool::instance().allocate(type.bytes()));
    }
    work->thread = std::thread(&Work::touch, work.get());
  } catch (const UserError&) {  // NOLINT: no memory to be had in advance; the run will say so if it needs it
    return;
  } catch (const std::system_error&) {  // NOLINT: nor a thread
    return;
  }
  work_ = std::move(work);
}

PagePreparation::~PagePreparation() {
  if (work_ == nullptr) return;
  work_->enough = true;
  work_->thread.join();
}

}  // namespace tokamak
