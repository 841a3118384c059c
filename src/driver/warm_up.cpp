#include "driver/warm_up.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "codegen/codegen.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

std::mutex mutex;
std::thread worker;

void wait_for_worker() {
  const std::lock_guard lock(mutex);
  if (worker.joinable()) worker.join();
}

void warm_up() noexcept {
  try {
    warm_up_codegen();
  } catch (const Error&) {  // NOLINT: the first real compilation meets the same error, and somebody to tell
  }
}

}  // namespace

void warm_up_in_background() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(wait_for_worker, nullptr, nullptr);
    std::atexit(wait_for_worker);
    try {
      worker = std::thread(warm_up);
    } catch (const std::system_error&) {  // NOLINT: no thread to be had; the first compilation takes a little
                                          // longer
    }
  });
}

}  // namespace tokamak
