#include "native/arranged.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

namespace tokamak::testing {
namespace {

constexpr int kJunk = 0xA5;

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The order of the axes in memory, slowest first, and how far apart neighbours on each are.
struct Plan {
  std::vector<size_t> order;
  std::vector<int64_t> steps;    ///< by axis: 0 repeats one element, negative runs backwards
  std::vector<int64_t> padding;  ///< by axis: elements left out after a run of this axis
};

Plan plan_for(size_t rank, Arrangement arrangement) {
  Plan plan{std::vector<size_t>(rank), std::vector<int64_t>(rank, 1), std::vector<int64_t>(rank, 0)};
  std::iota(plan.order.begin(), plan.order.end(), 0);
  if (rank == 0) return plan;
  const size_t last = rank - 1;
  switch (arrangement) {
    case Arrangement::dense:
    case Arrangement::unaligned:
      break;
    case Arrangement::gapped:
      plan.padding[last] = 3;
      break;
    case Arrangement::stepped:
      for (size_t axis = 0; axis < rank; ++axis) plan.steps[axis] = (last - axis) % 2 == 0 ? 2 : 3;
      break;
    case Arrangement::transposed:
      std::reverse(plan.order.begin(), plan.order.end());
      break;
    case Arrangement::reversed:
      std::fill(plan.steps.begin(), plan.steps.end(), -1);
      break;
    case Arrangement::flipped:
      plan.steps[last] = -1;
      break;
    case Arrangement::stretched:
      for (size_t axis = 0; axis < rank; ++axis) plan.steps[axis] = (last - axis) % 2 == 0 ? 0 : 1;
      break;
    case Arrangement::repeated:
      for (size_t axis = 0; axis < rank; ++axis) plan.steps[axis] = axis % 2 == 0 ? 0 : 1;
      break;
    case Arrangement::permuted:
      if (rank > 1) std::swap(plan.order[last], plan.order[last - 1]);
      plan.steps[0] = -1;
      plan.padding[plan.order[last]] = 1;
      break;
  }
  return plan;
}

/// Calls visit(element, byte offset) for every element in row-major order.
template <class Visit>
void for_each_element(const TensorType& type, const std::vector<int64_t>& strides, Visit visit) {
  std::vector<int64_t> index(type.shape.size(), 0);
  for (int64_t element = 0; element < type.elements(); ++element) {
    visit(element, std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}));
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < type.shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

std::string_view name_of(Arrangement arrangement) {
  static constexpr std::string_view kNames[] = {"dense",      "unaligned", "gapped",  "stepped",
                                                "transposed", "reversed",  "flipped", "stretched",
                                                "repeated",   "permuted"};
  return kNames[static_cast<size_t>(arrangement)];
}

GuardedMemory::GuardedMemory(size_t bytes) {
  const size_t page = page_bytes();
  size_ = (bytes + page) / page * page;
  void* all = mmap(nullptr, size_ + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(all) + page;
  if (mprotect(all, page, PROT_NONE) != 0 || mprotect(end(), page, PROT_NONE) != 0) std::abort();
}

GuardedMemory::~GuardedMemory() { munmap(begin_ - page_bytes(), size_ + 2 * page_bytes()); }

Arranged arrange(const Tensor& tensor, Arrangement arrangement) {
  const TensorType& type = tensor.type();
  const auto size = static_cast<int64_t>(size_of(type.dtype));
  const Plan plan = plan_for(type.shape.size(), arrangement);

  Arranged made;
  made.strides.resize(type.shape.size());
  int64_t run = size;  // bytes that one step of the current axis passes over
  int64_t first = 0;   // offset of the element whose index is all zeros
  for (size_t i = plan.order.size(); i-- > 0;) {
    const size_t axis = plan.order[i];
    made.strides[axis] = run * plan.steps[axis];
    if (plan.steps[axis] == 0) continue;
    if (plan.steps[axis] < 0) first += run * (type.shape[axis] - 1);
    run *= type.shape[axis] * std::abs(plan.steps[axis]) + plan.padding[axis];
  }
  if (type.elements() == 0) run = first = 0;

  made.memory = std::make_shared<GuardedMemory>(static_cast<size_t>(run));
  std::memset(made.memory->begin(), kJunk, static_cast<size_t>(made.memory->end() - made.memory->begin()));
  std::byte* base = made.memory->begin();
  if (arrangement == Arrangement::unaligned) base = made.memory->end() - run - (run % 2 == 0 ? 1 : 0);
  std::byte* data = base + first;
  made.data = data;

  const auto width = static_cast<size_t>(size);
  auto element_of = [&](int64_t i) { return tensor.data() + i * size; };
  // Backwards, so that where elements share a place the one of the smallest index stays.
  std::vector<int64_t> offsets;
  for_each_element(type, made.strides, [&](int64_t, int64_t offset) { offsets.push_back(offset); });
  for (int64_t i = type.elements(); i-- > 0;)
    std::memcpy(data + offsets[static_cast<size_t>(i)], element_of(i), width);
  made.logical = Tensor(type);
  for (int64_t i = 0; i < type.elements(); ++i)
    std::memcpy(made.logical.mutable_data() + i * size, data + offsets[static_cast<size_t>(i)], width);
  return made;
}

}  // namespace tokamak::testing
