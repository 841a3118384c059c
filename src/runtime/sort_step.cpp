#include "runtime/sort_step.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/buffer_pool.h"
#include "runtime/program.h"
#include "runtime/thread_pool.h"

namespace tokamak {
namespace {

/// Elements of a line that several threads sort together; and of the parts that they then share.
constexpr int64_t kLongLine = 1 << 15;
constexpr int64_t kPart = 1 << 13;

int64_t address_step(const std::vector<int64_t>& coefficients, const int64_t* strides) {
  int64_t step = 0;
  for (size_t axis = 0; axis < coefficients.size(); ++axis) step += coefficients[axis] * strides[axis];
  return step;
}

/// One axis of the lines: how far the next line is, and its result.
struct LineAxis {
  int64_t extent;
  int64_t stride;
  int64_t result_stride;
};

/// A step with all addresses known.
class RunningSort {
 public:
  RunningSort(const SortStep& step, const BlockMemory& memory) : method_(*step.method), step_(step) {
    const int64_t* strides =
        step.strided_input >= 0 ? memory.strides_of(step.strided_input) : step.strides.data();
    data_ = static_cast<const std::byte*>(memory.find(step.place)) + address_step(step.read.offsets, strides);
    result_ = static_cast<std::byte*>(memory.find(step.result));
    length_ = step.read.contracted[0].extent;
    stride_ = address_step(step.read.contracted[0].coefficients, strides);
    for (size_t i = 0; i < step.read.lines.size(); ++i) {
      const OperandRead::Axis& axis = step.read.lines[i];
      if (axis.extent == 1) continue;
      axes_.push_back({axis.extent, address_step(axis.coefficients, strides), step.result_strides[i]});
      lines_ *= axis.extent;
    }
    if (axes_.empty()) axes_.push_back({1, 0, 0});
    in_result_ = method_.sorts_in_result(step.result_stride);
  }

  void run() const {
    if (is_long()) {
      const int threads = ThreadPool::instance().num_threads();
      for (int64_t line = 0; line < lines_; ++line) sort_long(line, threads);
    } else {
      sort_all();
    }
  }

  int64_t scratch_bytes() const {
    if (in_result_) return 0;
    if (is_long()) return line_bytes();
    return lines_at_once() * line_bytes() * (lines_ > grain() ? ThreadPool::instance().num_threads() : 1);
  }

 private:
  /// Whether all threads work on one line after the other.
  bool is_long() const {
    return lines_ < ThreadPool::instance().num_threads() && length_ >= kLongLine && !ThreadPool::inside_run();
  }
  int64_t grain() const { return std::max(lines_at_once(), grain_for(step_.line_cost)); }
  int64_t line_bytes() const { return (length_ * method_.key_bytes() + 63) / 64 * 64; }

  /// The lines from `first` on along the last axis, at most `most`.
  SortLines lines_from(int64_t first, int64_t most) const {
    const LineAxis& last = axes_.back();
    SortLines lines{
        {data_, stride_},    last.stride,        result_,
        step_.result_stride, last.result_stride, std::min(most, last.extent - first % last.extent)};
    int64_t offset = 0;
    int64_t result_offset = 0;
    for (size_t axis = axes_.size(); axis-- > 0;) {
      const int64_t at = first % axes_[axis].extent;
      first /= axes_[axis].extent;
      offset += at * axes_[axis].stride;
      result_offset += at * axes_[axis].result_stride;
    }
    lines.first.data = data_ + offset;
    lines.result = result_ + result_offset;
    return lines;
  }

  /// Lines that lie across the memory are sorted several at a time, so that all of what is read with an
  /// element of one is used; as long as their keys stay in the cache. So are short lines, which are soon
  /// done.
  int64_t lines_at_once() const {
    constexpr int64_t kKeysInCache = 512 << 10;
    constexpr int64_t kFew = 4;
    constexpr int64_t kShort = 256;
    const bool reads_across = std::abs(stride_) > std::abs(axes_.back().stride);
    if (in_result_ && !reads_across && length_ > kShort) return 1;
    return std::min(std::clamp(kKeysInCache / line_bytes(), kFew, kMaxSortLines), axes_.back().extent);
  }

  /// Every thread sorts some of the lines.
  void sort_all() const {
    const int64_t at_once = lines_at_once();
    const int64_t key_bytes = in_result_ ? 0 : at_once * line_bytes();
    auto sort_range = [&](int64_t begin, int64_t end, void* keys) {
      while (begin < end) {
        const SortLines lines = lines_from(begin, std::min(at_once, end - begin));
        method_.sort(lines, keys);
        begin += lines.count;
      }
    };
    if (lines_ <= grain())
      return sort_range(0, lines_, key_bytes == 0 ? nullptr : scratch_for_this_thread(key_bytes));
    ThreadPool& pool = ThreadPool::instance();
    const int workers = pool.num_threads();
    const Block scratch = BufferPool::instance().borrow(key_bytes * workers);
    auto* base = static_cast<std::byte*>(scratch.data());
    pool.run(
        lines_, grain(),
        [&](int64_t begin, int64_t end, int worker) { sort_range(begin, end, base + worker * key_bytes); },
        workers);
  }

  /// Calls work(first, last) for pieces of part of the line.
  template <class Do>
  static void in_pieces(const SortWindow& part, Do work) {
    ThreadPool::instance().run(part.last - part.first, kPart, [&](int64_t begin, int64_t end, int) {
      work(part.first + begin, part.first + end);
    });
  }

  /// All threads load the keys, divide them into parts, sort the parts and store the results.
  void sort_long(int64_t number, int threads) const {
    const SortLines lines = lines_from(number, 1);
    Block scratch;
    if (!in_result_) scratch = BufferPool::instance().borrow(line_bytes());
    void* keys = in_result_ ? lines.result : scratch.data();
    const KeyRange range = range_of(lines.first);
    in_pieces({0, length_},
              [&](int64_t first, int64_t last) { method_.load(lines.first, range, first, last, keys); });
    const std::vector<int64_t> bounds = divided(keys, threads);
    const auto parts = static_cast<int64_t>(bounds.size()) - 1;
    ThreadPool::instance().run(parts, 1, [&](int64_t begin, int64_t end, int) {
      for (auto part = static_cast<size_t>(begin); part < static_cast<size_t>(end); ++part)
        method_.sort_part(lines.first, range, keys, bounds[part], bounds[part + 1]);
    });
    in_pieces(method_.window(), [&](int64_t first, int64_t last) {
      method_.store(keys, first, last, lines.result, lines.result_stride);
    });
  }

  KeyRange range_of(const SortLine& line) const {
    std::vector<KeyRange> ranges(static_cast<size_t>((length_ + kPart - 1) / kPart), kNoRange);
    in_pieces({0, length_}, [&](int64_t first, int64_t last) {
      ranges[static_cast<size_t>(first / kPart)] = method_.range(line, first, last);
    });
    KeyRange all = kNoRange;
    for (const KeyRange& range : ranges) all = joined(all, range);
    return all;
  }

  /// Where the parts of the keys begin, and where the last ends: several for each thread, none much larger
  /// than its share, all keys of a part below those of the next. Parts are halved again and again, all at
  /// once.
  std::vector<int64_t> divided(void* keys, int threads) const {
    constexpr int64_t kPartsPerThread = 4;
    const int64_t enough = std::max(kPart, length_ / (kPartsPerThread * threads));
    std::vector<int64_t> bounds{0, length_};
    for (bool again = true; again;) {
      std::vector<int64_t> middles(bounds.size() - 1);
      ThreadPool::instance().run(
          static_cast<int64_t>(middles.size()), 1, [&](int64_t begin, int64_t end, int) {
            for (auto part = static_cast<size_t>(begin); part < static_cast<size_t>(end); ++part) {
              const bool is_large = bounds[part + 1] - bounds[part] > 2 * enough;
              const bool is_asked =
                  bounds[part] < method_.window().last && bounds[part + 1] > method_.window().first;
              middles[part] =
                  is_large && is_asked ? method_.divide(keys, bounds[part], bounds[part + 1]) : bounds[part];
            }
          });
      std::vector<int64_t> next{0};
      for (size_t part = 0; part < middles.size(); ++part) {
        if (middles[part] > bounds[part]) next.push_back(middles[part]);
        next.push_back(bounds[part + 1]);
      }
      again = next.size() > bounds.size() && next.size() < kMostBounds;
      bounds = std::move(next);
    }
    return bounds;
  }

  static constexpr size_t kMostBounds = 4096;

  const SortMethod& method_;
  const SortStep& step_;
  const std::byte* data_;
  std::byte* result_;
  int64_t length_;
  int64_t stride_;
  std::vector<LineAxis> axes_;
  int64_t lines_ = 1;
  bool in_result_ = false;
};

}  // namespace

void run_sort_step(const SortStep& step, const BlockMemory& memory) { RunningSort(step, memory).run(); }

int64_t sort_scratch_bytes(const SortStep& step, const BlockMemory& memory) {
  return RunningSort(step, memory).scratch_bytes();
}

double sort_cost(int64_t length, int64_t key_bytes) {
  const double levels = std::log2(static_cast<double>(std::max<int64_t>(length, 2)));
  return static_cast<double>(length * key_bytes) * (0.1 + 0.1 * levels) + 20;
}

}  // namespace tokamak
