#include <algorithm>

#include "interp/column_builder.h"
#include "interp/evaluate.h"
#include "interp/positions.h"
#include "ops/record.h"

namespace tokamak::interp {
namespace {

/// Elements at a time: long enough to hide the calls, short enough that all intermediate columns stay small.
constexpr size_t kChunk = 2048;

}  // namespace

Tensor elementwise(const Node& node, std::span<const Tensor> operands, bool fused_multiply_add) {
  Tensor result(node.type);
  std::vector<Positions> positions;
  std::vector<DType> dtypes;
  for (const Tensor& operand : operands) {
    positions.push_back(broadcast_positions(operand.type().shape, node.type.shape));
    dtypes.push_back(operand.type().dtype);
  }
  const auto count = static_cast<size_t>(node.type.elements());
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t end = std::min(count, begin + kChunk);
    ColumnBuilder builder(end - begin, fused_multiply_add);
    std::vector<Scalar> columns;
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto first = positions[i].begin();
      const Positions part(first + static_cast<int64_t>(begin), first + static_cast<int64_t>(end));
      columns.push_back(builder.put(load(operands[i], part)));
    }
    const Scalar value = emit_scalar(builder, node.op, columns, dtypes, node.type.dtype);
    store(builder.column(value), result, static_cast<int64_t>(begin));
  }
  return result;
}

}  // namespace tokamak::interp
