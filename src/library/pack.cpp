#include "library/pack.h"

#include <algorithm>
#include <cstring>

#include "library/operand_view.h"
#include "tokamak/errors.h"

namespace tokamak {

alignas(64) const unsigned char kZeroRun[kMaxZeroRun * 8] = {};

namespace {

/// Panels are copied side by side, so that memory is read in longer pieces than one panel is wide.
constexpr int64_t kBytesSideBySide = 384;

/// Steps of k whose bounds are worked out together.
constexpr int64_t kMaxSteps = 128;

/// Steps along the last axis of k that are worth a call each time the axis is walked over.
constexpr int64_t kLongRun = 16;

/// Steps that are enough to be gone through repeatedly.
constexpr int64_t kEnoughSteps = 6;

/// Where the lines of one panel are.
struct PanelLines {
  int count = 0;                             ///< the others of the panel are zeros
  const unsigned char* data[kMaxPanel];      ///< at k = 0
  int64_t bound[kMaxViewBounds][kMaxPanel];  ///< a bound's value at k = 0
  int run_count = 0;
  LineRun runs[kMaxPanel];
};

const unsigned char* at(const unsigned char* data, int64_t offset) {
  // What a bound forbids may have no address, so this is not the arithmetic of pointers.
  return reinterpret_cast<const unsigned char*>(reinterpret_cast<intptr_t>(data) + offset);
}

/// The lanes of a run of `count` in which 0 <= value + along * lane < extent.
struct Lanes {
  int64_t low;
  int64_t high;

  void meet(int64_t value, int64_t along, int64_t extent) {
    if (along == 0) {
      if (value < 0 || value >= extent) high = low;
    } else if (along == 1) {
      low = std::max(low, -value);
      high = std::min(high, extent - value);
    } else if (along > 1) {
      if (value >= 0 && value + along * (high - 1) < extent) return;  // mostly, and spares divisions
      if (value < 0) low = std::max(low, (-value + along - 1) / along);
      high = value >= extent ? low : std::min(high, (extent - value + along - 1) / along);
    } else {
      if (value >= extent) low = std::max(low, (value - extent) / -along + 1);
      high = value < 0 ? low : std::min(high, value / -along + 1);
    }
    high = std::max(low, high);
  }
};

class PanelPacker {
 public:
  PanelPacker(const OperandView& view, int64_t size, const PackKernels& kernels, const PanelLayout& layout)
      : view_(view),
        kernels_(kernels),
        layout_(layout),
        size_(size),
        walk_(view.lines, view.lines.count, view.bounds) {
    const ViewAxes& k = view.contracted;
    const ViewAxes& lines = view.lines;
    k_depth_ = k.count;
    k_inner_ = k.count == 0 ? 1 : k.extent[k.count - 1];
    k_stride_ = k.count == 0 ? size : k.stride[k.count - 1];
    line_stride_ = lines.count == 0 ? 0 : lines.stride[lines.count - 1];
    lines_are_neighbours_ = lines.count > 0 && line_stride_ == size;
    steps_are_neighbours_ = k_stride_ == size;
    k_runs_are_long_ = k_inner_ >= kLongRun || k.count <= 1;
    for (int b = 0; b < view.bounds; ++b) {
      along_[b] = lines.count == 0 ? 0 : lines.coefficient[b][lines.count - 1];
      if (k.count > 0 && k.coefficient[b][k.count - 1] != 0) inner_k_is_bounded_ = true;
    }
    free_depth_ = 0;
    while (free_depth_ < k.count - 1 && is_free(free_depth_)) ++free_depth_;
  }

  void pack(int64_t first, int64_t last, unsigned char* packed) {
    walk_.seek(first * layout_.lines);
    for (int64_t panel = first; panel < last;) {
      const int64_t whole = std::min(lines_are_neighbours_ ? walk_.left() / layout_.lines : 0, last - panel);
      if (whole > 0 && view_.bounds == 0 && k_runs_are_long_) {
        const int64_t together =
            std::min(whole, std::max<int64_t>(kBytesSideBySide / (layout_.lines * size_), 4));
        copy(together, packed);
        panel += together;
        packed += together * layout_.panel_bytes;
        continue;
      }
      find_lines(std::min<int64_t>(layout_.lines, view_.lines.elements - panel * layout_.lines));
      pack_lines(packed);
      ++panel;
      packed += layout_.panel_bytes;
    }
  }

 private:
  bool is_free(int axis) const {
    for (int b = 0; b < view_.bounds; ++b) {
      if (view_.contracted.coefficient[b][axis] != 0) return false;
    }
    return true;
  }

  int64_t row_bytes() const { return int64_t{layout_.lines} * layout_.element_bytes; }

  /// Calls `body(walk)` for every step of the first `depth` axes of k.
  template <class Body>
  void over_k(int depth, const Body& body) const {
    int64_t steps = 1;
    for (int axis = 0; axis < depth; ++axis) steps *= view_.contracted.extent[axis];
    AxisWalk walk(view_.contracted, depth, view_.bounds);
    for (int64_t step = 0; step < steps; ++step, walk.next()) body(walk);
  }

  /// Panels whose lines all lie next to each other.
  void copy(int64_t panels, unsigned char* packed) {
    const unsigned char* data = at(view_.data, walk_.offset());
    over_k(std::max(k_depth_ - 1, 0), [&](const AxisWalk& k) {
      kernels_.copy(data + k.offset(), k_inner_, k_stride_, panels, layout_.panel_bytes, packed);
      packed += k_inner_ * row_bytes();
    });
    walk_.skip(panels * layout_.lines);
  }

  /// The next `count` lines, one by one and as runs along the last axis.
  void find_lines(int64_t count) {
    lines_.count = static_cast<int>(count);
    lines_.run_count = 0;
    for (int64_t lane = 0; lane < count;) {
      const int64_t length = std::min(walk_.left(), count - lane);
      const unsigned char* data = at(view_.data, walk_.offset());
      lines_.runs[lines_.run_count++] = {at(data, -lane * line_stride_), static_cast<int>(lane),
                                         static_cast<int>(length)};
      for (int64_t j = 0; j < length; ++j) {
        lines_.data[lane + j] = at(data, j * line_stride_);
        for (int b = 0; b < view_.bounds; ++b) {
          lines_.bound[b][lane + j] = view_.bound_offset[b] + walk_.bound(b) + j * along_[b];
        }
      }
      walk_.skip(length);
      lane += length;
    }
  }

  /// Whether no bound forbids anything of these lines.
  bool all_there() const {
    for (int b = 0; b < view_.bounds; ++b) {
      for (int j = 0; j < lines_.count; ++j) {
        if (lines_.bound[b][j] + view_.contracted_low[b] < 0) return false;
        if (lines_.bound[b][j] + view_.contracted_high[b] >= view_.bound_extent[b]) return false;
      }
    }
    return true;
  }

  void pack_lines(unsigned char* packed) {
    const bool there = all_there();
    if (there && lines_are_neighbours_ && lines_.runs[0].count == layout_.lines && k_runs_are_long_) {
      const unsigned char* data = lines_.data[0];
      over_k(std::max(k_depth_ - 1, 0), [&](const AxisWalk& k) {
        kernels_.copy(data + k.offset(), k_inner_, k_stride_, 1, layout_.panel_bytes, packed);
        packed += k_inner_ * row_bytes();
      });
    } else if (there && lines_are_neighbours_ && lines_.run_count == 1 && k_runs_are_long_) {
      over_k(std::max(k_depth_ - 1, 0), [&](const AxisWalk& k) {
        kernels_.copy_part(lines_.data[0] + k.offset(), lines_.count, k_inner_, k_stride_, packed);
        packed += k_inner_ * row_bytes();
      });
    } else if (steps_are_neighbours_ && !lines_are_neighbours_ && k_runs_are_long_ &&
               (there || !inner_k_is_bounded_)) {
      transpose(there, packed);
    } else if (there && !lines_are_neighbours_ && k_runs_are_long_ && line_stride_ != 2 * size_) {
      gather(packed);
    } else {
      copy_runs(there, packed);
    }
  }

  /// Lines along which k lies next to each other. Each is there or not for all of the last axis of k.
  void transpose(bool there, unsigned char* packed) const {
    over_k(std::max(k_depth_ - 1, 0), [&](const AxisWalk& k) {
      for (int64_t first = 0; first < k_inner_; first += kMaxZeroRun) {
        const unsigned char* lines[kMaxPanel];
        for (int j = 0; j < layout_.lines; ++j) {
          lines[j] = j < lines_.count && (there || is_there(j, k))
                         ? lines_.data[j] + k.offset() + first * size_
                         : kZeroRun;
        }
        const int64_t count = std::min(k_inner_ - first, kMaxZeroRun);
        kernels_.transpose(lines, count, packed);
        packed += count * row_bytes();
      }
    });
  }

  bool is_there(int lane, const AxisWalk& k) const {
    for (int b = 0; b < view_.bounds; ++b) {
      const int64_t value = lines_.bound[b][lane] + k.bound(b);
      if (value < 0 || value >= view_.bound_extent[b]) return false;
    }
    return true;
  }

  void gather(unsigned char* packed) const {
    over_k(std::max(k_depth_ - 1, 0), [&](const AxisWalk& k) {
      const unsigned char* lines[kMaxPanel];
      for (int j = 0; j < lines_.count; ++j) lines[j] = lines_.data[j] + k.offset();
      kernels_.gather(lines, lines_.count, k_inner_, k_stride_, packed);
      packed += k_inner_ * row_bytes();
    });
  }

  /// The axes of k from which on steps are listed. What is there must depend on those only, so that it is
  /// worked out once for all steps of the others.
  int listed_from(bool there) const {
    if (!there) return free_depth_;
    int axis = std::max(k_depth_ - 1, 0);
    for (int64_t steps = k_inner_; axis > 0 && steps < kEnoughSteps; steps *= view_.contracted.extent[axis])
      --axis;
    return axis;
  }

  /// Runs of lines, in parts. The axis before those listed is repeated, the ones before that walked over.
  void copy_runs(bool there, unsigned char* packed) const {
    const ViewAxes& k = view_.contracted;
    const int listed = listed_from(there);
    int64_t inner = 1;
    for (int axis = listed; axis < k_depth_; ++axis) inner *= k.extent[axis];
    const int64_t most = std::min(kMaxSteps, inner);
    const int64_t repeats = listed > 0 ? k.extent[listed - 1] : 1;

    RunStep steps[kMaxSteps];
    uint8_t lanes[2 * kMaxSteps * kMaxPanel];
    RunTask task{.runs = lines_.runs,
                 .run_count = lines_.run_count,
                 .line_stride = line_stride_,
                 .steps = steps,
                 .step_count = 0,
                 .repeats = repeats,
                 .repeat_stride = listed > 0 ? k.stride[listed - 1] : 0,
                 .packed_stride = inner * row_bytes(),
                 .offset = 0};
    AxisWalk walk(k, k_depth_, view_.bounds);  // its outer positions stay 0
    for (int64_t first = 0; first < inner; first += most) {
      task.step_count = std::min(most, inner - first);
      for (int64_t i = 0; i < task.step_count; ++i, walk.next()) {
        uint8_t* low = lanes + 2 * i * lines_.run_count;
        steps[i] = find_step(walk, there, low, low + lines_.run_count);
      }
      unsigned char* to = packed + first * row_bytes();
      over_k(std::max(listed - 1, 0), [&](const AxisWalk& outer) {
        task.offset = outer.offset();
        kernels_.copy_runs(task, to);
        to += repeats * task.packed_stride;
      });
    }
  }

  RunStep find_step(const AxisWalk& k, bool there, uint8_t* low, uint8_t* high) const {
    bool whole = lines_.run_count == 1 && lines_.count == layout_.lines;
    for (int r = 0; r < lines_.run_count; ++r) {
      const LineRun& run = lines_.runs[r];
      Lanes lanes{0, run.count};
      for (int b = 0; b < view_.bounds && !there; ++b) {
        lanes.meet(lines_.bound[b][run.first] + k.bound(b), along_[b], view_.bound_extent[b]);
      }
      if (lanes.low >= lanes.high) lanes = {0, 0};
      whole = whole && lanes.high - lanes.low == run.count;
      low[r] = static_cast<uint8_t>(run.first + lanes.low);
      high[r] = static_cast<uint8_t>(run.first + lanes.high);
    }
    return {k.offset(), low, high, whole};
  }

  const OperandView& view_;
  const PackKernels& kernels_;
  const PanelLayout& layout_;
  int64_t size_;  ///< of an element in memory
  int k_depth_;
  int64_t k_inner_;  ///< steps along the last axis of k, and how far they are apart
  int64_t k_stride_;
  int64_t line_stride_;  ///< along the last axis of lines
  bool lines_are_neighbours_;
  bool steps_are_neighbours_;
  bool k_runs_are_long_;
  bool inner_k_is_bounded_ = false;
  int free_depth_;  ///< so many outer axes of k are in no bound
  int64_t along_[kMaxViewBounds];
  AxisWalk walk_;
  PanelLines lines_;
};

}  // namespace

void pack_panels(const ProductOperand& operand, const PackKernels& kernels, const PanelLayout& layout,
                 int64_t first, int64_t last, void* packed) {
  const OperandView view(operand);
  if (view.lines.elements == 0 || view.contracted.elements == 0) return;
  PanelPacker(view, static_cast<int64_t>(size_of(operand.dtype)), kernels, layout)
      .pack(first, last, static_cast<unsigned char*>(packed));
}

Stored stored_as(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return Stored::u8;
    case DType::i8:
      return Stored::i8;
    case DType::u16:
      return Stored::u16;
    case DType::i16:
      return Stored::i16;
    case DType::i32:
    case DType::u32:
      return Stored::b32;
    case DType::i64:
    case DType::u64:
      return Stored::b64;
    case DType::f16:
      return Stored::f16;
    case DType::bf16:
      return Stored::bf16;
    case DType::f32:
      return Stored::f32;
    case DType::f64:
      return Stored::f64;
  }
  throw InternalError("unknown dtype");
}

}  // namespace tokamak
