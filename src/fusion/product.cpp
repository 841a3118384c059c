#include "fusion/product.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "ir/layout.h"
#include "ops/contract.h"
#include "ops/index_map.h"

namespace tokamak {

bool needs_copy(const Node& node) { return is_view(node.op) || node.op == Op::iota; }

DType product_dtype(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return DType::f32;
    case DType::f64:
      return DType::f64;
    case DType::i64:
    case DType::u64:
      return DType::i64;
    case DType::boolean:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::u8:
    case DType::u16:
    case DType::u32:
      return DType::i32;
  }
  throw InternalError("product_dtype: no such dtype");
}

ProductShape product_shape(const Graph& graph, Value dot) {
  const Node& node = graph[dot];
  const Shape& lhs = graph.type_of(node.inputs[0]).shape;
  const Shape& rhs = graph.type_of(node.inputs[1]).shape;
  const DotAxes axes =
      dot_axes(node.attributes, static_cast<int64_t>(lhs.size()), static_cast<int64_t>(rhs.size()));
  return {extent_of(lhs, axes.lhs_batch), extent_of(lhs, axes.lhs_free), extent_of(rhs, axes.rhs_free),
          extent_of(lhs, axes.lhs_contract)};
}

bool is_mirrored(const Graph& graph, Value dot) {
  constexpr int64_t kManyLines = 64;
  constexpr int64_t kDeep = 256;
  const DType dtype = graph[dot].type.dtype;
  const ProductShape shape = product_shape(graph, dot);
  if (!is_float(dtype) || product_dtype(dtype) != dtype || shape.batch != 1 || shape.rows != shape.columns ||
      shape.rows < kManyLines || shape.depth < kDeep)
    return false;
  const OperandRead lhs = read_of_operand(graph, dot, 0);
  const OperandRead rhs = read_of_operand(graph, dot, 1);
  return lhs.array == rhs.array && lhs.offsets == rhs.offsets && lhs.lines == rhs.lines &&
         lhs.contracted == rhs.contracted && lhs.bounds == rhs.bounds;
}

bool is_much_deeper_than_wide(const ProductShape& shape, bool symmetric) {
  constexpr int64_t kManyLines = 384;
  constexpr int64_t kDeep = 4096;
  const int64_t lines = std::max(shape.rows, shape.columns);
  if (shape.batch != 1 || lines >= kManyLines) return false;
  if (symmetric) return shape.depth >= kDeep / 2 || lines < kManyLines / 2;
  return shape.depth >= kDeep;
}

bool can_be_made_in_steps(const Graph& graph, Value dot) {
  const ProductShape shape = product_shape(graph, dot);
  const DType dtype = graph[dot].type.dtype;
  return shape.rows > 1 && shape.columns > 1 && is_much_deeper_than_wide(shape, false) &&
         product_dtype(dtype) == dtype &&
         std::ranges::all_of(std::array<size_t, 2>{0, 1}, [&](size_t operand) {
           return read_of_operand(graph, dot, operand).contracted.size() == 1;
         });
}

std::vector<bool> needed_after_product(const FusedKernel& kernel) {
  const Graph& body = kernel.body;
  std::vector<bool> needed(body.size(), false);
  for (Value output : body.outputs()) needed[index_of(output)] = true;
  for (size_t i = body.size(); i-- > 0;) {
    const auto value = static_cast<Value>(i);
    if (!needed[i] || value == *kernel.product) continue;
    for (Value input : body[value].inputs) needed[index_of(input)] = true;
  }
  return needed;
}

namespace {

/// The stride that axes [first, end) have as one, if neighbours along it are equally far apart. `unit` is
/// what it is when none of them moves.
std::optional<int64_t> merged_stride(const Shape& shape, const std::vector<int64_t>& strides, size_t first,
                                     size_t end, int64_t unit) {
  std::optional<int64_t> innermost;
  int64_t next = 0;  // what the stride of the axis before has to be
  for (size_t axis = end; axis-- > first;) {
    if (shape[axis] == 1) continue;
    if (innermost && strides[axis] != next) return std::nullopt;
    if (!innermost) innermost = strides[axis];
    next = strides[axis] * shape[axis];
  }
  return innermost.value_or(unit);
}

/// How the sums are stored if they are the only output, transposed or not. Rows have to be equally far apart,
/// and the columns of each neighbours.
std::optional<StoredSums> stored_sums(const FusedKernel& kernel) {
  const Graph& body = kernel.body;
  const Node& dot = body[*kernel.product];
  const auto element = static_cast<int64_t>(size_of(dot.type.dtype));
  if (body.outputs().size() != 1 || product_dtype(dot.type.dtype) != dot.type.dtype) return std::nullopt;
  const Node& output = body[body.outputs()[0]];
  std::vector<int64_t> strides = dense_strides(output.type);
  if (body.outputs()[0] != *kernel.product) {
    if (output.op != Op::transpose || output.inputs[0] != *kernel.product) return std::nullopt;
    const Ints permutation = output.attributes.ints(Attr::permutation);
    const std::vector<int64_t> of_output = strides;
    for (size_t i = 0; i < permutation.size(); ++i)
      strides[static_cast<size_t>(permutation[i])] = of_output[i];
  }
  const Shape& shape = dot.type.shape;
  const DotAxes axes =
      dot_axes(dot.attributes, static_cast<int64_t>(body.type_of(dot.inputs[0]).shape.size()),
               static_cast<int64_t>(body.type_of(dot.inputs[1]).shape.size()));
  const size_t rows = axes.lhs_batch.size();
  const size_t columns = rows + axes.lhs_free.size();
  const auto row_stride = merged_stride(shape, strides, rows, columns, 0);
  const auto column_stride = merged_stride(shape, strides, columns, shape.size(), element);
  if (!row_stride || column_stride != element) return std::nullopt;
  StoredSums stored{.batch = {}, .row_stride = *row_stride};
  for (size_t axis = 0; axis < rows; ++axis) stored.batch.push_back({shape[axis], strides[axis]});
  return stored;
}

}  // namespace

Epilogue epilogue_of(const FusedKernel& kernel) {
  const Graph& body = kernel.body;
  const Node& dot = body[*kernel.product];
  Epilogue epilogue;
  FusedKernel& made = epilogue.kernel;
  made.name = kernel.name;
  made.domain = kernel.domain;
  made.outputs = kernel.outputs;
  made.permuted = kernel.permuted;
  made.columns = kernel.columns;
  const DType summed = product_dtype(dot.type.dtype);
  epilogue.only_stores = stored_sums(kernel);

  const std::vector<bool> needed = needed_after_product(kernel);
  std::unordered_map<uint32_t, Value> mapping;
  const ProductShape shape = product_shape(body, *kernel.product);
  const Value product =
      made.body.add_parameter("product", {summed, {shape.batch, shape.rows, shape.columns}}, dot.where);
  for (size_t i = 0; i < body.parameters().size(); ++i) {
    const Value parameter = body.parameters()[i];
    if (!needed[index_of(parameter)]) continue;
    mapping[static_cast<uint32_t>(parameter)] =
        made.body.add_parameter("a" + std::to_string(i), body.type_of(parameter), body[parameter].where);
    epilogue.positions.push_back(i);
  }
  const Value sums = made.body.add(Op::reshape, {product}, {{Attr::shape, dot.type.shape}}, dot.where);
  for (size_t i = 0; i < body.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = body[value];
    if (!needed[i] || node.op == Op::parameter) continue;
    Value& mapped = mapping[static_cast<uint32_t>(value)];
    if (value == *kernel.product) {
      mapped = sums;
      if (node.type.dtype == DType::boolean) {
        const Value zero = made.body.add_constant(scalar_tensor(summed, int64_t{0}), node.where);
        mapped = made.body.add(Op::ne, {sums, zero}, {}, node.where);
      } else if (summed != node.type.dtype) {
        mapped = made.body.add(Op::convert, {sums}, {{Attr::dtype, node.type.dtype}}, node.where);
      }
    } else if (node.op == Op::constant) {
      mapped = made.body.add_constant(node.attributes.tensor(Attr::value), node.where);
    } else {
      std::vector<Value> inputs;
      for (Value input : node.inputs) inputs.push_back(mapping.at(static_cast<uint32_t>(input)));
      const Value copy = made.body.add(node.op, std::move(inputs), node.attributes, node.where);
      mapping[static_cast<uint32_t>(value)] = copy;
    }
  }
  std::vector<Value> results;
  for (Value output : body.outputs()) results.push_back(mapping.at(static_cast<uint32_t>(output)));
  made.body.set_outputs(std::move(results));
  made.body.rename(kernel.name);
  return epilogue;
}

std::vector<Value> values_read(const FusedKernel& kernel) {
  std::vector<Value> values;
  for (const FusedKernel* part : parts_of(kernel)) {
    for (size_t i = 0; i < part->inputs.size(); ++i) {
      const bool is_known = std::find(values.begin(), values.end(), part->inputs[i]) != values.end();
      if (!is_made_inside(*part, i) && !is_known) values.push_back(part->inputs[i]);
    }
  }
  return values;
}

namespace {

/// Whether `node` takes each element of an operand for one of its own, so that it needs as many of them as
/// its readers need of it.
bool is_one_to_one(const Node& node, const TensorType& operand) {
  const bool keeps_elements = node.op == Op::transpose || node.op == Op::reshape || node.op == Op::reverse ||
                              family_of(node.op) == OpFamily::Elementwise;
  return keeps_elements && operand.elements() == node.type.elements();
}

/// What a body needs of each of its values.
std::vector<int64_t> bytes_needed(const Graph& body) {
  std::vector<int64_t> elements(body.size(), 0);
  auto need = [&](Value value, int64_t more) {
    int64_t& sum = elements[index_of(value)];
    sum = std::min(sum + more, body.type_of(value).elements());
  };
  for (Value output : body.outputs()) need(output, body.type_of(output).elements());
  for (size_t at = body.size(); at-- > 0;) {  // readers come after what they read
    const Node& node = body.nodes()[at];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool takes_part =
          i == 0 && (node.op == Op::slice || node.op == Op::dynamic_slice || node.op == Op::gather);
      const TensorType& operand = body.type_of(node.inputs[i]);
      need(node.inputs[i], takes_part || is_one_to_one(node, operand) ? elements[at] : operand.elements());
    }
  }
  std::vector<int64_t> bytes(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    bytes[i] = elements[i] * static_cast<int64_t>(size_of(body.nodes()[i].type.dtype));
  }
  return bytes;
}

}  // namespace

int64_t bytes_read(const FusedKernel& kernel) {
  std::unordered_map<uint32_t, int64_t> by_array;  // parts may read the same one
  for (const FusedKernel* part : parts_of(kernel)) {
    const std::vector<int64_t> needed = bytes_needed(part->body);
    for (size_t i = 0; i < part->inputs.size(); ++i) {
      if (is_made_inside(*part, i)) continue;
      const Value parameter = part->body.parameters()[i];
      int64_t& bytes = by_array[static_cast<uint32_t>(part->inputs[i])];
      bytes = std::min(bytes + needed[index_of(parameter)], part->body.type_of(parameter).bytes());
    }
  }
  int64_t bytes = 0;
  for (const auto& [array, of_array] : by_array) bytes += of_array;
  return bytes;
}

std::vector<Value> values_written(const FusedKernel& kernel) {
  const std::vector<const FusedKernel*> parts = parts_of(kernel);
  std::set<Value> inside;
  for (const FusedKernel* part : parts) {
    for (size_t i = 0; i < part->inputs.size(); ++i) {
      if (is_made_inside(*part, i)) inside.insert(part->inputs[i]);
    }
  }
  std::vector<Value> values;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    for (Value output : (*part)->outputs) {
      if (!inside.contains(output)) values.push_back(output);
    }
  }
  return values;
}

}  // namespace tokamak
