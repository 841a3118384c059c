#include "ir/graph.h"

namespace tokamak {

Value Graph::append(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<Value>(nodes_.size() - 1);
}

Value Graph::add_parameter(std::string name, TensorType type, SourceLocation where) {
  infer_type(Op::parameter, {&type, 1}, {}, where);  // the extents make sense and can be counted
  Value value = append({Op::parameter, std::move(type), {}, {}, std::move(where)});
  parameters_.push_back(value);
  parameter_names_.push_back(std::move(name));
  return value;
}

Value Graph::add_constant(Tensor value, SourceLocation where) {
  TensorType type = value.type();
  return append({Op::constant, std::move(type), {}, {{Attr::value, std::move(value)}}, std::move(where)});
}

Value Graph::add(Op op, std::vector<Value> inputs, Attributes attributes, SourceLocation where) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (Value input : inputs) {
    if (index_of(input) >= nodes_.size()) {
      throw InternalError(std::string(name_of(op)) + ": operand is not a value of this graph", where);
    }
    types.push_back(type_of(input));
  }
  TensorType type = infer_type(op, types, attributes, where);
  return append({op, std::move(type), std::move(inputs), std::move(attributes), std::move(where)});
}

Value Graph::add_copy(const Graph& other, const Node& node, std::vector<Value> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (type_of(inputs[i]) != other.type_of(node.inputs[i]))
      return add(node.op, std::move(inputs), node.attributes, node.where);
  }
  return append({node.op, node.type, std::move(inputs), node.attributes, node.where});
}

const Tensor* Graph::constant_value(Value value) const {
  const Node& node = (*this)[value];
  return node.op == Op::constant ? &node.attributes.tensor(Attr::value) : nullptr;
}

std::optional<Value> Graph::successor_of(Value first) const {
  return successors_.empty() ? first : successors_[index_of(first)];
}

uint32_t Graph::origin_of(Value value) const {
  const size_t i = index_of(value);
  return i < origins_.size() ? origins_[i] : next_origin_ + static_cast<uint32_t>(i - origins_.size());
}

void Graph::forget_rewriting() {
  successors_.clear();
  origins_.clear();
  next_origin_ = 0;
}

std::vector<uint32_t> count_uses(const Graph& graph) {
  std::vector<uint32_t> uses(graph.size(), 0);
  for (const Node& node : graph.nodes()) {
    for (Value input : node.inputs) ++uses[index_of(input)];
  }
  for (Value output : graph.outputs()) ++uses[index_of(output)];
  return uses;
}

GraphRewriter::GraphRewriter(const Graph& old)
    : old_(old), new_(old.name()), mapping_(old.size()), mapped_(old.size(), false) {
  new_.reserve(old.size());
  for (size_t i = 0; i < old.parameters().size(); ++i) {
    Value parameter = old.parameters()[i];
    map(parameter, new_.add_parameter(old.parameter_name(i), old.type_of(parameter), old[parameter].where));
  }
}

std::vector<Value> GraphRewriter::operator()(std::span<const Value> old_values) const {
  std::vector<Value> values;
  values.reserve(old_values.size());
  for (Value value : old_values) values.push_back((*this)(value));
  return values;
}

void GraphRewriter::map(Value old_value, Value new_value) {
  mapping_[index_of(old_value)] = new_value;
  mapped_[index_of(old_value)] = true;
}

Value GraphRewriter::copy(Value old_value) {
  if (is_mapped(old_value)) return (*this)(old_value);
  const Node& node = old_[old_value];
  const Value made = new_.add_copy(old_, node, (*this)(std::span<const Value>(node.inputs)));
  map(old_value, made);
  return made;
}

Graph GraphRewriter::finish() {
  new_.set_outputs((*this)(std::span<const Value>(old_.outputs())));
  new_.successors_ = successors();
  pass_origins_on();
  return std::move(new_);
}

void GraphRewriter::pass_origins_on() {
  constexpr uint32_t kNone = UINT32_MAX;
  new_.origins_.assign(new_.size(), kNone);
  for (size_t i = 0; i < old_.size(); ++i) {
    const auto before = static_cast<Value>(i);
    if (!is_mapped(before) || new_.type_of((*this)(before)) != old_.type_of(before)) continue;
    uint32_t& origin = new_.origins_[index_of((*this)(before))];
    if (origin == kNone) origin = old_.origin_of(before);
  }
  new_.next_origin_ = old_.next_origin_ + static_cast<uint32_t>(old_.size() - old_.origins_.size());
  for (uint32_t& origin : new_.origins_)
    if (origin == kNone) origin = new_.next_origin_++;
}

std::vector<std::optional<Value>> GraphRewriter::successors() const {
  const size_t count = old_.successors_.empty() ? old_.size() : old_.successors_.size();
  std::vector<std::optional<Value>> successors(count);
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Value> before = old_.successor_of(static_cast<Value>(i));
    if (!before || !is_mapped(*before)) continue;
    const Value now = (*this)(*before);
    // A pass may have left what is a part of the old value in its place, for those who need no more.
    if (new_.type_of(now) == old_.type_of(*before)) successors[i] = now;
  }
  return successors;
}

}  // namespace tokamak
