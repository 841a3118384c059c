#include "driver/kernel_cache.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include "cache/disk_cache.h"
#include "codegen/object_key.h"
#include "ir/text.h"
#include "loops/walk.h"
#include "ops/index.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "schedule/generalise.h"
#include "support/forking.h"
#include "support/log.h"
#include "support/verification.h"

namespace tokamak {
namespace {

/// Kernels that differ only in numbers share code, which reads them at run time, when there are this many.
constexpr size_t kKernelsWorthOneCode = 2;

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
  KernelCache() { hold_while_forking(mutex_, LockKind::leaf); }

  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const CompiledKernel>> kernels_;
  size_t next_sweep_ = 64;
};

std::string key_of(const KernelRequest& request, CodeOptions code, const Cpu& cpu) {
  std::string key = cpu.name + (code.fast_math ? " fast " : " ") + (code.bounds_checked ? "checked " : "") +
                    (request.own_outputs ? "" : "over ") + (request.read_soon ? "" : "last ");
  auto add = [&](const FusedKernel& kernel, const std::vector<Layout>& layouts) {
    for (const Layout& layout : layouts) {
      if (!layout.dense) key += "s";
      for (Layout::Axis axis : layout.axes) key += static_cast<char>('0' + static_cast<int>(axis));
      key += ",";
    }
    for (bool swept : kernel.domain.swept) key += swept ? "-" : "|";
    for (bool permuted : kernel.permuted) key += permuted ? "p" : ".";
    for (Value gather : kernel.checked_first) key += "?" + std::to_string(index_of(gather));
    for (bool constant : kernel.constant) key += constant && kernel.product ? "c" : ".";
    for (const FusedKernel::Maker& maker : kernel.makers) key += "m" + std::to_string(maker.made) + ",";
    key += print(kernel.body);
    for (const Node& node : kernel.body.nodes())  // its error tells the line, and whose that is
      if (rules::may_fail(node)) key += "@" + to_string(node.where);
  };
  const std::vector<const FusedKernel*> parts = parts_of(*request.kernel);
  for (size_t i = 0; i < parts.size(); ++i) add(*parts[i], request.layouts[i]);
  // Blocks of products are as many as make work for all threads.
  const bool has_product =
      std::ranges::any_of(parts, [](const auto* part) { return part->product.has_value(); });
  if (has_product) key += "t" + std::to_string(ThreadPool::instance().num_threads());
  return key;
}

/// The loops of a kernel that a routine of the library is all of.
std::shared_ptr<const LoopKernel> no_loops(const FusedKernel& kernel) {
  auto empty = std::make_shared<LoopKernel>();
  empty->name = kernel.name;
  return empty;
}

std::shared_ptr<CompiledKernel> compile_with_sort(const KernelRequest& request, const Cpu& cpu) {
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->sort = std::make_shared<CompiledSort>(compile_sort(*request.kernel, cpu));
  compiled->loops = no_loops(*request.kernel);
  return compiled;
}

std::shared_ptr<CompiledKernel> compile_with_product(const KernelRequest& request, CodeOptions code,
                                                     const Cpu& cpu) {
  auto product = std::make_shared<CompiledProduct>(
      compile_product(*request.kernel, request.layouts, code, request.own_outputs, cpu));
  auto compiled = std::make_shared<CompiledKernel>();
  const RowCode& last = product->stages.back().row_code;
  compiled->code = last.code;
  compiled->loops = last.loops;
  if (compiled->loops == nullptr) compiled->loops = no_loops(*request.kernel);
  compiled->decisions = product->decisions;
  compiled->product = std::move(product);
  return compiled;
}

/// Calls `work(i)` for every i below `count`, several at a time. Throws the first error when all are done.
template <class Work>
void for_each_at_once(size_t count, Work work) {
  std::vector<std::exception_ptr> errors(count);
  ThreadPool::instance().run(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// What profiles call the making of a kernel, or of a part of it.
std::string event_name(const char* part, const std::string& kernel) {
  return profiler::enabled() ? part + kernel : std::string();
}

/// The kernel without its code, unless it has a product or sorts: such are complete.
std::shared_ptr<CompiledKernel> schedule_one(const KernelRequest& request, CodeOptions code, const Cpu& cpu) {
  const bool is_complete = request.kernel->sort || request.kernel->product;
  const std::string event = event_name(is_complete ? "kernel " : "loops of ", request.kernel->name);
  const ProfileScope profile(ProfileCategory::compile, event);
  if (request.kernel->sort) return compile_with_sort(request, cpu);
  if (request.kernel->product) return compile_with_product(request, code, cpu);
  ScheduledKernel made =
      schedule_kernel(*request.kernel, request.layouts[0], cpu, request.own_outputs, request.read_soon);
  made.loops.relaxed_math = code.fast_math;
  made.loops.bounds_checked = code.bounds_checked;
  if (verification_enabled()) verify(made.loops);
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->loops = std::make_shared<const LoopKernel>(std::move(made.loops));
  compiled->decisions = std::move(made.decisions);
  return compiled;
}

/// Makes the code of a program's kernels, but for those that have some and share none.
class CodeMaking {
 public:
  CodeMaking(std::vector<std::shared_ptr<CompiledKernel>> kernels, const Cpu& cpu)
      : cpu_(cpu), made_(std::move(kernels)) {}

  void run() {
    share_code();
    // The longest first: it would keep one thread when the others have nothing left to do.
    std::vector<size_t> lengths(made_.size());
    for (size_t i = 0; i < made_.size(); ++i) {
      for (const Nest& nest : made_[i]->loops->nests) lengths[i] += length_of(nest.root);
    }
    std::vector<size_t> order(made_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return lengths[i]; });
    for_each_at_once(order.size(), [&](size_t i) { add_code(*made_[order[i]]); });
  }

 private:
  using Group = std::vector<size_t>;

  /// About how much code a loop becomes: its statements, each once for every register of its lanes.
  static size_t length_of(const Loop& loop) {
    size_t length = 0;
    const std::function<void(const std::vector<Stmt>&, size_t)> add = [&](const std::vector<Stmt>& body,
                                                                          size_t lanes) {
      for (const Stmt& stmt : body) {
        if (const Loop* inner = as_loop(stmt)) {
          add(inner->body, std::max(lanes, static_cast<size_t>(inner->lanes)));
        } else if (const Branch* branch = as_branch(stmt)) {
          add(branch->body, lanes);
          add(branch->otherwise, lanes);
        } else {
          length += 8 + lanes;
        }
      }
    };
    add(loop.body, 1);
    return length;
  }

  void add_code(CompiledKernel& kernel) const {
    if (kernel.product != nullptr || kernel.sort != nullptr || kernel.code != nullptr) return;
    const std::string event = event_name("code of ", kernel.loops->name);
    const ProfileScope profile(ProfileCategory::compile, event);
    kernel.code = compile(*kernel.loops, cpu_);
  }

  void share_code() {
    if (made_.size() < kKernelsWorthOneCode) return;
    std::vector<std::optional<KernelShape>> shapes(made_.size());
    std::vector<std::string> prints(made_.size());
    for_each_at_once(made_.size(), [&](size_t i) {
      if (made_[i]->product != nullptr || made_[i]->sort != nullptr) return;
      shapes[i] = shape_of(*made_[i]->loops);
      prints[i] = codegen::fingerprint_of(shapes[i]->shape);
    });
    std::map<std::string, Group> groups;
    for (size_t i = 0; i < made_.size(); ++i) {
      if (shapes[i]) groups[prints[i]].push_back(i);
    }
    std::vector<const Group*> large;
    for (const auto& [print, group] : groups) {
      if (group.size() >= kKernelsWorthOneCode) large.push_back(&group);
    }
    for_each_at_once(large.size(), [&](size_t i) { compile_together(*large[i], shapes); });
  }

  void compile_together(const Group& group, const std::vector<std::optional<KernelShape>>& shapes) {
    std::vector<const std::vector<int64_t>*> numbers;
    for (size_t i : group) numbers.push_back(&shapes[i]->numbers);
    std::optional<GeneralKernel> general = generalise(*made_[group[0]]->loops, numbers);
    if (!general) return;
    if (verification_enabled()) verify(general->kernel);
    const std::shared_ptr<const CompiledKernel> shared = compile_general(std::move(general->kernel));
    for (size_t i = 0; i < group.size(); ++i) {
      CompiledKernel& kernel = *made_[group[i]];
      LoopKernel loops = *kernel.loops;
      loops.scratch_bytes = shared->loops->scratch_bytes;
      kernel.loops = std::make_shared<const LoopKernel>(std::move(loops));
      kernel.general = shared;
      kernel.code = shared->code;
      kernel.numbers = std::move(general->numbers[i]);
      kernel.decisions += numbers_text(*shared->loops, kernel.numbers);
    }
  }

  std::shared_ptr<const CompiledKernel> compile_general(LoopKernel loops) const {
    KernelCache& cache = KernelCache::instance();
    const std::string key = "general " + cpu_.name + codegen::fingerprint_of(loops);
    if (auto known = cache.find(key)) return known;
    auto made = std::make_shared<CompiledKernel>();
    made->loops = std::make_shared<const LoopKernel>(std::move(loops));
    add_code(*made);
    return cache.put(key, std::move(made));
  }

  static std::string numbers_text(const LoopKernel& general, const std::vector<int64_t>& numbers) {
    std::string text;
    for (size_t i = 0; i < numbers.size(); ++i)
      text += (i == 0 ? "" : ", ") + general.variables[static_cast<size_t>(general.numbers[i])] + " = " +
              std::to_string(numbers[i]);
    return "share code with kernels like it: " + text + "\n";
  }

  const Cpu& cpu_;
  std::vector<std::shared_ptr<CompiledKernel>> made_;
};

}  // namespace

bool CompiledKernel::has_code() const {
  return product == nullptr ? code != nullptr : !codes_of(*product).empty();
}

bool CompiledKernel::is_from_disk() const {
  if (product == nullptr) return code != nullptr && code->from_disk();
  return has_code() &&
         std::ranges::all_of(codes_of(*product), [](const RowCode& one) { return one.code->from_disk(); });
}

KernelCompilation::KernelCompilation(const std::vector<KernelRequest>& requests, CodeOptions code,
                                     const Cpu& cpu)
    : code_(code), cpu_(cpu), kernels_(requests.size()) {
  KernelCache& cache = KernelCache::instance();
  std::unordered_map<std::string, size_t> first_with;
  std::vector<size_t> missing;
  for (size_t i = 0; i < requests.size(); ++i) {
    keys_.push_back(key_of(requests[i], code, cpu));
    if (!first_with.emplace(keys_[i], i).second) continue;
    kernels_[i] = cache.find(keys_[i]);
    if (kernels_[i] == nullptr) missing.push_back(i);
  }
  std::vector<std::shared_ptr<CompiledKernel>> made(missing.size());
  for_each_at_once(missing.size(),
                   [&](size_t m) { made[m] = schedule_one(requests[missing[m]], code_, cpu_); });
  for (size_t m = 0; m < missing.size(); ++m) {
    kernels_[missing[m]] = made[m];
    unfinished_.emplace(keys_[missing[m]], made[m]);
  }
  for (size_t i = 0; i < requests.size(); ++i) kernels_[i] = kernels_[first_with.at(keys_[i])];
}

void KernelCompilation::replace_loops(size_t request, LoopKernel loops) {
  if (verification_enabled()) verify(loops);
  std::string& key = keys_[request];
  key += " " + codegen::fingerprint_of(loops);
  if (const auto other = unfinished_.find(key); other != unfinished_.end()) {
    kernels_[request] = other->second;
    return;
  }
  if (auto known = KernelCache::instance().find(key)) {
    kernels_[request] = std::move(known);
    return;
  }
  auto made = std::make_shared<CompiledKernel>();
  made->loops = std::make_shared<const LoopKernel>(std::move(loops));
  made->decisions = kernels_[request]->decisions;
  kernels_[request] = made;
  unfinished_.emplace(key, std::move(made));
}

std::vector<std::shared_ptr<const CompiledKernel>> KernelCompilation::finish() {
  KernelCache& cache = KernelCache::instance();
  std::unordered_map<std::string, size_t> first_with;
  std::vector<size_t> distinct;
  std::vector<std::shared_ptr<CompiledKernel>> kernels;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!first_with.emplace(keys_[i], i).second) continue;
    distinct.push_back(i);
    const auto found = unfinished_.find(keys_[i]);
    kernels.push_back(found != unfinished_.end() ? found->second
                                                 : std::make_shared<CompiledKernel>(*kernels_[i]));
  }
  // Of all kernels, also of those that others have compiled: what a program becomes does not depend on what
  // else the process has.
  CodeMaking(kernels, cpu_).run();
  std::vector<const CompiledKernel*> made;
  for (size_t i = 0; i < distinct.size(); ++i) {
    std::shared_ptr<const CompiledKernel>& kernel = kernels_[distinct[i]];
    const std::string& key = keys_[distinct[i]];
    // Code that others share is less than the best for one kernel alone: it is not there for other programs.
    if (kernels[i]->general != nullptr) {
      kernel = kernels[i];
    } else if (unfinished_.contains(key)) {
      kernel = cache.put(key, kernels[i]);
    } else {
      continue;
    }
    made.push_back(kernel.get());
  }
  for (size_t i = 0; i < keys_.size(); ++i) kernels_[i] = kernels_[first_with.at(keys_[i])];
  if (logging::enabled(logging::Channel::cache)) {
    const auto count = [&](auto is_one) { return static_cast<size_t>(std::ranges::count_if(made, is_one)); };
    log_kernels(keys_.size(), count([](const auto* kernel) { return kernel->has_code(); }),
                count([](const auto* kernel) { return kernel->is_from_disk(); }));
  }
  return kernels_;
}

void log_kernels(size_t kernels, size_t made, size_t from_disk) {
  if (!logging::enabled(logging::Channel::cache)) return;
  std::string text = std::to_string(kernels) + " kernels, " + std::to_string(made - from_disk) + " compiled";
  if (from_disk > 0) text += ", " + std::to_string(from_disk) + " from the disk cache";
  logging::log(logging::Channel::cache, text);
  DiskCache::log_notes();
}

}  // namespace tokamak
