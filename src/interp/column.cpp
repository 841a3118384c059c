#include <cstring>

#include "interp/column_builder.h"

namespace tokamak {

size_t bytes_of(Lane lane) { return lane == Lane::i1 ? 1 : static_cast<size_t>(bits_of(lane)) / 8; }

Column::Column(Lane lane, size_t size) : lane(lane), size(size), bytes(size * bytes_of(lane)) {}

Column load(const Tensor& tensor, const std::vector<int64_t>& positions) {
  const DType dtype = tensor.type().dtype;
  Column column(lane_of(dtype), positions.size());
  if (dtype == DType::f16 || dtype == DType::bf16) {
    const auto elements = tensor.as<uint16_t>();
    for (size_t i = 0; i < positions.size(); ++i) {
      const uint16_t bits = elements[static_cast<size_t>(positions[i])];
      column.as<float>()[i] = dtype == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
    return column;
  }
  const size_t width = size_of(dtype);
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(column.bytes.data() + i * width, tensor.data() + static_cast<size_t>(positions[i]) * width,
                width);
  }
  return column;
}

void store(const Column& column, Tensor& tensor, int64_t first) {
  const DType dtype = tensor.type().dtype;
  const auto begin = static_cast<size_t>(first);
  if (dtype == DType::f16 || dtype == DType::bf16) {
    const auto elements = tensor.as_mutable<uint16_t>();
    for (size_t i = 0; i < column.size; ++i) {
      const float value = column.as<float>()[i];
      elements[begin + i] = dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
    }
    return;
  }
  if (column.size != 0) {
    std::memcpy(tensor.mutable_data() + begin * size_of(dtype), column.bytes.data(), column.bytes.size());
  }
}

Column take(const Column& column, const std::vector<int64_t>& positions) {
  Column taken(column.lane, positions.size());
  const size_t width = bytes_of(column.lane);
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(taken.bytes.data() + i * width,
                column.bytes.data() + static_cast<size_t>(positions[i]) * width, width);
  }
  return taken;
}

}  // namespace tokamak
