#include "shared_memory.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "leaf.h"

namespace tokamak::python {
namespace {

/// As many sums are looked at before two arrays count as sharing memory.
constexpr int kMostSums = 1 << 14;

/// `factor` times any number of [low, high].
struct Term {
  int64_t factor, low, high;
  // Of the sums of this term and all that follow:
  int64_t least = 0, most = 0, divisor = 0;
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

void add_axes(std::vector<Term>& terms, const Region& region, int sign) {
  for (int axis = 0; axis < region.rank; ++axis) {
    const int64_t step = sign * region.strides[axis], reach = region.shape[axis] - 1;
    if (step == 0 || reach == 0) continue;
    const int64_t factor = std::abs(step);
    auto term = std::ranges::find(terms, factor, &Term::factor);
    if (term == terms.end()) term = terms.insert(terms.end(), Term{.factor = factor, .low = 0, .high = 0});
    (step < 0 ? term->low : term->high) += step < 0 ? -reach : reach;
  }
}

/// Whether some sum of the terms from the n-th on is in [low, high].
class Search {
 public:
  explicit Search(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::ranges::sort(terms_, std::greater(), &Term::factor);
    int64_t least = 0, most = 0, divisor = 0;
    for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
      term->least = least += term->factor * term->low;
      term->most = most += term->factor * term->high;
      term->divisor = divisor = std::gcd(divisor, term->factor);
    }
  }

  bool finds(size_t n, int64_t low, int64_t high) {
    if (n == terms_.size()) return low <= 0 && 0 <= high;
    const Term& term = terms_[n];
    if (high < term.least || term.most < low) return false;
    if (floor_div(high, term.divisor) * term.divisor < low) return false;
    const bool is_last = n + 1 == terms_.size();
    const int64_t least = is_last ? 0 : terms_[n + 1].least, most = is_last ? 0 : terms_[n + 1].most;
    const int64_t end = std::min(term.high, floor_div(high - least, term.factor));
    for (int64_t i = std::max(term.low, ceil_div(low - most, term.factor)); i <= end; ++i) {
      if (++sums_ > kMostSums) return true;
      if (finds(n + 1, low - i * term.factor, high - i * term.factor)) return true;
    }
    return false;
  }

 private:
  std::vector<Term> terms_;
  int sums_ = 0;
};

}  // namespace

Region Region::of(const Leaf& leaf) {
  return {static_cast<const char*>(leaf.data), leaf.rank, leaf.shape, leaf.strides,
          static_cast<int64_t>(size_of(leaf.dtype))};
}

Region Region::of(PyArrayObject* array) {
  return {static_cast<const char*>(PyArray_DATA(array)), PyArray_NDIM(array),
          reinterpret_cast<const int64_t*>(PyArray_DIMS(array)),
          reinterpret_cast<const int64_t*>(PyArray_STRIDES(array)),
          static_cast<int64_t>(PyArray_ITEMSIZE(array))};
}

std::pair<const char*, const char*> Region::extent() const {
  const char *first = data, *last = first + bytes;
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[axis] == 0) return {data, data};
    const int64_t reach = strides[axis] * (shape[axis] - 1);
    (reach < 0 ? first : last) += reach;
  }
  return {first, last};
}

bool share_memory(const Region& one, const Region& other) {
  const auto [first, last] = one.extent();
  const auto [other_first, other_last] = other.extent();
  if (first == last || other_first == other_last) return false;
  if (first >= other_last || other_first >= last) return false;
  // Two bytes are one if the steps of `one` less those of `other` are the distance of the first elements,
  // give or take the places inside of an element.
  std::vector<Term> terms;
  add_axes(terms, one, 1);
  add_axes(terms, other, -1);
  const int64_t distance = other.data - one.data;
  return Search(std::move(terms)).finds(0, distance - (one.bytes - 1), distance + (other.bytes - 1));
}

}  // namespace tokamak::python
