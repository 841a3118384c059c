#include "schedule/store_choice.h"

#include <algorithm>

#include "schedule/align.h"
#include "support/cache_line.h"
#include "support/parts.h"

namespace tokamak {
namespace {

/// In so many of them, the two at the ends that are not stored whole do not matter.
constexpr int64_t kManyLines = 64;

}  // namespace

StoreChoice::StoreChoice(const LoopKernel& loops, const Domain& domain, bool sweeps_in_lanes, bool read_soon,
                         const Cpu& cpu)
    : loops_(loops), domain_(domain), sweeps_in_lanes_(sweeps_in_lanes), read_soon_(read_soon), cpu_(cpu) {}

std::vector<BufferId> StoreChoice::outputs() const {
  std::vector<BufferId> found;
  for (size_t i = 0; i < loops_.buffers.size(); ++i) {
    if (loops_.buffers[i].role == Buffer::Role::output) found.push_back(static_cast<BufferId>(i));
  }
  return found;
}

std::vector<BufferId> StoreChoice::streamed() const {
  if (!is_enabled(Part::streaming)) return {};
  const int64_t enough = read_soon_ ? cpu_.l3_bytes : cpu_.l2_bytes;
  std::vector<BufferId> large = outputs();
  std::erase_if(
      large, [&](BufferId output) { return loops_[output].type.bytes() <= enough || !fills_lines(output); });
  return large;
}

/// Parts of lines are slow to store past the caches.
bool StoreChoice::fills_lines(BufferId output) const {
  if (!domain_.has_sweep) return true;
  if (!sweeps_in_lanes_ || loops_[output].type.shape.size() != domain_.extents.size()) return false;
  const int64_t row = row_bytes(output);
  return row % kCacheLine == 0 || (row >= kManyLines * kCacheLine && can_align(loops_, output));
}

int64_t StoreChoice::row_bytes(BufferId buffer) const {
  const TensorType& type = loops_[buffer].type;
  return type.shape.empty() ? 0 : type.shape.back() * static_cast<int64_t>(size_of(type.dtype));
}

bool StoreChoice::begins_within_lines(BufferId streamed) const {
  return row_bytes(streamed) % kCacheLine != 0 && can_align(loops_, streamed);
}

std::vector<BufferId> StoreChoice::through_caches() const {
  if (domain_.has_sweep || cpu_.vector_bytes != kCacheLine) return {};
  const std::vector<BufferId> past = streamed();
  std::vector<BufferId> through = outputs();
  std::erase_if(through,
                [&](BufferId output) { return std::find(past.begin(), past.end(), output) != past.end(); });
  return through;
}

}  // namespace tokamak
