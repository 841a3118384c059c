#include "driver/sort_kernel.h"

#include "ir/layout.h"
#include "runtime/sort_step.h"

namespace tokamak {
namespace {

/// sort along axis 1 of f32[100,1000]: 100 lines of 1000
///   quicksort avx2 of 32-bit keys
std::string describe(const CompiledSort& sort, const FusedKernel& kernel) {
  const Node& node = kernel.body[*kernel.sort];
  const TensorType& operand = kernel.body.type_of(node.inputs[0]);
  const int64_t length = sort.read.contracted[0].extent;
  const int64_t lines = length == 0 ? 0 : operand.elements() / length;
  std::string text = std::string(name_of(node.op)) + " along axis ";
  text += std::to_string(node.attributes.integer(Attr::axis)) + " of " + to_string(operand) + ": ";
  text += std::to_string(lines) + (lines == 1 ? " line of " : " lines of ") + std::to_string(length) + "\n  ";
  text +=
      std::string(sort.method->name()) + " of " + std::to_string(8 * sort.method->key_bytes()) + "-bit keys";
  return text + (node.op == Op::argsort ? ", positions among them\n" : "\n");
}

}  // namespace

CompiledSort compile_sort(const FusedKernel& kernel, const Cpu& cpu) {
  const Node& node = kernel.body[*kernel.sort];
  CompiledSort sort;
  sort.read = read_of_sorted(kernel.body, *kernel.sort);
  const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
  const std::vector<int64_t> strides = dense_strides(node.type);
  for (size_t i = 0; i < strides.size(); ++i) {
    if (i != axis) sort.result_strides.push_back(strides[i]);
  }
  sort.result_stride = strides[axis];
  const int64_t length = node.type.shape[axis];
  sort.method =
      choose_sort_method(kernel.body.type_of(node.inputs[0]).dtype,
                         node.op == Op::sort ? SortResult::values : SortResult::positions, length, cpu);
  sort.line_cost = sort_cost(length, sort.method->key_bytes());
  sort.description = describe(sort, kernel);
  return sort;
}

}  // namespace tokamak
