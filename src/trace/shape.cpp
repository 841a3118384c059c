// Functions that show an array in another shape: compositions of the five view ops.

#include <algorithm>
#include <numeric>

#include "trace/operands.h"

namespace tokamak {
namespace {

Shape completed_shape(const TensorType& from, Shape shape, const std::source_location& where) {
  auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown == shape.end()) return shape;
  if (std::find(unknown + 1, shape.end(), -1) != shape.end()) {
    fail("reshape", "only one extent of " + to_string(shape) + " can be -1", where);
  }
  int64_t known = 1;
  for (auto it = shape.begin(); it != shape.end(); ++it) {
    if (it != unknown && __builtin_mul_overflow(known, *it, &known)) known = 0;
  }
  if (known <= 0 || from.elements() % known != 0) {
    fail("reshape",
         "cannot reshape " + to_string(from) + " to " + to_string(shape) + ": no extent in place of -1 fits",
         where);
  }
  *unknown = from.elements() / known;
  return shape;
}

Array permuted(const Array& x, Ints permutation, const std::source_location& where) {
  if (std::is_sorted(permutation.begin(), permutation.end()) &&
      static_cast<int64_t>(permutation.size()) == x.rank()) {
    const bool is_identity = std::adjacent_find(permutation.begin(), permutation.end()) == permutation.end();
    if (is_identity) return x;
  }
  return apply(Op::transpose, {x}, {{Attr::permutation, std::move(permutation)}}, where);
}

}  // namespace

Array broadcast_to(const Operand& x, Shape shape) {
  AtLine line(x);
  return broadcasted(as_array(x), std::move(shape), x.where());
}

Array reshape(const Operand& x, Shape shape) {
  AtLine line(x);
  const Array array = as_array(x);
  return reshaped(array, completed_shape(array.type(), std::move(shape), x.where()), x.where());
}

Array ravel(const Operand& x) {
  AtLine line(x);
  const Array array = as_array(x);
  return reshaped(array, {array.size()}, x.where());
}

Array transpose(const Operand& x, std::vector<int64_t> permutation) {
  AtLine line(x);
  const Array array = as_array(x);
  if (permutation.empty()) {
    permutation.resize(static_cast<size_t>(array.rank()));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  for (int64_t& axis : permutation)
    axis = normalized_axis(axis, array.rank(), array.type(), "transpose", x.where());
  return permuted(array, std::move(permutation), x.where());
}

Array swapaxes(const Operand& x, int64_t a, int64_t b) {
  AtLine line(x);
  const Array array = as_array(x);
  Ints permutation(static_cast<size_t>(array.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  a = normalized_axis(a, array.rank(), array.type(), "swapaxes", x.where());
  b = normalized_axis(b, array.rank(), array.type(), "swapaxes", x.where());
  std::swap(permutation[static_cast<size_t>(a)], permutation[static_cast<size_t>(b)]);
  return permuted(array, std::move(permutation), x.where());
}

Array moveaxis(const Operand& x, std::vector<int64_t> from, std::vector<int64_t> to) {
  AtLine line(x);
  const Array array = as_array(x);
  if (from.size() != to.size()) {
    fail("moveaxis",
         std::to_string(from.size()) + " axes to move to " + std::to_string(to.size()) + " places",
         x.where());
  }
  normalized_axes(from, array.rank(), array.type(), "moveaxis", x.where());
  normalized_axes(to, array.rank(), array.type(), "moveaxis", x.where());
  Ints permutation(static_cast<size_t>(array.rank()), -1);
  std::vector<bool> moved(permutation.size(), false);
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t source = normalized_axis(from[i], array.rank(), array.type(), "moveaxis", x.where());
    const int64_t place = normalized_axis(to[i], array.rank(), array.type(), "moveaxis", x.where());
    permutation[static_cast<size_t>(place)] = source;
    moved[static_cast<size_t>(source)] = true;
  }
  int64_t next = 0;
  for (int64_t& axis : permutation) {
    if (axis >= 0) continue;
    while (moved[static_cast<size_t>(next)]) ++next;
    axis = next++;
  }
  return permuted(array, std::move(permutation), x.where());
}

Array squeeze(const Operand& x, Axes axes) {
  AtLine line(x);
  const Array array = as_array(x);
  std::vector<bool> drop(array.shape().size(), false);
  if (axes.all()) {
    for (size_t i = 0; i < drop.size(); ++i) drop[i] = array.shape()[i] == 1;
  } else {
    for (int64_t axis : normalized_axes(axes, array.rank(), array.type(), "squeeze", x.where())) {
      if (array.shape()[static_cast<size_t>(axis)] != 1) {
        fail("squeeze", "axis " + std::to_string(axis) + " of " + to_string(array.type()) + " is not 1",
             x.where());
      }
      drop[static_cast<size_t>(axis)] = true;
    }
  }
  Shape shape;
  for (size_t i = 0; i < drop.size(); ++i) {
    if (!drop[i]) shape.push_back(array.shape()[i]);
  }
  return reshaped(array, std::move(shape), x.where());
}

Array expand_dims(const Operand& x, Axes axes) {
  AtLine line(x);
  const Array array = as_array(x);
  const int64_t rank = array.rank() + static_cast<int64_t>(axes.all() ? 0 : axes.list().size());
  Shape shape = array.shape();
  if (axes.all()) return array;
  for (int64_t axis : normalized_axes(axes, rank, array.type(), "expand_dims", x.where())) {
    shape.insert(shape.begin() + axis, 1);
  }
  return reshaped(array, std::move(shape), x.where());
}

Array flip(const Operand& x, Axes axes) {
  AtLine line(x);
  const Array array = as_array(x);
  Ints list = normalized_axes(axes, array.rank(), array.type(), "flip", x.where());
  if (list.empty()) return array;
  return apply(Op::reverse, {array}, {{Attr::axes, std::move(list)}}, x.where());
}

Array slice(const Operand& x, std::vector<int64_t> starts, std::vector<int64_t> limits,
            std::vector<int64_t> steps) {
  AtLine line(x);
  const Array array = as_array(x);
  if (steps.empty()) steps.assign(static_cast<size_t>(array.rank()), 1);
  const bool takes_all = limits == array.shape() &&
                         std::count(starts.begin(), starts.end(), 0) == array.rank() &&
                         std::count(steps.begin(), steps.end(), 1) == array.rank() &&
                         starts.size() == limits.size() && steps.size() == limits.size();
  if (takes_all) return array;
  return apply(
      Op::slice, {array},
      {{Attr::starts, std::move(starts)}, {Attr::limits, std::move(limits)}, {Attr::steps, std::move(steps)}},
      x.where());
}

namespace {

/// An index worked out: a slice with positive steps, the axes it runs backwards, and the shape afterwards.
struct Selection {
  Ints starts, limits, steps;
  Ints reversed;
  Shape shape;
};

void select_all(Selection& selection, int64_t extent) {
  selection.starts.push_back(0);
  selection.limits.push_back(extent);
  selection.steps.push_back(1);
  selection.shape.push_back(extent);
}

void select_one(Selection& selection, int64_t index, const TensorType& type,
                const std::source_location& where) {
  const auto axis = selection.starts.size();
  const int64_t extent = type.shape[axis];
  if (index < -extent || index >= extent) {
    fail("index",
         std::to_string(index) + " is out of range for axis " + std::to_string(axis) + " of " +
             to_string(type),
         where, UserError::Kind::index);
  }
  const int64_t start = index < 0 ? index + extent : index;
  selection.starts.push_back(start);
  selection.limits.push_back(start + 1);
  selection.steps.push_back(1);
}

void select_range(Selection& selection, const Range& range, const TensorType& type,
                  const std::source_location& where) {
  const auto axis = static_cast<int64_t>(selection.starts.size());
  const int64_t extent = type.shape[static_cast<size_t>(axis)];
  if (range.step == 0) fail("index", "the step of a range of " + to_string(type) + " is 0", where);
  const bool forward = range.step > 0;
  const int64_t least = forward ? 0 : -1;
  const int64_t most = forward ? extent : extent - 1;
  auto clamped = [&](std::optional<int64_t> position, int64_t missing) {
    if (!position) return missing;
    return std::clamp(*position < 0 ? *position + extent : *position, least, most);
  };
  const int64_t start = clamped(range.start, forward ? 0 : extent - 1);
  const int64_t stop = clamped(range.stop, forward ? extent : -1);
  if (forward) {
    const int64_t limit = std::max(start, stop);
    selection.starts.push_back(start);
    selection.limits.push_back(limit);
    selection.steps.push_back(std::min(range.step, std::max<int64_t>(extent, 1)));
    selection.shape.push_back(limit == start ? 0 : (limit - start - 1) / range.step + 1);
    return;
  }
  const int64_t step = -std::max(range.step, -std::max<int64_t>(extent, 1));
  const int64_t count = start <= stop ? 0 : (start - stop - 1) / step + 1;
  const int64_t first = count == 0 ? 0 : start - (count - 1) * step;
  selection.starts.push_back(first);
  selection.limits.push_back(count == 0 ? 0 : start + 1);
  selection.steps.push_back(step);
  selection.shape.push_back(count);
  if (count > 1) selection.reversed.push_back(axis);
}

}  // namespace

Array at(const Operand& x, const std::vector<IndexItem>& index) {
  AtLine line(x);
  const Array array = as_array(x);
  int64_t named = 0;
  int64_t ellipses = 0;
  for (const IndexItem& item : index) {
    named += std::holds_alternative<int64_t>(item.value()) || std::holds_alternative<Range>(item.value());
    ellipses += std::holds_alternative<Ellipsis>(item.value());
  }
  if (named > array.rank() || ellipses > 1) {
    fail("index",
         named > array.rank() ? std::to_string(named) + " indices for " + to_string(array.type())
                              : std::string("more than one ellipsis"),
         x.where(), UserError::Kind::index);
  }
  const TensorType& type = array.type();
  Selection selection;
  auto pass = [&](int64_t axes) {
    for (int64_t i = 0; i < axes; ++i) select_all(selection, type.shape[selection.starts.size()]);
  };
  for (const IndexItem& item : index) {
    if (const auto* position = std::get_if<int64_t>(&item.value()))
      select_one(selection, *position, type, x.where());
    if (const auto* range = std::get_if<Range>(&item.value()))
      select_range(selection, *range, type, x.where());
    if (std::holds_alternative<NewAxis>(item.value())) selection.shape.push_back(1);
    if (std::holds_alternative<Ellipsis>(item.value())) pass(array.rank() - named);
  }
  pass(array.rank() - static_cast<int64_t>(selection.starts.size()));
  Array result =
      slice(array, std::move(selection.starts), std::move(selection.limits), std::move(selection.steps));
  if (!selection.reversed.empty()) result = flip(result, std::move(selection.reversed));
  return reshaped(result, std::move(selection.shape), x.where());
}

}  // namespace tokamak
