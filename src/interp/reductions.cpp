#include <algorithm>

#include "interp/column_builder.h"
#include "interp/evaluate.h"
#include "interp/positions.h"
#include "ops/record.h"

namespace tokamak::interp {
namespace {

/// Rows of `length` entries each, one after the other.
struct Rows {
  int64_t count;
  int64_t length;

  /// Positions of entries first, first + step, ... (`taken` of them) of every row.
  Positions entries(int64_t first, int64_t step, int64_t taken) const {
    return strided_positions(Shape{count, taken}, Shape{length, step}, first);
  }
};

/// The operand with the reduced axes moved to the end, so that every result is a row.
struct Gathered {
  Rows rows;
  Column values;
};

Gathered gather_rows(const Tensor& operand, std::span<const int64_t> axes) {
  const Shape& shape = operand.type().shape;
  const std::vector<int64_t> strides = dense_strides(shape);
  Shape order_shape;
  Shape order_strides;
  Rows rows{1, 1};
  for (const bool reduced : {false, true}) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
      if (is_reduced != reduced) continue;
      order_shape.push_back(shape[axis]);
      order_strides.push_back(strides[axis]);
      (reduced ? rows.length : rows.count) *= shape[axis];
    }
  }
  return {rows, load(operand, strided_positions(order_shape, order_strides))};
}

/// Puts `left` (rows of `length`) and one more entry per row side by side.
Column append_entry(const Column& left, const Rows& rows, const Column& last) {
  Column joined(left.lane, static_cast<size_t>(rows.count * (rows.length + 1)));
  const size_t width = bytes_of(left.lane);
  const size_t row_bytes = static_cast<size_t>(rows.length) * width;
  for (size_t row = 0; row < static_cast<size_t>(rows.count); ++row) {
    std::byte* to = joined.bytes.data() + row * (row_bytes + width);
    std::copy_n(left.bytes.data() + row * row_bytes, row_bytes, to);
    std::copy_n(last.bytes.data() + row * width, width, to + row_bytes);
  }
  return joined;
}

/// Folds neighbours until one entry per row is left: a balanced tree that keeps the order of the entries.
/// `combine` takes the left and the right entries as `columns` (several columns go through the tree together)
/// and gives the folded ones.
template <class Combine>
std::vector<Column> fold_tree(std::vector<Column> columns, Rows rows, Combine combine) {
  while (rows.length > 1) {
    const int64_t pairs = rows.length / 2;
    ColumnBuilder builder(static_cast<size_t>(rows.count * pairs), false);
    std::vector<Scalar> left;
    std::vector<Scalar> right;
    for (const Column& column : columns) {
      left.push_back(builder.put(take(column, rows.entries(0, 2, pairs))));
      right.push_back(builder.put(take(column, rows.entries(1, 2, pairs))));
    }
    const std::vector<Scalar> folded = combine(builder, left, right);
    const bool odd = rows.length % 2 != 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      Column next = builder.column(folded[i]);
      if (odd)
        next = append_entry(next, {rows.count, pairs}, take(columns[i], rows.entries(rows.length - 1, 1, 1)));
      columns[i] = std::move(next);
    }
    rows.length = pairs + (odd ? 1 : 0);
  }
  return columns;
}

}  // namespace

Tensor reduce(const Node& node, const Tensor& operand) {
  const DType dtype = operand.type().dtype;
  Gathered gathered = gather_rows(operand, node.attributes.ints(Attr::axes));
  const bool empty = gathered.rows.length == 0;
  std::vector<Column> columns;
  columns.push_back(std::move(gathered.values));
  columns = fold_tree(std::move(columns), gathered.rows, [&](ColumnBuilder& b, auto& left, auto& right) {
    return std::vector<Scalar>{reduction_step(b, node.op, dtype, left[0], right[0])};
  });
  Tensor result(node.type);
  ColumnBuilder builder(static_cast<size_t>(node.type.elements()), false);
  Scalar value = reduction_identity(builder, node.op, dtype);
  if (!empty) value = reduction_step(builder, node.op, dtype, value, builder.put(std::move(columns[0])));
  store(builder.column(round_to(builder, dtype, value)), result, 0);
  return result;
}

Tensor arg_reduce(const Node& node, const Tensor& operand) {
  const DType dtype = operand.type().dtype;
  const int64_t axes[] = {node.attributes.integer(Attr::axis)};
  Gathered gathered = gather_rows(operand, axes);
  Column indices(Lane::i64, gathered.values.size);
  for (size_t i = 0; i < indices.size; ++i) {
    indices.as<int64_t>()[i] = static_cast<int64_t>(i) % gathered.rows.length;
  }
  std::vector<Column> columns;
  columns.push_back(std::move(gathered.values));
  columns.push_back(std::move(indices));
  columns = fold_tree(std::move(columns), gathered.rows, [&](ColumnBuilder& b, auto& left, auto& right) {
    const Scalar better = arg_reduction_better(b, node.op, dtype, right[0], left[0]);
    return std::vector<Scalar>{b.prim(Prim::select, {better, right[0], left[0]}),
                               b.prim(Prim::select, {better, right[1], left[1]})};
  });
  Tensor result(node.type);
  store(columns[1], result, 0);
  return result;
}

Tensor cumulative(const Node& node, const Tensor& operand) {
  const TensorType& type = node.type;
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const std::vector<int64_t> strides = dense_strides(type.shape);
  Shape lines = type.shape;
  lines[axis] = 1;
  const Positions first = strided_positions(lines, strides);
  const size_t width = size_of(type.dtype);
  Tensor result(type);
  Tensor step_result(TensorType{type.dtype, {static_cast<int64_t>(first.size())}});
  Column total;
  for (int64_t k = 0; k < type.shape[axis]; ++k) {
    Positions positions = first;
    for (int64_t& position : positions) position += k * strides[axis];
    ColumnBuilder builder(positions.size(), false);
    const Scalar before =
        k == 0 ? reduction_identity(builder, node.op, type.dtype) : builder.put(std::move(total));
    const Scalar element = builder.put(load(operand, positions));
    total = builder.column(reduction_step(builder, node.op, type.dtype, before, element));
    store(total, step_result, 0);
    for (size_t i = 0; i < positions.size(); ++i) {
      std::memcpy(result.mutable_data() + static_cast<size_t>(positions[i]) * width,
                  step_result.data() + i * width, width);
    }
  }
  return result;
}

}  // namespace tokamak::interp
