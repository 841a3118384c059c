#include "runtime/roofline.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

#include "library/packed_method.h"
#include "runtime/buffer_pool.h"
#include "runtime/thread_pool.h"
#include "support/cpu.h"
#include "support/forking.h"
#include "support/function_ref.h"

namespace tokamak {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTry = 1e-3;  // seconds, about
constexpr double kAllTries = 0.06;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Calls `work(piece, repeats)` for all pieces on the threads of the pool, and gives how many repeats a
/// second each gets done. Where the threads do not start together, the next try is better.
double best_rate(int64_t pieces, FunctionRef<void(int64_t, int64_t)> work) {
  ThreadPool& pool = ThreadPool::instance();
  auto run = [&](int64_t repeats) {
    const Clock::time_point start = Clock::now();
    pool.run(pieces, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t piece = begin; piece < end; ++piece) work(piece, repeats);
    });
    return seconds_since(start);
  };
  int64_t repeats = 1;
  double time = run(repeats);
  while (time < kTry / 2 && repeats < int64_t{1} << 40) {
    repeats *= 2;
    time = run(repeats);
  }
  double best = static_cast<double>(repeats) / time;
  const Clock::time_point start = Clock::now();
  for (int tries = 0; tries < 3 || seconds_since(start) < kAllTries; ++tries)
    best = std::max(best, static_cast<double>(repeats) / run(repeats));
  return best;
}

thread_local volatile double t_result;  // what is computed has to be

double measure_flops(const ProductKernels& kernels, int threads) {
  constexpr int64_t kRounds = 1000;
  const double rate = best_rate(threads, [&](int64_t, int64_t repeats) {
    for (int64_t i = 0; i < repeats; ++i) t_result = kernels.multiply_and_add(kRounds);
  });
  return rate * static_cast<double>(kRounds * 2 * kPeakChains * kernels.lanes * threads);
}

/// A thread keeps to its piece where that is to stay in its caches; elsewhere there are more pieces, and a
/// thread that something else holds up takes fewer of them.
Roofline::Level measure_reading(const ProductKernels& kernels, int64_t pieces, std::string name,
                                int64_t bytes) {
  const int64_t each = std::max<int64_t>(4096, bytes / pieces / 4096 * 4096);
  const Block block = BufferPool::instance().allocate(each * pieces);
  auto* data = static_cast<std::byte*>(block.data());
  std::memset(data, 0, static_cast<size_t>(each * pieces));
  const double rate = best_rate(pieces, [&](int64_t piece, int64_t repeats) {
    for (int64_t i = 0; i < repeats; ++i)
      t_result = kernels.largest(data + piece * each, each / static_cast<int64_t>(sizeof(float)));
  });
  return {std::move(name), each * pieces, rate * static_cast<double>(each * pieces)};
}

std::string level_name(const Cpu& cpu, int threads, int64_t bytes) {
  return bytes <= cpu.l2_bytes * threads ? "L2" : bytes <= cpu.l3_bytes ? "L3" : "memory";
}

/// Of the arrays that are read, from half of the second caches on.
std::vector<int64_t> level_sizes(const Cpu& cpu, int threads) {
  constexpr int64_t kLarge = int64_t{128} << 20;
  std::vector<int64_t> sizes{cpu.l2_bytes / 2 * threads};
  while (sizes.back() < std::max(kLarge, 4 * cpu.l3_bytes)) sizes.push_back(2 * sizes.back());
  return sizes;
}

Roofline measure(int threads) {
  const Cpu& cpu = current_cpu();
  const ProductKernels& f32 = kernels_for(ProductType::f32, cpu);
  Roofline roofline;
  roofline.threads = threads;
  roofline.f32_flops = measure_flops(f32, threads);
  roofline.f64_flops = measure_flops(kernels_for(ProductType::f64, cpu), threads);
  for (int64_t bytes : level_sizes(cpu, threads)) {
    const bool stays_in_caches = bytes <= cpu.l3_bytes / 2;
    roofline.levels.push_back(measure_reading(f32, stays_in_caches ? threads : 16 * threads,
                                              level_name(cpu, threads, bytes), bytes));
  }
  // Part of an array is read as fast as all of it, whatever kept the machine busy at the time.
  for (size_t i = roofline.levels.size() - 1; i-- > 0;) {
    double& rate = roofline.levels[i].bytes_per_second;
    rate = std::max(rate, roofline.levels[i + 1].bytes_per_second);
  }
  return roofline;
}

/// Of two that were measured with as many threads.
Roofline better_of(const Roofline& a, const Roofline& b) {
  Roofline better = a;
  better.f32_flops = std::max(a.f32_flops, b.f32_flops);
  better.f64_flops = std::max(a.f64_flops, b.f64_flops);
  for (size_t i = 0; i < better.levels.size(); ++i)
    better.levels[i].bytes_per_second = std::max(a.levels[i].bytes_per_second, b.levels[i].bytes_per_second);
  return better;
}

}  // namespace

Roofline expected_roofline(const Cpu& cpu, int threads) {
  constexpr double kClock = 3.2e9;
  constexpr int kThreadsThatMemoryServes = 8;
  Roofline roofline;
  roofline.threads = threads;
  roofline.f32_flops =
      kClock * (cpu.fma ? 32 : 8) * threads;  // two registers of 32 bytes a clock, or one of 16
  roofline.f64_flops = roofline.f32_flops / 2;
  for (int64_t bytes : level_sizes(cpu, threads)) {
    const std::string name = level_name(cpu, threads, bytes);
    const double of_thread = name == "L2" ? 32 * kClock : name == "L3" ? 16 * kClock : 18e9;
    const int served = name == "memory" ? std::min(threads, kThreadsThatMemoryServes) : threads;
    roofline.levels.push_back({name, bytes, of_thread * served});
  }
  return roofline;
}

Roofline measure_roofline(bool again) {
  static auto* mutex = [] {
    auto* made = new std::mutex;
    hold_while_forking(*made, LockKind::outer);  // a fork waits for who measures
    return made;
  }();
  static std::map<int, Roofline> known;
  const int threads = ThreadPool::instance().num_threads();
  const std::lock_guard lock(*mutex);
  const auto found = known.find(threads);
  if (found == known.end()) return known.emplace(threads, measure(threads)).first->second;
  if (again) found->second = better_of(found->second, measure(threads));
  return found->second;
}

}  // namespace tokamak
