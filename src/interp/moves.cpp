#include <algorithm>
#include <cstring>
#include <limits>

#include "interp/column_builder.h"
#include "interp/evaluate.h"
#include "interp/positions.h"
#include "ops/index.h"
#include "ops/record.h"

namespace tokamak::interp {
namespace {

void copy_element(const Tensor& from, int64_t source, Tensor& to, int64_t target) {
  const size_t width = size_of(from.type().dtype);
  std::memcpy(to.mutable_data() + static_cast<size_t>(target) * width,
              from.data() + static_cast<size_t>(source) * width, width);
}

Tensor taken_from(const Tensor& operand, const TensorType& type, const Positions& positions) {
  Tensor result(type);
  for (size_t i = 0; i < positions.size(); ++i)
    copy_element(operand, positions[i], result, static_cast<int64_t>(i));
  return result;
}

/// Copies the elements of `operand`, in order, to those positions of `result`.
void put_into(Tensor& result, const Tensor& operand, const Positions& positions) {
  for (size_t i = 0; i < positions.size(); ++i)
    copy_element(operand, static_cast<int64_t>(i), result, positions[i]);
}

Tensor copied(const Tensor& tensor) { return Tensor::copy_of(tensor.type(), tensor.data()); }

/// Element `i` of an integer tensor; u64 beyond i64 is as good as the largest i64, which no axis reaches.
int64_t index_at(const Tensor& indices, int64_t i) {
  const int64_t value = element_as_int(indices, i);
  const bool wrapped = indices.type().dtype == DType::u64 && value < 0;
  return wrapped ? std::numeric_limits<int64_t>::max() : value;
}

Tensor pad(const Node& node, const Tensor& operand, const Tensor& value) {
  const Ints& low = node.attributes.ints(Attr::low);
  const Ints& interior = node.attributes.ints(Attr::interior);
  Tensor result = taken_from(value, node.type, Positions(static_cast<size_t>(node.type.elements()), 0));
  std::vector<int64_t> strides = dense_strides(node.type.shape);
  int64_t base = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    base += low[axis] * strides[axis];
    strides[axis] *= interior[axis] + 1;
  }
  put_into(result, operand, strided_positions(operand.type().shape, strides, base));
  return result;
}

Tensor concatenate(const Node& node, std::span<const Tensor> operands) {
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const std::vector<int64_t> strides = dense_strides(node.type.shape);
  Tensor result(node.type);
  int64_t base = 0;
  for (const Tensor& operand : operands) {
    put_into(result, operand, strided_positions(operand.type().shape, strides, base));
    base += operand.type().shape[axis] * strides[axis];
  }
  return result;
}

/// gather and scatter see the operand as [outer, extent, inner] and the result (updates) as [outer, indices,
/// inner].
struct Indexed {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
  int64_t indices = 0;

  Indexed(const Node& node, const TensorType& operand, const TensorType& index_type) {
    const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
    for (size_t i = 0; i < axis; ++i) outer *= operand.shape[i];
    for (size_t i = axis + 1; i < operand.shape.size(); ++i) inner *= operand.shape[i];
    extent = operand.shape[axis];
    indices = index_type.elements();
  }
  Positions operand_row(int64_t at) const {
    return strided_positions(Shape{outer, inner}, Shape{extent * inner, 1}, at * inner);
  }
  Positions index_row(int64_t at) const {
    return strided_positions(Shape{outer, inner}, Shape{indices * inner, 1}, at * inner);
  }
};

/// The place an index names after its op's mode; -1 when it is to be dropped.
int64_t resolve(const Node& node, int64_t index, int64_t extent) {
  if (index >= 0 && index < extent) return index;
  switch (node.attributes.word(Attr::mode)) {
    case Word::clamp:
      return std::clamp<int64_t>(index, 0, extent - 1);
    case Word::drop:
      return -1;
    default:
      break;
  }
  throw rules::out_of_range(node, extent);
}

Tensor gather(const Node& node, const Tensor& operand, const Tensor& indices) {
  const Indexed shape(node, operand.type(), indices.type());
  Tensor result(node.type);
  for (int64_t i = 0; i < shape.indices; ++i) {
    const Positions from = shape.operand_row(resolve(node, index_at(indices, i), shape.extent));
    const Positions to = shape.index_row(i);
    for (size_t k = 0; k < from.size(); ++k) copy_element(operand, from[k], result, to[k]);
  }
  return result;
}

/// What is there, joined with the updates in their dtype.
Tensor combined(Op op, const Tensor& there, const Positions& to, const Tensor& updates,
                const Positions& from) {
  const DType dtype = there.type().dtype;
  const DType wide = updates.type().dtype;
  ColumnBuilder builder(to.size(), false);
  Scalar before = builder.put(load(there, to));
  if (dtype != wide) before = emit_scalar(builder, Op::convert, {{before}}, {{dtype}}, wide);
  const Scalar both[] = {before, builder.put(load(updates, from))};
  const DType dtypes[] = {wide, wide};
  Scalar after = emit_scalar(builder, op, both, dtypes, wide);
  if (dtype != wide) after = emit_scalar(builder, Op::convert, {{after}}, {{wide}}, dtype);
  Tensor row({dtype, {static_cast<int64_t>(to.size())}});
  store(builder.column(after), row, 0);
  return row;
}

Tensor scatter(const Node& node, const Tensor& operand, const Tensor& indices, const Tensor& updates) {
  const Indexed shape(node, operand.type(), indices.type());
  const std::optional<Op> combine = rules::combining_op(node.attributes.word(Attr::combine));
  Tensor result = copied(operand);
  for (int64_t i = 0; i < shape.indices; ++i) {
    const int64_t place = resolve(node, index_at(indices, i), shape.extent);
    if (place < 0) continue;
    const Positions to = shape.operand_row(place);
    const Positions from = shape.index_row(i);
    const TensorType row{node.type.dtype, {static_cast<int64_t>(to.size())}};
    put_into(result, combine ? combined(*combine, result, to, updates, from) : taken_from(updates, row, from),
             to);
  }
  return result;
}

/// Positions in `operand` of a window of that shape, its start clamped so that it lies inside.
Positions window(const TensorType& operand, const Shape& shape, std::span<const Tensor> starts) {
  const std::vector<int64_t> strides = dense_strides(operand.shape);
  int64_t base = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t last = operand.shape[axis] - shape[axis];
    base += std::clamp<int64_t>(index_at(starts[axis], 0), 0, last) * strides[axis];
  }
  return strided_positions(shape, strides, base);
}

}  // namespace

Tensor iota(const Node& node) {
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const int64_t extent = node.type.shape[axis];
  Tensor line(TensorType{node.type.dtype, {extent}});
  for (int64_t i = 0; i < extent; ++i) copy_element(scalar_tensor(node.type.dtype, i), 0, line, i);
  std::vector<int64_t> strides(node.type.shape.size(), 0);
  strides[axis] = 1;
  return taken_from(line, node.type, strided_positions(node.type.shape, strides));
}

Tensor view(const Node& node, const Tensor& operand) {
  const Shape& from = operand.type().shape;
  std::vector<int64_t> strides = dense_strides(from);
  int64_t base = 0;
  switch (node.op) {
    case Op::reshape:
      return Tensor::copy_of(node.type, operand.data());
    case Op::broadcast:
      return taken_from(operand, node.type, broadcast_positions(from, node.type.shape));
    case Op::transpose: {
      std::vector<int64_t> permuted;
      for (int64_t axis : node.attributes.ints(Attr::permutation))
        permuted.push_back(strides[static_cast<size_t>(axis)]);
      strides = permuted;
      break;
    }
    case Op::slice:
      for (size_t axis = 0; axis < strides.size(); ++axis) {
        base += node.attributes.ints(Attr::starts)[axis] * strides[axis];
        strides[axis] *= node.attributes.ints(Attr::steps)[axis];
      }
      break;
    case Op::reverse:
      for (int64_t axis : node.attributes.ints(Attr::axes)) {
        int64_t& stride = strides[static_cast<size_t>(axis)];
        base += (from[static_cast<size_t>(axis)] - 1) * stride;
        stride = -stride;
      }
      break;
    case Op::window: {
      const Ints& axes = node.attributes.ints(Attr::axes);
      for (size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<size_t>(axes[i]);
        strides.push_back(strides[axis] * node.attributes.ints(Attr::dilations)[i]);
      }
      for (size_t i = 0; i < axes.size(); ++i)
        strides[static_cast<size_t>(axes[i])] *= node.attributes.ints(Attr::steps)[i];
      break;
    }
    default:
      throw InternalError(std::string(name_of(node.op)) + " is not a view");
  }
  return taken_from(operand, node.type, strided_positions(node.type.shape, strides, base));
}

Tensor index(const Node& node, std::span<const Tensor> operands) {
  const Tensor& operand = operands[0];
  switch (node.op) {
    case Op::pad:
      return pad(node, operand, operands[1]);
    case Op::concatenate:
      return concatenate(node, operands);
    case Op::gather:
      return gather(node, operand, operands[1]);
    case Op::scatter:
      return scatter(node, operand, operands[1], operands[2]);
    case Op::dynamic_slice:
      return taken_from(operand, node.type, window(operand.type(), node.type.shape, operands.subspan(1)));
    case Op::dynamic_update_slice: {
      Tensor result = copied(operand);
      put_into(result, operands[1], window(operand.type(), operands[1].type().shape, operands.subspan(2)));
      return result;
    }
    default:
      throw InternalError(std::string(name_of(node.op)) + " does not index");
  }
}

}  // namespace tokamak::interp
