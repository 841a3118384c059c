#include "driver/sort_kernel.h"

#include "ir/layout.h"
#include "ops/sort.h"

namespace tokamak {
namespace {

/// sort along axis 1 of f32[100,1000]: 100 lines of 1000
///   quicksort avx2 of 32-bit keys
std::string describe(const SortStep& sort, const FusedKernel& kernel) {
  const Node& node = kernel.body[*kernel.sort];
  const TensorType& operand = kernel.body.type_of(node.inputs[0]);
  const int64_t length = sort.read.contracted[0].extent;
  const int64_t lines = length == 0 ? 0 : operand.elements() / length;
  std::string text = std::string(name_of(node.op)) + " along axis ";
  text += std::to_string(node.attributes.integer(Attr::axis)) + " of " + to_string(operand) + ": ";
  text += std::to_string(lines) + (lines == 1 ? " line of " : " lines of ") + std::to_string(length) + "\n  ";
  text +=
      std::string(sort.method->name()) + " of " + std::to_string(8 * sort.method->key_bytes()) + "-bit keys";
  if (!sort.method->sorts_all()) {
    const SortWindow& window = sort.method->window();
    text += ", places " + std::to_string(window.first) + " to " + std::to_string(window.last - 1) + " only";
  }
  return text + (node.op == Op::argsort ? ", positions among them\n" : "\n");
}

}  // namespace

CompiledSort compile_sort(const FusedKernel& kernel, const Cpu& cpu) {
  const Node& node = kernel.body[*kernel.sort];
  const TensorType& operand = kernel.body.type_of(node.inputs[0]);
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const int64_t length = operand.shape[axis];
  const SortRange range = range_of_sort(node.attributes, length);
  SortStep step;
  step.method =
      choose_sort_method(operand.dtype, node.op == Op::sort ? SortResult::values : SortResult::positions,
                         length, {range.first, range.last}, cpu);
  step.read = read_of_sorted(kernel.body, *kernel.sort);
  step.strides = dense_strides(kernel.body.type_of(step.read.array));
  step.result_strides = dense_strides(node.type);
  step.result_stride = step.result_strides[axis];
  step.result_strides.erase(step.result_strides.begin() + static_cast<int64_t>(axis));
  step.line_cost = sort_cost(length, step.method->key_bytes());
  std::string description = describe(step, kernel);
  return {std::move(step), std::move(description)};
}

}  // namespace tokamak
