#include "plan/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "tokamak/errors.h"

namespace tokamak {

namespace {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw UserError("out of memory: the intermediate values of this program take more than 2^63 bytes", {},
                    UserError::Kind::memory);
  }
  return sum;
}

/// Items by the step at which they begin, and by the step at which they end.
struct Timeline {
  std::vector<int> by_first;
  std::vector<int> by_last;

  explicit Timeline(std::span<const ArenaItem> items) : by_first(items.size()), by_last(items.size()) {
    std::iota(by_first.begin(), by_first.end(), 0);
    by_last = by_first;
    std::stable_sort(by_first.begin(), by_first.end(), [&](int a, int b) {
      if (items[a].first != items[b].first) return items[a].first < items[b].first;
      return items[a].bytes > items[b].bytes;
    });
    std::stable_sort(by_last.begin(), by_last.end(),
                     [&](int a, int b) { return items[a].last < items[b].last; });
  }

  /// Calls begin(item) and end(item) in the order of time: an item ends before those that begin at a later
  /// step.
  template <class Begin, class End>
  void sweep(std::span<const ArenaItem> items, Begin begin, End end) const {
    size_t ended = 0;
    for (int item : by_first) {
      for (; items[by_last[ended]].last < items[item].first; ++ended) end(by_last[ended]);
      begin(item);
    }
  }
};

int64_t most_needed_at_once(std::span<const ArenaItem> items, const Timeline& timeline) {
  int64_t now = 0, most = 0;
  timeline.sweep(
      items, [&](int item) { most = std::max(most, now = checked_add(now, items[item].bytes)); },
      [&](int item) { now -= items[item].bytes; });
  return most;
}

/// The holes of an arena that may grow at its end.
class Holes {
 public:
  int64_t take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + bytes) {
      bytes += after->second;
      remove(after->first, after->second);
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin()) {
      --before;
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before->first, before->second);
      }
    }
    add(offset, bytes);
  }

  int64_t end() const { return end_; }

 private:
  /// A hole at the very end is used as the beginning of the new piece.
  int64_t grow(int64_t bytes) {
    int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [start, size] = *by_offset_.rbegin();
      if (start + size == end_) {
        offset = start;
        remove(start, size);
      }
    }
    end_ = checked_add(offset, bytes);
    return offset;
  }
  void add(int64_t offset, int64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void remove(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

ArenaLayout lay_out_in_time(std::span<const ArenaItem> items, const Timeline& timeline) {
  ArenaLayout layout{.offsets = std::vector<int64_t>(items.size())};
  Holes holes;
  timeline.sweep(
      items, [&](int item) { layout.offsets[item] = holes.take(items[item].bytes); },
      [&](int item) { holes.give_back(layout.offsets[item], items[item].bytes); });
  layout.bytes = holes.end();
  return layout;
}

/// Placed items, found by the steps they are needed at. A binary tree over the steps: an item stands at the
/// nodes whose spans make up its life, and every node knows the items at the nodes below it.
class PlacedItems {
 public:
  explicit PlacedItems(int steps) {
    while (leaves_ < steps) leaves_ *= 2;
    at_.resize(2 * leaves_);
    below_.resize(2 * leaves_);
  }

  void add(int item, int first, int last) {
    for_nodes(first, last, [&](int node) {
      at_[node].push_back(item);
      for (int above = node / 2; above > 0; above /= 2) {
        if (below_[above].empty() || below_[above].back() != item) below_[above].push_back(item);
      }
    });
  }

  /// Calls use(item) for every item needed at some step of first..last, perhaps more than once.
  template <class Use>
  void for_each_meeting(int first, int last, Use use) const {
    for_nodes(first, last, [&](int node) {
      for (int item : below_[node]) use(item);
      for (; node > 0; node /= 2) {
        for (int item : at_[node]) use(item);
      }
    });
  }

 private:
  template <class Use>
  void for_nodes(int first, int last, Use use) const {
    int low = first + leaves_, high = last + leaves_ + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) use(low++);
      if (high % 2 == 1) use(--high);
    }
  }

  int leaves_ = 1;
  std::vector<std::vector<int>> at_;
  std::vector<std::vector<int>> below_;
};

struct Extent {
  int64_t begin, end;
};

/// Where the smallest gap between `taken` (sorted by begin) that holds `bytes` starts, or where they end.
int64_t smallest_gap(std::span<const Extent> taken, int64_t bytes) {
  int64_t end = 0, best = -1, best_size = 0;
  for (const Extent& extent : taken) {
    const int64_t size = extent.begin - end;
    if (size >= bytes && (best < 0 || size < best_size)) {
      best = end;
      best_size = size;
    }
    end = std::max(end, extent.end);
  }
  return best >= 0 ? best : end;
}

/// nullopt when more than `most_work` meetings had to be looked at.
std::optional<ArenaLayout> lay_out_by_size(std::span<const ArenaItem> items, int64_t most_work) {
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (items[a].bytes != items[b].bytes) return items[a].bytes > items[b].bytes;
    return items[a].last - items[a].first > items[b].last - items[b].first;
  });
  // Items meet at a step at which one of them begins: only those steps matter.
  std::vector<int> steps;
  for (const ArenaItem& item : items) steps.push_back(item.first);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const auto rank = [&](int step) {
    return static_cast<int>(std::upper_bound(steps.begin(), steps.end(), step) - steps.begin()) - 1;
  };

  ArenaLayout layout{.offsets = std::vector<int64_t>(items.size())};
  PlacedItems placed(static_cast<int>(steps.size()));
  std::vector<int> seen_by(items.size(), -1);
  std::vector<Extent> taken;
  for (int item : order) {
    const int first = rank(items[item].first), last = rank(items[item].last);
    taken.clear();
    placed.for_each_meeting(first, last, [&](int other) {
      --most_work;
      if (std::exchange(seen_by[other], item) == item) return;
      taken.push_back({layout.offsets[other], layout.offsets[other] + items[other].bytes});
    });
    if (most_work < 0) return std::nullopt;
    std::sort(taken.begin(), taken.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    layout.offsets[item] = smallest_gap(taken, items[item].bytes);
    layout.bytes = std::max(layout.bytes, checked_add(layout.offsets[item], items[item].bytes));
    placed.add(item, first, last);
  }
  return layout;
}

}  // namespace

ArenaLayout lay_out_arena(std::span<const ArenaItem> items) {
  if (items.empty()) return {};
  constexpr int64_t kMostWork = 20'000'000;  // a tenth of a second
  const Timeline timeline(items);
  const int64_t lower_bound = most_needed_at_once(items, timeline);
  ArenaLayout layout = lay_out_in_time(items, timeline);
  if (layout.bytes > lower_bound) {
    auto other = lay_out_by_size(items, kMostWork);
    if (other && other->bytes < layout.bytes) layout = std::move(*other);
  }
  layout.lower_bound = lower_bound;
  return layout;
}

}  // namespace tokamak
