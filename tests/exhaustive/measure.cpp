#include "exhaustive/measure.h"

#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "exhaustive/errors.h"
#include "exhaustive/one_op.h"

namespace tokamak::exhaustive {
namespace {

constexpr uint64_t kBlock = 8192;
static_assert(kBlock % kReferenceWidth == 0);
/// Smaller errors than every function has somewhere: nobody asks where they are.
constexpr double kSmall = 0.49;

uint64_t count_of(const Arguments& arguments) {
  const auto* sweep = std::get_if<Sweep>(&arguments);
  return sweep != nullptr ? sweep->count : std::get<std::vector<double>>(arguments).size();
}

template <typename T>
void fill_bits(const Sweep& sweep, uint64_t start, std::byte* elements) {
  T* to = reinterpret_cast<T*>(elements);
  T next = static_cast<T>(sweep.first + start * sweep.step);
  for (uint64_t i = 0; i < kBlock; ++i, next = static_cast<T>(next + sweep.step)) to[i] = next;
}

/// The arguments from number `start` on. What is behind the last one is not counted.
void fill(const Arguments& arguments, uint64_t start, DType dtype, std::byte* elements) {
  if (const auto* sweep = std::get_if<Sweep>(&arguments)) {
    if (size_of(dtype) == 2) return fill_bits<uint16_t>(*sweep, start, elements);
    return fill_bits<uint32_t>(*sweep, start, elements);
  }
  const auto& numbers = std::get<std::vector<double>>(arguments);
  for (uint64_t i = 0; i < kBlock; ++i)
    put(dtype, numbers[std::min<uint64_t>(start + i, numbers.size() - 1)], elements + i * size_of(dtype));
}

/// The blocks that one thread takes.
class Worker {
 public:
  Worker(const Function& function, const OneOp& code, const Arguments& arguments, uint64_t exact_every)
      : function_(function),
        code_(code),
        arguments_(arguments),
        exact_every_(exact_every),
        elements_(kBlock * size_of(function.operand)),
        results_(kBlock * size_of(code.result())) {}
  ~Worker() { mpfr_free_cache(); }  // of this thread

  void block(uint64_t number) {
    const uint64_t start = number * kBlock;
    count_ = std::min(kBlock, count_of(arguments_) - start);
    fill(arguments_, start, function_.operand, elements_.data());
    const void* operand = elements_.data();
    code_.run({&operand, 1}, results_.data());
    widen(function_.operand, elements_.data(), x_);
    widen(code_.result(), results_.data(), got_);
    if (function_.exact != nullptr) {
      compare();
    } else if (exact_every_ == 1) {
      for (size_t i = 0; i < count_; ++i) judge_exactly(i);
    } else {
      judge(number);
    }
    finding_.values += count_;
  }

  const Finding& finding() const { return finding_; }

 private:
  std::span<const double> used(const std::vector<double>& numbers) const { return {numbers.data(), count_}; }

  void compare() {
    function_.exact(function_.operand, code_.result(), x_, wanted_);
    const size_t different = count_different(used(got_), used(wanted_));
    for (size_t i = 0; different != 0 && finding_.wrong == 0 && i < count_; ++i) {
      if (!is_different(got_[i], wanted_[i])) continue;
      finding_.at = x_[i];
      finding_.result = got_[i];
      break;
    }
    finding_.wrong += different;
  }

  void judge(uint64_t number) {
    (*function_.reference)(x_, wanted_);
    const double largest = errors_in_ulp(shape_, used(got_), used(wanted_), errors_);
    if (largest > std::max(finding_.max_ulp, kSmall)) judge_exactly(where_it_is(largest));
    // Somewhere in every so many.
    const uint64_t start = number * kBlock;
    const uint64_t scattered = start / exact_every_ * 0x9E3779B97F4A7C15 >> 40;
    uint64_t next = start / exact_every_ * exact_every_ + scattered % exact_every_;
    for (; next < start + count_; next += exact_every_) {
      if (next >= start) judge_reference(next - start);
    }
  }

  size_t where_it_is(double error) const {
    return static_cast<size_t>(std::ranges::find(errors_, error) - errors_.begin());
  }

  long double judge_exactly(size_t i) {
    const long double truth = function_.truth->exact(x_[i]);
    const double error = test::ulp_error(got_[i], truth, shape_);
    ++finding_.judged_exactly;
    if (error > finding_.max_ulp) {
      finding_.max_ulp = error;
      finding_.at = x_[i];
      finding_.result = got_[i];
    }
    return truth;
  }

  /// Zeros of the wrong sign do not mislead: they make a result look wrong.
  void judge_reference(size_t i) {
    const long double truth = judge_exactly(i);
    if (truth == 0 || wanted_[i] == 0) return;
    finding_.reference_ulp = std::max(finding_.reference_ulp, test::ulp_error(wanted_[i], truth, shape_));
  }

  const Function& function_;
  const OneOp& code_;
  const Arguments& arguments_;
  uint64_t exact_every_;
  size_t count_ = 0;
  Buffer elements_;
  Buffer results_;
  std::vector<double> x_ = std::vector<double>(kBlock);
  std::vector<double> got_ = x_;
  std::vector<double> wanted_ = x_;
  std::vector<double> errors_ = x_;
  test::FloatShape shape_ = shape_of(function_.operand);
  Finding finding_;
};

class Progress {
 public:
  explicit Progress(const Function& function, uint64_t blocks) : function_(function), blocks_(blocks) {}
  ~Progress() {
    if (shown_) std::fprintf(stderr, "\r%60s\r", "");
  }
  void show(uint64_t done, double max_ulp) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(2)) return;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\r%s %s: %5.1f %%, %.3f ULP ", std::string(name_of(function_.operand)).c_str(),
                 function_.name.c_str(), 100.0 * static_cast<double>(done) / static_cast<double>(blocks_),
                 max_ulp);
  }

 private:
  const Function& function_;
  uint64_t blocks_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

}  // namespace

Sweep sweep_over(DType dtype, std::optional<uint64_t> sample) {
  const uint64_t all = uint64_t{1} << (8 * size_of(dtype));
  if (!sample || *sample >= all) return {.count = all};
  // Steps of odd length reach all low bits as well.
  return {.first = 0x5A5, .step = all / *sample | 1, .count = *sample};
}

void Finding::add(const Finding& other) {
  if (other.max_ulp > max_ulp || (wrong == 0 && other.wrong != 0)) {
    at = other.at;
    result = other.result;
  }
  values += other.values;
  max_ulp = std::max(max_ulp, other.max_ulp);
  wrong += other.wrong;
  reference_ulp = std::max(reference_ulp, other.reference_ulp);
  judged_exactly += other.judged_exactly;
}

Finding measure(const Function& function, const Arguments& arguments, const Effort& effort) {
  const OneOp code(function.op, {&function.operand, 1}, kBlock, function.attributes);
  const uint64_t blocks = (count_of(arguments) + kBlock - 1) / kBlock;
  std::atomic<uint64_t> next = 0;
  std::vector<Finding> findings(static_cast<size_t>(effort.jobs));
  auto work = [&](size_t job) {
    Worker worker(function, code, arguments, effort.exact_every);
    Progress progress(function, blocks);
    for (uint64_t number; (number = next++) < blocks;) {
      worker.block(number);
      if (job == 0) progress.show(number, worker.finding().max_ulp);
    }
    findings[job] = worker.finding();
  };
  {
    std::vector<std::jthread> others;
    for (size_t job = 1; job < findings.size(); ++job) others.emplace_back(work, job);
    work(0);
  }
  Finding all;
  for (const Finding& finding : findings) all.add(finding);
  return all;
}

}  // namespace tokamak::exhaustive
