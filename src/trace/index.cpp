// Functions that put arrays together and pick elements out of them.

#include <algorithm>
#include <numeric>

#include "ops/record.h"
#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

/// One slice along `axis`, all of the others.
Array part_of(const Array& x, int64_t axis, int64_t start, int64_t limit) {
  Ints starts(x.shape().size(), 0);
  Ints limits = x.shape();
  starts[static_cast<size_t>(axis)] = start;
  limits[static_cast<size_t>(axis)] = limit;
  return slice(x, std::move(starts), std::move(limits));
}

Array integer_indices(const Operand& indices, std::string_view op) {
  const Array array = as_array(indices);
  if (!is_integer(array.dtype())) {
    fail(op, "indices " + to_string(array.type()) + " are not integers", indices.where(),
         UserError::Kind::type);
  }
  return array;
}

/// Indices for an axis of `extent` as gather and scatter of the IR take them, before the mode of that op has
/// its say.
Array resolved(const Array& indices, int64_t extent, IndexMode mode) {
  if (mode == IndexMode::clip) return indices;
  if (mode == IndexMode::wrap) return mod(astype(indices, DType::i64), std::max<int64_t>(extent, 1));
  if (is_unsigned_integer(indices.dtype())) return indices;
  const Array wide = astype(indices, DType::i64);
  return where(wide < 0, wide + extent, wide);
}

Word word_of(IndexMode mode) { return mode == IndexMode::check ? Word::check : Word::clamp; }

Word word_of(Combine combine) {
  switch (combine) {
    case Combine::set:
      return Word::set;
    case Combine::add:
      return Word::add;
    case Combine::mul:
      return Word::mul;
    case Combine::min:
      return Word::min;
    case Combine::max:
      return Word::max;
  }
  return Word::set;
}

Array gathered(const Array& x, const Array& indices, int64_t axis, Word mode, const Where& where) {
  return apply(Op::gather, {x, indices}, {{Attr::axis, axis}, {Attr::mode, mode}}, where);
}

/// What one axis adds to the position in the flattened array, and whether its index was in range.
struct Position {
  std::optional<Array> linear;
  std::optional<Array> valid;

  void add(const Array& indices, int64_t extent, int64_t stride, IndexMode mode) {
    Array index = astype(resolved(indices, extent, mode), DType::i64);
    if (mode == IndexMode::clip) index = clip(index, 0, std::max<int64_t>(extent - 1, 0));
    if (mode == IndexMode::check) {
      const Array inside = (index >= 0) & (index < extent);
      valid = valid ? *valid & inside : inside;
    }
    const Array term = stride == 1 ? index : index * stride;
    linear = linear ? *linear + term : term;
  }
  /// Positions whose index was out of range point past the end, where the gather's own check finds them.
  Array checked(int64_t elements) const { return valid ? where(*valid, *linear, elements) : *linear; }
};

}  // namespace

Array pad(const Operand& x, std::vector<int64_t> low, std::vector<int64_t> high, const Operand& value,
          std::vector<int64_t> interior) {
  AtLine line(x);
  const Array array = as_array(x);
  if (interior.empty()) interior.assign(array.shape().size(), 0);
  const Operand operands[] = {array};
  const Array filling = as_array(value, array.dtype(), trace_of(operands), "pad");
  return apply(
      Op::pad, {array, filling},
      {{Attr::low, std::move(low)}, {Attr::high, std::move(high)}, {Attr::interior, std::move(interior)}},
      x.where());
}

Array concatenate(const std::vector<Operand>& arrays, int64_t axis, Where where) {
  AtLine line(where);
  if (arrays.empty()) fail("concatenate", "there are no arrays", where);
  std::vector<Array> parts;
  const DType dtype = common_dtype(arrays);
  for (const Operand& operand : arrays)
    parts.push_back(as_array(operand, dtype, trace_of(arrays), "concatenate"));
  axis = normalized_axis(axis, parts[0].rank(), parts[0].type(), "concatenate", where);
  if (parts.size() == 1) return parts[0];
  return apply(Op::concatenate, parts, {{Attr::axis, axis}}, where);
}

Array stack(const std::vector<Operand>& arrays, int64_t axis, Where where) {
  AtLine line(where);
  if (arrays.empty()) fail("stack", "there are no arrays", where);
  std::vector<Operand> parts;
  const TensorType first = as_array(arrays[0]).type();
  axis = normalized_axis(axis, first.rank() + 1, first, "stack", where);
  for (const Operand& operand : arrays) {
    const Array array = as_array(operand);
    if (array.shape() != first.shape) {
      fail("stack", to_string(array.type()) + " has another shape than " + to_string(first), where);
    }
    parts.emplace_back(expand_dims(array, axis));
  }
  return concatenate(parts, axis, where);
}

std::vector<Array> split(const Operand& x, int64_t sections, int64_t axis) {
  AtLine line(x);
  const Array array = as_array(x);
  axis = normalized_axis(axis, array.rank(), array.type(), "split", x.where());
  const int64_t extent = array.shape()[static_cast<size_t>(axis)];
  if (sections <= 0 || extent % sections != 0) {
    fail("split",
         "axis " + std::to_string(axis) + " of " + to_string(array.type()) + " does not divide into " +
             std::to_string(sections) + " equal parts",
         x.where());
  }
  std::vector<Array> parts;
  const int64_t length = extent / sections;
  for (int64_t i = 0; i < sections; ++i) parts.push_back(part_of(array, axis, i * length, (i + 1) * length));
  return parts;
}

std::vector<Array> split(const Operand& x, const std::vector<int64_t>& positions, int64_t axis) {
  AtLine line(x);
  const Array array = as_array(x);
  axis = normalized_axis(axis, array.rank(), array.type(), "split", x.where());
  const int64_t extent = array.shape()[static_cast<size_t>(axis)];
  auto inside = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + extent : position, 0, extent);
  };
  std::vector<Array> parts;
  int64_t start = 0;
  for (size_t i = 0; i <= positions.size(); ++i) {
    const int64_t limit = i < positions.size() ? inside(positions[i]) : extent;
    parts.push_back(part_of(array, axis, std::min(start, limit), limit));
    start = limit;
  }
  return parts;
}

Array roll(const Operand& x, int64_t shift, int64_t axis) {
  AtLine line(x);
  const Array array = as_array(x);
  axis = normalized_axis(axis, array.rank(), array.type(), "roll", x.where());
  const int64_t extent = array.shape()[static_cast<size_t>(axis)];
  const int64_t by = extent == 0 ? 0 : (shift % extent + extent) % extent;
  if (by == 0) return array;
  return concatenate({part_of(array, axis, extent - by, extent), part_of(array, axis, 0, extent - by)}, axis,
                     x.where());
}

Array repeat(const Operand& x, int64_t count, int64_t axis) {
  AtLine line(x);
  const Array array = as_array(x);
  axis = normalized_axis(axis, array.rank(), array.type(), "repeat", x.where());
  if (count < 0) fail("repeat", "the count is negative: " + std::to_string(count), x.where());
  Shape wide = array.shape();
  wide.insert(wide.begin() + axis + 1, count);
  Shape shape = array.shape();
  shape[static_cast<size_t>(axis)] *= count;
  return reshaped(broadcasted(expand_dims(array, axis + 1), std::move(wide), x.where()), std::move(shape),
                  x.where());
}

Array tile(const Operand& x, const std::vector<int64_t>& repeats) {
  AtLine line(x);
  Array array = as_array(x);
  const size_t rank = std::max(repeats.size(), array.shape().size());
  Shape padded(rank - array.shape().size(), 1);
  padded.insert(padded.end(), array.shape().begin(), array.shape().end());
  Ints counts(rank - repeats.size(), 1);
  counts.insert(counts.end(), repeats.begin(), repeats.end());
  Shape apart, wide, shape;
  for (size_t i = 0; i < rank; ++i) {
    if (counts[i] < 0) fail("tile", "a count is negative: " + std::to_string(counts[i]), x.where());
    apart.insert(apart.end(), {1, padded[i]});
    wide.insert(wide.end(), {counts[i], padded[i]});
    shape.push_back(counts[i] * padded[i]);
  }
  array = broadcasted(reshaped(array, std::move(apart), x.where()), std::move(wide), x.where());
  return reshaped(array, std::move(shape), x.where());
}

namespace {

Array triangle(const Operand& x, int64_t diagonal, bool lower, std::string_view name) {
  AtLine line(x);
  const Array array = as_array(x);
  if (array.rank() < 2) fail(name, to_string(array.type()) + " is not a matrix", x.where());
  const Shape last(array.shape().end() - 2, array.shape().end());
  const Array row = iota(last, 0, DType::i64, x.where());
  const Array column = iota(last, 1, DType::i64, x.where());
  return where(lower ? column <= row + diagonal : column >= row + diagonal, array, 0);
}

}  // namespace

Array tril(const Operand& x, int64_t diagonal) { return triangle(x, diagonal, true, "tril"); }

Array triu(const Operand& x, int64_t diagonal) { return triangle(x, diagonal, false, "triu"); }

Array diff(const Operand& x, int64_t axis) {
  AtLine line(x);
  const Array array = as_array(x);
  axis = normalized_axis(axis, array.rank(), array.type(), "diff", x.where());
  const int64_t extent = array.shape()[static_cast<size_t>(axis)];
  const Array later = part_of(array, axis, std::min<int64_t>(1, extent), extent);
  const Array earlier = part_of(array, axis, 0, std::max<int64_t>(extent - 1, 0));
  return array.dtype() == DType::boolean ? later != earlier : later - earlier;
}

Array take(const Operand& x, const Operand& indices, std::optional<int64_t> axis, IndexMode mode) {
  AtLine line(x);
  const Array array = axis ? as_array(x) : ravel(x);
  const int64_t along = normalized_axis(axis.value_or(0), array.rank(), array.type(), "take", x.where());
  const int64_t extent = array.shape()[static_cast<size_t>(along)];
  const Array index = resolved(integer_indices(indices, "take"), extent, mode);
  return gathered(array, index, along, word_of(mode), x.where());
}

Array take_along_axis(const Operand& x, const Operand& indices, int64_t axis, IndexMode mode) {
  AtLine line(x);
  const Array array = as_array(x);
  const Array index = integer_indices(indices, "take_along_axis");
  if (index.rank() != array.rank()) {
    fail("take_along_axis",
         to_string(array.type()) + " and indices " + to_string(index.type()) + " have different ranks",
         x.where());
  }
  axis = normalized_axis(axis, array.rank(), array.type(), "take_along_axis", x.where());
  Shape others = array.shape();
  others[static_cast<size_t>(axis)] = 1;
  const Shape both[] = {others, index.shape()};
  const auto shape = broadcast_shapes(both);
  if (!shape) {
    fail("take_along_axis",
         "cannot broadcast " + to_string(array.type()) + " with indices " + to_string(index.type()),
         x.where());
  }
  Position position;
  int64_t stride = 1;
  for (int64_t i = array.rank() - 1; i >= 0; --i) {
    const int64_t extent = array.shape()[static_cast<size_t>(i)];
    if (i == axis) {
      position.add(broadcasted(index, *shape, x.where()), extent, stride, mode);
    } else if (extent > 1) {
      position.add(iota(*shape, i, DType::i64, x.where()), extent, stride, IndexMode::wrap);
    }
    stride *= extent;
  }
  return gathered(ravel(array), position.checked(array.size()), 0, Word::check, x.where());
}

Array take_points(const Operand& x, const std::vector<Operand>& indices, IndexMode mode) {
  AtLine line(x);
  const Array array = as_array(x);
  if (indices.empty() || indices.size() > array.shape().size()) {
    fail("index", std::to_string(indices.size()) + " index arrays for " + to_string(array.type()), x.where(),
         UserError::Kind::index);
  }
  if (indices.size() == 1) return take(array, indices[0], 0, mode);
  Position position;
  int64_t count = 1;
  for (size_t i = indices.size(); i-- > 0;) {
    position.add(integer_indices(indices[i], "index"), array.shape()[i], count, mode);
    count *= array.shape()[i];
  }
  Shape flat(array.shape().begin() + static_cast<int64_t>(indices.size()), array.shape().end());
  flat.insert(flat.begin(), count);
  return gathered(reshaped(array, std::move(flat), x.where()), position.checked(count), 0,
                  Word::check_joined, x.where());
}

Array scatter(const Operand& x, const Operand& indices, const Operand& updates, int64_t axis, Combine combine,
              IndexMode mode) {
  AtLine line(x);
  const Operand all[] = {x, indices, updates};
  const Array array = as_array(x);
  axis = normalized_axis(axis, array.rank(), array.type(), "scatter", x.where());
  const int64_t extent = array.shape()[static_cast<size_t>(axis)];
  const Array index = resolved(integer_indices(indices, "scatter"), extent, mode);
  Shape shape(array.shape().begin(), array.shape().begin() + axis);
  shape.insert(shape.end(), index.shape().begin(), index.shape().end());
  shape.insert(shape.end(), array.shape().begin() + axis + 1, array.shape().end());
  const Array values =
      broadcasted(as_array(updates, array.dtype(), trace_of(all), "scatter"), std::move(shape), x.where());
  return apply(Op::scatter, {array, index, values},
               {{Attr::axis, axis}, {Attr::mode, word_of(mode)}, {Attr::combine, word_of(combine)}},
               x.where());
}

Array dynamic_slice(const Operand& x, const std::vector<Operand>& starts, std::vector<int64_t> sizes) {
  AtLine line(x);
  std::vector<Array> inputs = {as_array(x)};
  for (const Operand& start : starts) inputs.push_back(as_array(start));
  return apply(Op::dynamic_slice, inputs, {{Attr::sizes, std::move(sizes)}}, x.where());
}

Array dynamic_update_slice(const Operand& x, const Operand& update, const std::vector<Operand>& starts) {
  AtLine line(x);
  const Operand both[] = {x, update};
  const Array array = as_array(x);
  std::vector<Array> inputs = {array,
                               as_array(update, array.dtype(), trace_of(both), "dynamic_update_slice")};
  for (const Operand& start : starts) inputs.push_back(as_array(start));
  return apply(Op::dynamic_update_slice, inputs, {}, x.where());
}

}  // namespace tokamak
