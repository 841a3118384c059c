#include "driver/checks/nan_origin.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "interp/interpreter.h"
#include "ir/elements.h"

namespace tokamak {
namespace {

template <class T, class IsNan>
bool any_element(const TensorType& type, const void* elements, IsNan is_nan) {
  const auto* first = static_cast<const T*>(elements);
  return std::any_of(first, first + type.elements(), is_nan);
}

std::vector<int64_t> position_of(const Shape& shape, int64_t element) {
  std::vector<int64_t> position(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return position;
}

/// The element of an operand that broadcasting puts at a position of the result.
int64_t element_at(const Shape& operand, const std::vector<int64_t>& position) {
  const size_t missing = position.size() - operand.size();
  int64_t element = 0;
  for (size_t axis = 0; axis < operand.size(); ++axis)
    element = element * operand[axis] + (operand[axis] == 1 ? 0 : position[axis + missing]);
  return element;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// "log(-1)", or what the operands are where one element of the result comes of many.
std::string reason(const Node& node, std::span<const Tensor> operands, const std::vector<int64_t>& position) {
  const bool is_elementwise = family_of(node.op) == OpFamily::Elementwise;
  std::string text = std::string(name_of(node.op)) + "(";
  for (const Tensor& operand : operands) {
    if (&operand != &operands[0]) text += ", ";
    text += is_elementwise
                ? number_text(element_as_double(operand, element_at(operand.type().shape, position)))
                : to_string(operand.type());
  }
  return text + (is_elementwise ? ")" : ") without NaN");
}

/// An element of a value of the graph.
struct Element {
  Value value;
  int64_t number;
};

/// Follows a NaN back to where it was made.
class NanSearch {
 public:
  NanSearch(const Graph& graph, std::vector<Tensor> values) : graph_(graph), values_(std::move(values)) {}

  NanOrigin origin_of(Element element) const {
    for (std::optional<Element> next = element; next; next = source_of(element)) element = *next;
    const Node& node = graph_[element.value];
    const std::vector<int64_t> position = position_of(node.type.shape, element.number);
    std::vector<Tensor> operands;
    for (Value input : node.inputs) operands.push_back(values_[index_of(input)]);
    return {node.op,
            "element " + to_string(position) + " of " + to_string(node.type) +
                " is NaN: " + reason(node, operands, position),
            node.where};
  }

 private:
  bool holds_nan(Element element) const { return is_nan(values_[index_of(element.value)], element.number); }

  std::optional<Element> if_nan(Element element) const {
    return holds_nan(element) ? std::optional(element) : std::nullopt;
  }

  /// The NaN among the operands that an element comes of.
  std::optional<Element> source_of(Element element) const {
    const Node& node = graph_[element.value];
    if (moves_elements(node)) return if_nan({node.inputs[0], moved_from(element)});
    if (family_of(node.op) == OpFamily::Elementwise) return elementwise_source(node, element);
    for (Value input : node.inputs) {
      const TensorType& type = graph_.type_of(input);
      for (int64_t i = 0; i < type.elements() && is_float(type.dtype); ++i)
        if (holds_nan({input, i})) return Element{input, i};
    }
    return std::nullopt;
  }

  std::optional<Element> elementwise_source(const Node& node, Element element) const {
    const std::vector<int64_t> position = position_of(node.type.shape, element.number);
    auto operand = [&](size_t i) {
      return Element{node.inputs[i], element_at(graph_.type_of(node.inputs[i]).shape, position)};
    };
    if (node.op == Op::select) {
      const Element condition = operand(0);
      const bool holds = element_as_int(values_[index_of(condition.value)], condition.number) != 0;
      return if_nan(operand(holds ? 1 : 2));
    }
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (holds_nan(operand(i))) return operand(i);
    return std::nullopt;
  }

  static bool moves_elements(const Node& node) {
    return family_of(node.op) == OpFamily::View || node.op == Op::gather || node.op == Op::dynamic_slice;
  }

  /// The node applied to the numbers of its operand's elements.
  int64_t moved_from(Element element) const {
    Node node = graph_[element.value];
    node.type.dtype = DType::i64;
    std::vector<Tensor> operands;
    for (Value input : node.inputs) operands.push_back(values_[index_of(input)]);
    Tensor numbers(TensorType{DType::i64, operands[0].type().shape});
    const std::span<int64_t> all = numbers.as_mutable<int64_t>();
    std::iota(all.begin(), all.end(), int64_t{0});
    operands[0] = std::move(numbers);
    return element_as_int(interpret_node(node, operands, false), element.number);
  }

  const Graph& graph_;
  std::vector<Tensor> values_;
};

}  // namespace

bool has_nan(const TensorType& type, const void* elements) {
  switch (type.dtype) {
    case DType::f32:
      return any_element<float>(type, elements, [](float x) { return std::isnan(x); });
    case DType::f64:
      return any_element<double>(type, elements, [](double x) { return std::isnan(x); });
    case DType::f16:
      return any_element<uint16_t>(type, elements, [](uint16_t x) { return std::isnan(f16_to_f32(x)); });
    case DType::bf16:
      return any_element<uint16_t>(type, elements, [](uint16_t x) { return std::isnan(bf16_to_f32(x)); });
    default:
      return false;
  }
}

std::optional<NanOrigin> find_nan_origin(const Graph& graph, std::span<const Tensor> arguments,
                                         bool fused_multiply_add) {
  std::vector<Tensor> values(graph.size());
  for (size_t i = 0; i < arguments.size(); ++i) values[index_of(graph.parameters()[i])] = arguments[i];
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == Op::parameter) continue;
    std::vector<Tensor> operands;
    for (Value input : node.inputs) operands.push_back(values[index_of(input)]);
    values[i] = interpret_node(node, operands, fused_multiply_add);
  }
  for (Value output : graph.outputs()) {
    const Tensor& result = values[index_of(output)];
    if (!has_nan(result.type(), result.data())) continue;
    int64_t element = 0;
    while (!is_nan(result, element)) ++element;
    return NanSearch(graph, std::move(values)).origin_of({output, element});
  }
  return std::nullopt;
}

}  // namespace tokamak
