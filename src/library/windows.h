#pragma once

#include <cstdint>

#include "library/kernels.h"
#include "library/operand_view.h"

namespace tokamak {

/// Windows that slide over an array in steps of one: the lines of an operand are where a window may be, and k
/// counts its elements. Neighbours share most of their elements. So what a number of lines need of the array
/// is copied once, with the zeros around it and in the type that is computed in, and all windows are read
/// from this strip:
///   element k of a line = strip[start of the line + step of k]
///
/// Along an axis that windows slide along, line y and element k of a window meet at y + distance * k.
///   a picture [64, 56, 56], windows of 3x3, a zero around it; lines 112 to 223, which are rows 2 and 3
///   =>  strip [64, 4, 58], start of (y, x) = (y - 2) * 58 + x, step of (c, i, j) = (c * 4 + i) * 58 + j
class Windows {
 public:
  explicit Windows(const OperandView& view, int64_t stored_bytes, int64_t element_bytes);

  /// Whether the operand is of this kind. Nothing below makes sense otherwise.
  bool slide() const { return slide_; }
  /// So many lines, from a multiple of it on, are neighbours.
  int64_t run() const { return view_.lines.extent[last()]; }
  /// Bytes of memory that `count` lines need, wherever they begin.
  int64_t bytes(int64_t count) const;

  /// Copies what lines [first, first + count) need to `memory` (64-byte aligned).
  void pack(int64_t first, int64_t count, const PackKernels& kernels, void* memory) const;
  /// Has a task read what was packed there.
  void describe(int64_t first, int64_t count, const void* memory, MultiplyTask& task) const;

 private:
  /// Of a strip for some lines: positions of the outermost line axis and, in elements, how far apart those
  /// along every axis are.
  struct Strip {
    int64_t low;
    int64_t high;
    int64_t pitch[kMaxViewAxes];       ///< by axis of the lines
    int64_t free_pitch[kMaxViewAxes];  ///< by contracted axis that no line slides along
    int64_t elements;
  };
  /// Where the parts are in memory.
  struct Parts {
    int64_t runs;
    int64_t strip;
    int64_t bytes;
  };

  int last() const { return view_.lines.count - 1; }
  bool find_slides();
  bool bounds_fit();
  Strip strip_of(int64_t low, int64_t high) const;
  Strip strip_for(int64_t first, int64_t count) const;
  Parts parts_for(int64_t runs, const Strip& strip) const;
  int64_t first_run(int64_t first) const { return first / run(); }
  int64_t end_run(int64_t first, int64_t count) const { return (first + count + run() - 1) / run(); }

  void list_steps(const Strip& strip, int32_t* steps) const;
  void list_runs(const Strip& strip, int64_t first, int64_t end, int64_t* runs) const;
  void copy(const Strip& strip, const PackKernels& kernels, unsigned char* to) const;
  void copy_plane(const Strip& strip, int axis, const unsigned char* from, const PackKernels& kernels,
                  unsigned char* to) const;

  const OperandView& view_;
  int64_t stored_bytes_;
  int64_t element_bytes_;
  bool slide_;
  int along_[kMaxViewAxes];         ///< by contracted axis: the line axis it slides along, or kFree
  int64_t distance_[kMaxViewAxes];  ///< by contracted axis
  int64_t reach_[kMaxViewAxes];     ///< by line axis: how far windows go past their first position
  int64_t low_[kMaxViewAxes];       ///< by line axis: positions in [low, high) are there
  int64_t high_[kMaxViewAxes];
};

}  // namespace tokamak
