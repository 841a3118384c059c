#include "exhaustive/one_op.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "driver/compile.h"
#include "ir/graph.h"

namespace tokamak::exhaustive {
namespace {

template <typename T, typename Widen>
void widen_each(const std::byte* elements, std::span<double> numbers, Widen widen) {
  const T* from = reinterpret_cast<const T*>(elements);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = widen(from[i]);
}

template <typename T>
void widen_as(const std::byte* elements, std::span<double> numbers) {
  widen_each<T>(elements, numbers, [](T x) { return static_cast<double>(x); });
}

}  // namespace

OneOp::OneOp(Op op, std::span<const DType> operands, int64_t length, const Attributes& attributes)
    : dense_(operands.size(), nullptr) {
  Graph graph(std::string(name_of(op)));
  std::vector<Value> inputs;
  for (const DType dtype : operands)
    inputs.push_back(graph.add_parameter("x" + std::to_string(inputs.size()), {dtype, {length}}));
  graph.set_outputs({graph.add(op, inputs, attributes)});
  program_ = compile(graph, std::vector<Layout>(operands.size())).program;
}

void widen(DType dtype, const std::byte* elements, std::span<double> numbers) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return widen_as<uint8_t>(elements, numbers);
    case DType::i8:
      return widen_as<int8_t>(elements, numbers);
    case DType::i16:
      return widen_as<int16_t>(elements, numbers);
    case DType::i32:
      return widen_as<int32_t>(elements, numbers);
    case DType::i64:
      return widen_as<int64_t>(elements, numbers);
    case DType::u16:
      return widen_as<uint16_t>(elements, numbers);
    case DType::u32:
      return widen_as<uint32_t>(elements, numbers);
    case DType::u64:
      return widen_as<uint64_t>(elements, numbers);
    case DType::f16:
      return widen_each<uint16_t>(elements, numbers, [](uint16_t x) { return double{f16_to_f32(x)}; });
    case DType::bf16:
      return widen_each<uint16_t>(elements, numbers, [](uint16_t x) { return double{bf16_to_f32(x)}; });
    case DType::f32:
      return widen_as<float>(elements, numbers);
    case DType::f64:
      return widen_as<double>(elements, numbers);
  }
}

void put(DType dtype, double number, std::byte* element) {
  const Tensor scalar = scalar_tensor(dtype, number);
  std::memcpy(element, scalar.data(), size_of(dtype));
}

test::FloatShape shape_of(DType dtype) {
  if (dtype == DType::f16) return {11, -13, 16};
  if (dtype == DType::bf16) return {8, -125, 128};
  if (dtype == DType::f32) return test::kShapeOf<float>;
  if (dtype == DType::f64) return test::kShapeOf<double>;
  throw std::logic_error(std::string(name_of(dtype)) + " is no float");
}

}  // namespace tokamak::exhaustive
