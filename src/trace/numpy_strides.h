#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tokamak {

/// Axes from the outermost to the innermost in memory; empty for those of a row-major array.
using AxisOrder = std::vector<int64_t>;

/// The order in which the axes of an array lie in memory, the longest stride first. Empty when that is their
/// own order, or when an element is repeated along an axis.
AxisOrder order_in_memory(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// The order in which NumPy goes through arrays of one rank at once, and puts what it makes of them. Strides
/// of 0 tell nothing; where arrays do not agree, the order of the axes counts.
AxisOrder common_order(const std::vector<std::vector<int64_t>>& operands, size_t rank);

/// `list` with entry i taken from axis order[i].
template <class List>
List in_order(const List& list, const AxisOrder& order) {
  List result;
  for (int64_t axis : order) result.push_back(list[static_cast<size_t>(axis)]);
  return result;
}
/// The order that undoes `order`.
AxisOrder inverse(const AxisOrder& order);

/// The strides of an array without gaps whose axes lie in this order; in elements.
std::vector<int64_t> strides_in_order(std::span<const int64_t> shape, const AxisOrder& order);

/// The strides (in elements) that NumPy would give the values of a graph. Views have those of what they show;
/// element-wise operations, reductions and joins keep the order in which their operands lie, and everything
/// else makes arrays in row-major order. A conversion to the same dtype is a copy in row-major order;
/// one to another dtype has the strides of what is converted.
class NumpyStrides {
 public:
  std::vector<int64_t> of(const Graph& graph, Value value);
  /// Says what those of a value are, where its operation does not tell. What was made of it before is not
  /// asked again.
  void say(Value value, std::vector<int64_t> strides);

 private:
  std::vector<int64_t> known(const Graph& graph, Value value) const;
  std::vector<int64_t> made_by(const Graph& graph, const Node& node) const;

  size_t known_ = 0;                                            ///< how many values were looked at
  std::unordered_map<uint32_t, std::vector<int64_t>> unusual_;  ///< those that are not in row-major order
  std::unordered_map<uint32_t, std::vector<int64_t>> said_;     ///< of values that were not looked at yet
};

}  // namespace tokamak
