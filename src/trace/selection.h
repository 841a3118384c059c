#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/attributes.h"
#include "tokamak/array.h"

namespace tokamak {

/// What integers, slices and new axes select of an array: always a view in NumPy. Written to, it becomes a
/// new value of all of the array.
///
///   x[2, ::-1, None] of f64[4,6]  =>  ranges {2, 3, 1}, {0, 6, -1};  axes {1, kNewAxis}
class Selection {
 public:
  static constexpr int64_t kNewAxis = -1;

  /// What is selected along an axis: every `step`-th from `first` on, before `end`. A negative step gives the
  /// elements of the positive one in descending order.
  struct Range {
    int64_t first;
    int64_t end;
    int64_t step;

    int64_t count() const;
  };

  /// A range for every axis of the array, and for every axis of what is selected the one of the array that it
  /// goes along. Axes that are not among them have a range of one element.
  Selection(std::vector<Range> ranges, Ints axes);

  const std::vector<Range>& ranges() const { return ranges_; }
  const Ints& axes() const { return axes_; }
  /// Of what is selected.
  Shape shape() const;

  /// Whether it is all of an array of that shape, as it is.
  bool is_all_of(const Shape& shape) const;
  /// The elements that are selected.
  Array of(const Array& x) const;
  /// x with others in their place.
  Array replaced(const Array& x, const Array& by) const;
  /// How the elements lie in the memory of an array with these strides; 0 for new axes.
  Ints strides(const Ints& of_array) const;

 private:
  bool is_sliced(const Shape& shape) const;
  Ints turned() const;
  Shape shape_in_array() const;

  std::vector<Range> ranges_;
  Ints axes_;
};

}  // namespace tokamak
