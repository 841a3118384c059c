#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/child_process.h"
#include "runtime/machine.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

class ThreadPoolTest : public testing::Test {
 protected:
  ~ThreadPoolTest() override { pool.set_num_threads(before_); }

  ThreadPool& pool = ThreadPool::instance();

 private:
  int before_ = pool.num_threads();
};

/// Runs and checks that every task was done exactly once, by workers below the limit, in ranges that begin at
/// grains.
void expect_covers(ThreadPool& pool, int64_t tasks, int64_t grain, int most_workers = kMaxThreads) {
  std::vector<std::atomic<int>> times(tasks);
  std::atomic<bool> ranges_right = true;
  const int limit = std::min(pool.num_threads(), most_workers);
  pool.run(
      tasks, grain,
      [&](int64_t begin, int64_t end, int worker) {
        if (begin % grain != 0 || begin >= end || worker < 0 || worker >= limit) ranges_right = false;
        if (end != tasks && end % grain != 0) ranges_right = false;
        for (int64_t i = begin; i < end; ++i) times[i].fetch_add(1, std::memory_order_relaxed);
      },
      most_workers);
  EXPECT_TRUE(ranges_right) << tasks << " tasks, grain " << grain;
  for (int64_t i = 0; i < tasks; ++i) ASSERT_EQ(times[i], 1) << "task " << i << " of " << tasks;
}

TEST_F(ThreadPoolTest, CoversEveryTaskOnce) {
  for (int threads : {1, 2, 3, 7}) {
    pool.set_num_threads(threads);
    for (int64_t tasks : {0, 1, 2, 5, 64, 1000, 4097}) {
      for (int64_t grain : {1, 3, 16, 5000}) expect_covers(pool, tasks, grain);
    }
  }
}

TEST_F(ThreadPoolTest, OneChunkIsADirectCall) {
  pool.set_num_threads(4);
  const auto caller = std::this_thread::get_id();
  bool called = false;
  pool.run(10, 10, [&](int64_t begin, int64_t end, int worker) {
    called = begin == 0 && end == 10 && worker == 0 && std::this_thread::get_id() == caller;
    EXPECT_FALSE(ThreadPool::inside_run());
  });
  EXPECT_TRUE(called);
}

TEST_F(ThreadPoolTest, WorkersTakePart) {
  pool.set_num_threads(3);
  // Two workers must hold chunks at once with the caller for this to end.
  std::atomic<int> inside = 0;
  std::set<int> workers;
  std::mutex mutex;
  pool.run(3, 1, [&](int64_t, int64_t, int worker) {
    {
      const std::lock_guard lock(mutex);
      workers.insert(worker);
    }
    ++inside;
    while (inside < 3) std::this_thread::yield();
  });
  EXPECT_EQ(workers, (std::set<int>{0, 1, 2}));
}

TEST_F(ThreadPoolTest, EveryThreadBeginsWithARangeOfItsOwnTheSameInEveryRun) {
  pool.set_num_threads(2);
  for (int round = 0; round < 3; ++round) {
    // Neither goes on before both are inside, and the caller not before the worker is through with its own.
    std::atomic<int> inside = 0;
    std::vector<int> done_by(8, -1);
    std::vector<int64_t> order;  // of the worker
    pool.run(8, 1, [&](int64_t begin, int64_t, int worker) {
      if (begin % 4 == 0) ++inside;
      while (inside < 2) std::this_thread::yield();
      done_by[begin] = worker;
      if (worker == 1) order.push_back(begin);
      if (begin == 7) ++inside;
      while (begin == 0 && inside < 3) std::this_thread::yield();
    });
    EXPECT_EQ(done_by[0], 0);
    ASSERT_GE(order.size(), 4U);
    EXPECT_EQ((std::vector<int64_t>(order.begin(), order.begin() + 4)), (std::vector<int64_t>{4, 5, 6, 7}));
    if (order.size() > 4) {
      EXPECT_EQ(order[4], 3);  // it helps from the far end
    }
  }
}

TEST_F(ThreadPoolTest, MostWorkersBoundsTheWorkerNumbers) {
  pool.set_num_threads(7);
  for (int i = 0; i < 200; ++i) expect_covers(pool, 300, 1, 2);
}

TEST_F(ThreadPoolTest, NestedRunsAreInline) {
  pool.set_num_threads(4);
  std::atomic<int64_t> sum = 0;
  std::atomic<int> elsewhere = 0;
  pool.run(64, 1, [&](int64_t begin, int64_t end, int) {
    EXPECT_TRUE(ThreadPool::inside_run());
    const auto outer = std::this_thread::get_id();
    pool.run(100, 1, [&](int64_t from, int64_t to, int worker) {
      if (std::this_thread::get_id() != outer || worker != 0) ++elsewhere;
      sum += (end - begin) * (to - from);
    });
  });
  EXPECT_EQ(sum, 6400);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_FALSE(ThreadPool::inside_run());
}

TEST_F(ThreadPoolTest, WhatIsThrownEndsTheRunAndReachesTheCaller) {
  pool.set_num_threads(4);
  for (int64_t thrower = 0; thrower < 200; ++thrower) {
    std::atomic<int64_t> begun = 0, ended = 0;
    try {
      pool.run(200, 1, [&](int64_t begin, int64_t end, int) {
        ++begun;
        for (int64_t task = begin; task < end; ++task) {
          if (task == thrower || task == thrower + 50) throw std::out_of_range(std::to_string(thrower));
        }
        ++ended;
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::out_of_range& error) {
      EXPECT_EQ(error.what(), std::to_string(thrower));
    }
    EXPECT_TRUE(begun - ended == 1 || begun - ended == 2) << begun << " " << ended;
    EXPECT_FALSE(ThreadPool::inside_run());
    expect_covers(pool, 100, 1);
  }
}

TEST_F(ThreadPoolTest, WhatIsThrownInsideReachesOnlyItsCaller) {
  pool.set_num_threads(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < 6; ++user) {
    users.emplace_back([&, user] {
      for (int i = 0; i < 200; ++i) {
        bool was_thrown = false;
        try {
          pool.run(60, 1, [&](int64_t begin, int64_t, int) {
            if (user % 2 == 0 && begin >= 30) throw std::bad_alloc();
          });
        } catch (const std::bad_alloc&) {
          was_thrown = true;
        }
        wrong += was_thrown == (user % 2 == 0) ? 0 : 1;
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadPoolTest, ManyThreadsRunAtOnce) {
  pool.set_num_threads(3);
  std::vector<std::thread> users;
  for (int user = 0; user < 20; ++user) {  // more than there are run slots
    users.emplace_back([&, user] {
      for (int i = 0; i < 50; ++i) expect_covers(pool, 50 + user * 7 + i, 1 + user % 3);
    });
  }
  for (std::thread& user : users) user.join();
}

TEST_F(ThreadPoolTest, ScratchIndexedByWorkerIsNotShared) {
  pool.set_num_threads(5);
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::vector<int64_t> sums(8 * pool.num_threads());  // plain: the sanitizer sees any sharing
        pool.run(200, 1, [&](int64_t begin, int64_t end, int worker) { sums[8 * worker] += end - begin; });
        int64_t total = 0;
        for (int64_t sum : sums) total += sum;
        ASSERT_EQ(total, 200);
      }
    });
  }
  for (std::thread& user : users) user.join();
}

TEST_F(ThreadPoolTest, ResizesWhileRunning) {
  pool.set_num_threads(2);
  std::atomic<bool> stop = false;
  std::vector<std::thread> users;
  for (int user = 0; user < 2; ++user) {
    users.emplace_back([&] {
      while (!stop) {
        std::atomic<int64_t> sum = 0;
        pool.run(128, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
        ASSERT_EQ(sum, 128);
      }
    });
  }
  for (int i = 0; i < 300; ++i) pool.set_num_threads(1 + i * 5 % 9);
  stop = true;
  for (std::thread& user : users) user.join();
}

TEST_F(ThreadPoolTest, WorksAfterSleeping) {
  pool.set_num_threads(3);
  for (int i = 0; i < 10; ++i) {
    expect_covers(pool, 1000, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// The cores that the thread of each worker may use, and the one that the caller is on.
struct Seen {
  std::vector<cpu_set_t> allowed_to_workers;
  int core_of_caller;
};
/// A worker may join before the caller has told all of them where to run: they look when everyone is there.
Seen run_on_all(ThreadPool& pool) {
  const int threads = pool.num_threads();
  Seen seen{.allowed_to_workers = std::vector<cpu_set_t>(static_cast<size_t>(threads - 1))};
  std::atomic<int> inside = 0;
  pool.run(threads, 1, [&](int64_t, int64_t, int worker) {
    ++inside;
    while (inside < threads) std::this_thread::yield();
    if (worker == 0) {
      seen.core_of_caller = sched_getcpu();
    } else {
      sched_getaffinity(0, sizeof(cpu_set_t), &seen.allowed_to_workers[static_cast<size_t>(worker - 1)]);
    }
  });
  return seen;
}

TEST_F(ThreadPoolTest, WorkersLeaveTheCallerItsCore) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof(own), &own), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &own)) cores.push_back(core);
  if (cores.size() < 2) GTEST_SKIP() << "there is one core";
  pool.set_num_threads(2);
  for (int core : {cores[0], cores[1], cores[0]}) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the worker sleeps
    const Seen seen = run_on_all(pool);
    EXPECT_EQ(seen.core_of_caller, core);
    EXPECT_FALSE(CPU_ISSET(core, &seen.allowed_to_workers[0]));
    EXPECT_EQ(CPU_COUNT(&seen.allowed_to_workers[0]), static_cast<int>(cores.size()) - 1);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(own), &own), 0);
}

TEST_F(ThreadPoolTest, LongRunsMayUseAllCores) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof(own), &own), 0);
  if (CPU_COUNT(&own) < 2) GTEST_SKIP() << "there is one core";
  pool.set_num_threads(2);
  std::atomic<int> inside = 0;
  std::atomic<bool> is_free = false;
  pool.run(100, 1, [&](int64_t, int64_t, int worker) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof(allowed), &allowed);
    if (worker == 1 && CPU_EQUAL(&own, &allowed)) is_free = true;
  });
  EXPECT_TRUE(is_free);
  const Seen next = run_on_all(pool);
  EXPECT_EQ(CPU_COUNT(&next.allowed_to_workers[0]), CPU_COUNT(&own) - 1);
}

TEST_F(ThreadPoolTest, MoreThreadsThanCoresUseAllCores) {
  pool.set_num_threads(2);
  run_on_all(pool);
  pool.set_num_threads(usable_cpus() + 1);
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof(own), &own), 0);
  for (const cpu_set_t& allowed : run_on_all(pool).allowed_to_workers) EXPECT_TRUE(CPU_EQUAL(&own, &allowed));
}

TEST_F(ThreadPoolTest, RefusesImpossibleNumbers) {
  for (int threads : {0, -1, kMaxThreads + 1}) EXPECT_THROW(pool.set_num_threads(threads), UserError);
}

TEST_F(ThreadPoolTest, TakesTheNumberFromTheEnvironment) {
  const auto threads_with = [](const char* ours, const char* openmp) {
    ours ? setenv("TOKAMAK_NUM_THREADS", ours, 1) : unsetenv("TOKAMAK_NUM_THREADS");
    openmp ? setenv("OMP_NUM_THREADS", openmp, 1) : unsetenv("OMP_NUM_THREADS");
    return default_num_threads();
  };
  EXPECT_EQ(threads_with("7", "3"), 7);
  EXPECT_EQ(threads_with(nullptr, "3"), 3);
  EXPECT_EQ(threads_with(nullptr, "5,2"), 5);
  EXPECT_EQ(threads_with(nullptr, "many"), usable_cpus());
  EXPECT_EQ(threads_with(nullptr, nullptr), usable_cpus());
  for (const char* bad : {"0", "-3", "many", "4x", "99999999999"}) {
    EXPECT_THROW(threads_with(bad, nullptr), UserError) << bad;
  }
  threads_with(nullptr, nullptr);
}

int64_t sum_of_tasks(ThreadPool& pool, int64_t tasks) {
  std::atomic<int64_t> sum = 0;
  pool.run(tasks, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
  return sum;
}

TEST_F(ThreadPoolTest, SurvivesFork) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  pool.set_num_threads(3);
  ASSERT_EQ(sum_of_tasks(pool, 1000), 1000);
  const auto works = [&] {
    // Workers must have started anew in the child: two chunks wait for each other.
    std::atomic<int> inside = 0;
    pool.run(2, 1, [&](int64_t, int64_t, int) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
    return sum_of_tasks(pool, 1000) == 1000;
  };
  EXPECT_EQ(exit_code_of_child(works), 0);
  EXPECT_EQ(exit_code_of_child([&] { return works() && exit_code_of_child(works) == 0; }), 0);
  EXPECT_TRUE(works());
}

TEST_F(ThreadPoolTest, ShortRunsStartThreadsWhenThereAreMany) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  pool.set_num_threads(3);
  const auto threads_after = [&](int runs, double cost) {
    std::atomic<int64_t> sum = 0;
    for (int i = 0; i < runs; ++i)
      pool.run(
          8, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; }, kMaxThreads, cost);
    if (sum != 8 * runs) return std::ptrdiff_t{0};
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  constexpr double kShort = 10'000;
  EXPECT_EQ(exit_code_of_child([&] { return threads_after(5, kShort) == 1; }), 0);
  EXPECT_EQ(exit_code_of_child([&] { return threads_after(50, kShort) == 3; }), 0);
  EXPECT_EQ(exit_code_of_child([&] { return threads_after(1, 1000 * kShort) == 3; }), 0);
  EXPECT_EQ(exit_code_of_child([&] { return threads_after(1, ThreadPool::kUnknownCost) == 3; }), 0);
}

TEST_F(ThreadPoolTest, SurvivesForkWhileOthersRun) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  pool.set_num_threads(3);
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) ASSERT_EQ(sum_of_tasks(pool, 256), 256);
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(exit_code_of_child([&] { return sum_of_tasks(pool, 512) == 512; }), 0);
  }
  stop = true;
  busy.join();
}

TEST_F(ThreadPoolTest, ExitsWhileAThreadRuns) {
  SKIP_IF_FORK_IS_NOT_SUPPORTED();
  pool.set_num_threads(3);
  EXPECT_EQ(exit_code_of_child([&] {
              std::thread([&] {
                for (;;) sum_of_tasks(pool, 256);
              }).detach();
              std::this_thread::sleep_for(std::chrono::milliseconds(5));
              return true;
            }),
            0);
}

}  // namespace
}  // namespace tokamak
