#include "driver/warm_up.h"

#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "cache/disk_cache.h"
#include "codegen/object_key.h"
#include "driver/compile.h"
#include "ir/text.h"
#include "runtime/buffer_pool.h"
#include "support/cpu.h"
#include "support/forking.h"
#include "support/log.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

std::mutex mutex;
std::thread worker;

/// Uses what most first programs use: vector math with its way out to the C library, casts, a sum.
constexpr const char* kProgram = R"(
func @warm_up(%x: f32[64], %y: f64[64]) {
  %0 = sin %x
  %1 = convert %0 {dtype=f64}
  %2 = mul %1, %y
  %3 = max %2, 0.0
  %4 = reduce_sum %3 {axes=[0]}
  return %3, %4
}
)";

void warm_up() noexcept {
  const logging::Silence silence;
  const DiskCachePause without_disk;  // LLVM has to have worked once, and importing a package writes no files
  try {
    (void)BufferPool::instance();  // which asks the system how much memory there may be
    // Asks the processor what it is, for the keys of all entries.
    (void)codegen::object_key("", current_cpu());
    const Graph graph = parse_one(kProgram);
    (void)compile(graph, std::vector<Layout>(graph.parameters().size()), {});
  } catch (const std::exception&) {  // NOLINT: the first real compilation meets the same error, and somebody
                                     // to tell
  }
}

}  // namespace

void finish_warm_up() {
  const std::lock_guard lock(mutex);
  if (worker.joinable()) worker.join();
}

void warm_up_in_background() {
  static std::once_flag once;
  std::call_once(once, [] {
    wait_before_forking(finish_warm_up);
    std::atexit(finish_warm_up);
    try {
      worker = std::thread(warm_up);
    } catch (const std::system_error&) {  // NOLINT: no thread to be had; the first compilation takes a little
                                          // longer
    }
  });
}

}  // namespace tokamak
