#include "library/windows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "support/cache_line.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

constexpr int kFree = -1;

}  // namespace

Windows::Windows(const OperandView& view, int64_t stored_bytes, int64_t element_bytes)
    : view_(view), stored_bytes_(stored_bytes), element_bytes_(element_bytes) {
  slide_ = find_slides() && bounds_fit();
}

/// A contracted axis slides along a line axis when it makes steps of whole lines, over fewer than there are.
bool Windows::find_slides() {
  const ViewAxes& lines = view_.lines;
  const ViewAxes& contracted = view_.contracted;
  if (lines.count == 0 || lines.elements == 0 || contracted.elements == 0) return false;
  if (lines.stride[last()] != stored_bytes_) return false;
  for (int i = 0; i < lines.count; ++i) {
    reach_[i] = 0;
    if (lines.stride[i] == 0) return false;
  }
  bool any = false;
  for (int k = 0; k < contracted.count; ++k) {
    along_[k] = kFree;
    distance_[k] = 0;
    for (int i = 0; i < lines.count && along_[k] == kFree; ++i) {
      const int64_t distance = contracted.stride[k] / lines.stride[i];
      if (distance < 1 || contracted.stride[k] % lines.stride[i] != 0) continue;
      if (distance * (contracted.extent[k] - 1) >= lines.extent[i]) continue;
      along_[k] = i;
      distance_[k] = distance;
      reach_[i] += distance * (contracted.extent[k] - 1);
      any = true;
    }
  }
  return any;
}

/// Every bound is about the position along one line axis, of windows that slide along it.
bool Windows::bounds_fit() {
  const ViewAxes& lines = view_.lines;
  const ViewAxes& contracted = view_.contracted;
  std::fill_n(low_, lines.count, std::numeric_limits<int64_t>::min());
  std::fill_n(high_, lines.count, std::numeric_limits<int64_t>::max());
  for (int b = 0; b < view_.bounds; ++b) {
    int axis = kFree;
    for (int i = 0; i < lines.count; ++i) {
      if (lines.coefficient[b][i] == 0) continue;
      if (axis != kFree || lines.coefficient[b][i] != 1) return false;
      axis = i;
    }
    if (axis == kFree) return false;
    for (int k = 0; k < contracted.count; ++k) {
      if (contracted.coefficient[b][k] != (along_[k] == axis ? distance_[k] : 0)) return false;
    }
    low_[axis] = std::max(low_[axis], -view_.bound_offset[b]);
    high_[axis] = std::min(high_[axis], view_.bound_extent[b] - view_.bound_offset[b]);
  }
  return true;
}

Windows::Strip Windows::strip_of(int64_t low, int64_t high) const {
  Strip strip;
  strip.low = low;
  strip.high = high;
  int64_t size = 1;
  for (int i = last(); i >= 0; --i) {
    strip.pitch[i] = size;
    size *= (i == 0 ? high - low : view_.lines.extent[i]) + reach_[i];
  }
  // An odd number of cache lines: what is so far apart does not fall into the same part of a cache.
  const int64_t lines = round_up(size * element_bytes_, kCacheLine) / kCacheLine;
  size = (lines | 1) * kCacheLine / element_bytes_;
  for (int k = view_.contracted.count - 1; k >= 0; --k) {
    if (along_[k] != kFree) continue;
    strip.free_pitch[k] = size;
    size *= view_.contracted.extent[k];
  }
  strip.elements = size;
  return strip;
}

Windows::Strip Windows::strip_for(int64_t first, int64_t count) const {
  const int64_t per_position = view_.lines.elements / view_.lines.extent[0];
  return strip_of(first / per_position, (first + count - 1) / per_position + 1);
}

Windows::Parts Windows::parts_for(int64_t runs, const Strip& strip) const {
  Parts parts;
  parts.runs = round_up(view_.contracted.elements * static_cast<int64_t>(sizeof(int32_t)), kCacheLine);
  parts.strip = parts.runs + round_up(runs * static_cast<int64_t>(sizeof(int64_t)), kCacheLine);
  parts.bytes = parts.strip + round_up(strip.elements * element_bytes_, kCacheLine);
  return parts;
}

int64_t Windows::bytes(int64_t count) const {
  const int64_t per_position = view_.lines.elements / view_.lines.extent[0];
  const int64_t positions = std::min(count / per_position + 2, view_.lines.extent[0]);
  return parts_for(count / run() + 2, strip_of(0, positions)).bytes;
}

void Windows::pack(int64_t first, int64_t count, const PackKernels& kernels, void* memory) const {
  auto* base = static_cast<unsigned char*>(memory);
  const Strip strip = strip_for(first, count);
  const Parts parts = parts_for(end_run(first, count) - first_run(first), strip);
  list_steps(strip, reinterpret_cast<int32_t*>(base));
  list_runs(strip, first_run(first), end_run(first, count), reinterpret_cast<int64_t*>(base + parts.runs));
  copy(strip, kernels, base + parts.strip);
}

void Windows::describe(int64_t first, int64_t count, const void* memory, MultiplyTask& task) const {
  const auto* base = static_cast<const unsigned char*>(memory);
  const Parts parts = parts_for(end_run(first, count) - first_run(first), strip_for(first, count));
  task.b = base + parts.strip;
  task.b_steps = reinterpret_cast<const int32_t*>(base);
  task.b_runs = reinterpret_cast<const int64_t*>(base + parts.runs);
  task.b_run = run();
  task.b_first = first % run();
}

void Windows::list_steps(const Strip& strip, int32_t* steps) const {
  const ViewAxes& k = view_.contracted;
  int64_t position[kMaxViewAxes] = {};
  for (int64_t step = 0; step < k.elements; ++step) {
    int64_t elements = 0;
    for (int axis = 0; axis < k.count; ++axis) {
      const int64_t pitch =
          along_[axis] == kFree ? strip.free_pitch[axis] : distance_[axis] * strip.pitch[along_[axis]];
      elements += position[axis] * pitch;
    }
    steps[step] = static_cast<int32_t>(elements * element_bytes_);
    for (int axis = k.count - 1; axis >= 0 && ++position[axis] == k.extent[axis]; --axis) position[axis] = 0;
  }
}

void Windows::list_runs(const Strip& strip, int64_t first, int64_t end, int64_t* runs) const {
  for (int64_t run = first; run < end; ++run) {
    int64_t elements = last() == 0 ? -strip.low : 0;  // the strip begins where the first line does
    int64_t rest = run;
    for (int i = last() - 1; i >= 0; --i) {
      elements += (rest % view_.lines.extent[i] - (i == 0 ? strip.low : 0)) * strip.pitch[i];
      rest /= view_.lines.extent[i];
    }
    runs[run - first] = elements * element_bytes_;
  }
}

/// One plane for every combination of the axes that nothing slides along.
void Windows::copy(const Strip& strip, const PackKernels& kernels, unsigned char* to) const {
  const ViewAxes& k = view_.contracted;
  int64_t position[kMaxViewAxes] = {};
  while (true) {
    int64_t from = 0;
    int64_t at = 0;
    for (int axis = 0; axis < k.count; ++axis) {
      if (along_[axis] != kFree) continue;
      from += position[axis] * k.stride[axis];
      at += position[axis] * strip.free_pitch[axis];
    }
    copy_plane(strip, 0, view_.data + from, kernels, to + at * element_bytes_);
    int axis = k.count - 1;
    for (; axis >= 0; --axis) {
      if (along_[axis] != kFree) continue;
      if (++position[axis] < k.extent[axis]) break;
      position[axis] = 0;
    }
    if (axis < 0) return;
  }
}

/// All positions of a line axis and those after it; `from` is where position 0 of it would be.
void Windows::copy_plane(const Strip& strip, int axis, const unsigned char* from, const PackKernels& kernels,
                         unsigned char* to) const {
  const int64_t low = axis == 0 ? strip.low : 0;
  const int64_t high = (axis == 0 ? strip.high : view_.lines.extent[axis]) + reach_[axis];
  const int64_t there = std::clamp(low_[axis], low, high);
  const int64_t gone = std::clamp(high_[axis], there, high);
  const int64_t pitch = strip.pitch[axis] * element_bytes_;
  std::memset(to, 0, static_cast<size_t>((there - low) * pitch));
  std::memset(to + (gone - low) * pitch, 0, static_cast<size_t>((high - gone) * pitch));
  const int64_t stride = view_.lines.stride[axis];
  if (axis == last()) {
    kernels.convert(from + there * stride, gone - there, to + (there - low) * pitch);
    return;
  }
  for (int64_t i = there; i < gone; ++i)
    copy_plane(strip, axis + 1, from + i * stride, kernels, to + (i - low) * pitch);
}

}  // namespace tokamak
