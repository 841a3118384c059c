#include "driver/kernel_cache.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <unordered_map>

#include "cache/disk_cache.h"
#include "ir/text.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "support/log.h"
#include "support/verification.h"

namespace tokamak {
namespace {

/// Kernels in use, by what they compute. Programs own them; the cache only knows them.
class KernelCache {
 public:
  static KernelCache& instance() {
    static auto* cache = new KernelCache;
    return *cache;
  }

  std::shared_ptr<const CompiledKernel> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    auto found = kernels_.find(key);
    return found == kernels_.end() ? nullptr : found->second.lock();
  }

  /// The kernel kept under the key: the first one given for it that is still in use.
  std::shared_ptr<const CompiledKernel> put(const std::string& key,
                                            std::shared_ptr<const CompiledKernel> kernel) {
    const std::lock_guard lock(mutex_);
    if (kernels_.size() >= next_sweep_) {
      std::erase_if(kernels_, [](const auto& entry) { return entry.second.expired(); });
      next_sweep_ = 2 * kernels_.size() + 64;
    }
    std::weak_ptr<const CompiledKernel>& place = kernels_[key];
    if (std::shared_ptr<const CompiledKernel> other = place.lock()) return other;
    place = kernel;
    return kernel;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const CompiledKernel>> kernels_;
  size_t next_sweep_ = 64;
};

std::string key_of(const KernelRequest& request, CodeOptions code, const Cpu& cpu) {
  std::string key = cpu.name + (code.fast_math ? " fast " : " ") + (code.bounds_checked ? "checked " : "") +
                    (request.own_outputs ? "" : "over ");
  auto add = [&](const FusedKernel& kernel, const std::vector<Layout>& layouts) {
    for (const Layout& layout : layouts) {
      if (!layout.dense) key += "s";
      for (Layout::Axis axis : layout.axes) key += static_cast<char>('0' + static_cast<int>(axis));
      key += ",";
    }
    for (bool swept : kernel.domain.swept) key += swept ? "-" : "|";
    for (bool permuted : kernel.permuted) key += permuted ? "p" : ".";
    for (bool constant : kernel.constant) key += constant && kernel.product ? "c" : ".";
    key += print(kernel.body);
  };
  const std::vector<const FusedKernel*> stages = stages_of(*request.kernel);
  for (size_t i = 0; i < stages.size(); ++i) add(*stages[i], request.layouts[i]);
  return key;
}

/// The loops of a kernel that a routine of the library is all of.
std::shared_ptr<const LoopKernel> no_loops(const FusedKernel& kernel) {
  auto empty = std::make_shared<LoopKernel>();
  empty->name = kernel.name;
  return empty;
}

std::shared_ptr<const CompiledKernel> compile_with_sort(const KernelRequest& request, const Cpu& cpu) {
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->sort = std::make_shared<CompiledSort>(compile_sort(*request.kernel, cpu));
  compiled->loops = no_loops(*request.kernel);
  return compiled;
}

std::shared_ptr<const CompiledKernel> compile_with_product(const KernelRequest& request, CodeOptions code,
                                                           const Cpu& cpu) {
  auto product = std::make_shared<CompiledProduct>(
      compile_product(*request.kernel, request.layouts, code, request.own_outputs, cpu));
  auto compiled = std::make_shared<CompiledKernel>();
  const CompiledStage& last = product->stages.back();
  compiled->code = last.code;
  compiled->loops = last.loops;
  if (compiled->loops == nullptr) compiled->loops = no_loops(*request.kernel);
  compiled->decisions = product->decisions;
  compiled->product = std::move(product);
  return compiled;
}

std::shared_ptr<const CompiledKernel> compile_one(const KernelRequest& request, CodeOptions code,
                                                  const Cpu& cpu) {
  ProfileScope profile(ProfileCategory::compile, request.kernel->name);
  if (request.kernel->sort) return compile_with_sort(request, cpu);
  if (request.kernel->product) return compile_with_product(request, code, cpu);
  ScheduledKernel scheduled = schedule_kernel(*request.kernel, request.layouts[0], cpu, request.own_outputs);
  scheduled.loops.relaxed_math = code.fast_math;
  scheduled.loops.bounds_checked = code.bounds_checked;
  if (verification_enabled()) verify(scheduled.loops);
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->code = compile(scheduled.loops, cpu);
  compiled->loops = std::make_shared<const LoopKernel>(std::move(scheduled.loops));
  compiled->decisions = std::move(scheduled.decisions);
  return compiled;
}

}  // namespace

bool CompiledKernel::is_from_disk() const {
  if (product == nullptr) return code != nullptr && code->from_disk();
  const auto has_code = [](const CompiledStage& stage) { return stage.code != nullptr; };
  const auto is_other = [](const CompiledStage& stage) {
    return stage.code != nullptr && !stage.code->from_disk();
  };
  return std::ranges::any_of(product->stages, has_code) && std::ranges::none_of(product->stages, is_other);
}

std::vector<std::shared_ptr<const CompiledKernel>> compile_kernels(const std::vector<KernelRequest>& requests,
                                                                   CodeOptions code, const Cpu& cpu) {
  KernelCache& cache = KernelCache::instance();
  std::vector<std::shared_ptr<const CompiledKernel>> kernels(requests.size());
  std::vector<std::string> keys;
  std::unordered_map<std::string, size_t> first_with;
  std::vector<size_t> missing;
  for (size_t i = 0; i < requests.size(); ++i) {
    keys.push_back(key_of(requests[i], code, cpu));
    if (!first_with.emplace(keys[i], i).second) continue;
    kernels[i] = cache.find(keys[i]);
    if (kernels[i] == nullptr) missing.push_back(i);
  }
  std::vector<std::exception_ptr> errors(missing.size());
  ThreadPool::instance().run(static_cast<int64_t>(missing.size()), 1, [&](int64_t begin, int64_t end, int) {
    for (auto m = static_cast<size_t>(begin); m < static_cast<size_t>(end); ++m) {
      try {
        kernels[missing[m]] = compile_one(requests[missing[m]], code, cpu);
      } catch (...) {
        errors[m] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (size_t i : missing) kernels[i] = cache.put(keys[i], kernels[i]);
  for (size_t i = 0; i < requests.size(); ++i) kernels[i] = kernels[first_with.at(keys[i])];
  if (logging::enabled(logging::Channel::cache)) {
    const auto from_disk = static_cast<size_t>(
        std::ranges::count_if(missing, [&](size_t i) { return kernels[i]->is_from_disk(); }));
    std::string text = std::to_string(requests.size()) + " kernels, " +
                       std::to_string(missing.size() - from_disk) + " compiled";
    if (from_disk > 0) text += ", " + std::to_string(from_disk) + " from the disk cache";
    logging::log(logging::Channel::cache, text);
    DiskCache::log_notes();
  }
  return kernels;
}

}  // namespace tokamak
