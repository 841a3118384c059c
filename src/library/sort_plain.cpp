// Sorting where registers are too narrow for a network of them.

#include <algorithm>

#include "library/sort_kernels.h"

namespace tokamak {
namespace {

template <class Key>
void sort_keys(Key* keys, int64_t count, int64_t first, int64_t last) {
  if (first > 0) std::nth_element(keys, keys + first, keys + count);
  if (last < count) std::nth_element(keys + first, keys + last, keys + count);
  std::sort(keys + first, keys + last);
}

template <class Key>
int64_t divide_keys(Key* keys, int64_t count, Key mask) {
  constexpr int64_t kSample = 63;
  if (count < kSample) return 0;
  Key sample[kSample];
  for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[i * (count / kSample)];
  std::sort(sample, sample + kSample);
  const Key pivot = sample[kSample / 2] & mask;
  Key* upper = std::partition(keys, keys + count, [&](Key key) { return key < pivot; });
  if (upper == keys)
    upper = std::partition(keys, keys + count, [&](Key key) { return (key & mask) == pivot; });
  return upper == keys + count ? 0 : upper - keys;
}

}  // namespace

constinit const SortKernels kSortPlain = {
    "std::sort", {sort_keys<int32_t>, divide_keys<int32_t>}, {sort_keys<int64_t>, divide_keys<int64_t>}};

}  // namespace tokamak
