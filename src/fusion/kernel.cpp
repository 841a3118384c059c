#include "fusion/kernel.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ops/contract.h"
#include "ops/index_map.h"

namespace tokamak {

Shape Domain::row_extents() const {
  Shape rows;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (!swept[axis]) rows.push_back(extents[axis]);
  }
  return rows;
}

bool Domain::sweeps_within_last(size_t count) const {
  const auto first = std::find(swept.begin(), swept.end(), true);
  return swept.end() - first <= static_cast<int64_t>(count) &&
         std::find(first, swept.end(), false) == swept.end();
}

Shape without_ones(const Shape& shape) {
  Shape kept;
  for (int64_t extent : shape) {
    if (extent != 1) kept.push_back(extent);
  }
  return kept;
}

namespace {

/// Gives the axes of `shape` that are not 1 the variables of the wanted axes, in order.
template <class Wanted>
std::vector<Index> index_by_axes(const Shape& shape, Wanted wanted) {
  std::vector<Index> index(shape.size());
  size_t axis = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    while (!wanted(axis)) ++axis;
    index[i] = Index::of(static_cast<LoopVar>(axis++));
  }
  return index;
}

}  // namespace

std::vector<Index> full_index(const Domain&, const Shape& shape) {
  return index_by_axes(shape, [](size_t) { return true; });
}

std::vector<Index> row_index(const Domain& domain, const Shape& shape) {
  return index_by_axes(shape, [&](size_t axis) { return !domain.swept[axis]; });
}

bool is_full(const Domain& domain, const Shape& shape) { return without_ones(shape) == domain.extents; }
bool is_row(const Domain& domain, const Shape& shape) {
  return domain.has_sweep && without_ones(shape) == domain.row_extents();
}

Ints axes_of(const Node& node) {
  if (node.attributes.has(Attr::axes)) return node.attributes.ints(Attr::axes);
  return {node.attributes.integer(Attr::axis)};
}

std::vector<bool> swept_axes(const Node& node, const Shape& operand) {
  std::vector<bool> reduced(operand.size(), false);
  for (int64_t axis : axes_of(node)) reduced[static_cast<size_t>(axis)] = true;
  std::vector<bool> swept;
  for (size_t axis = 0; axis < operand.size(); ++axis) {
    if (operand[axis] != 1) swept.push_back(reduced[axis]);
  }
  return swept;
}

Value stored_element(const FusedKernel& kernel, size_t i) {
  const Value output = kernel.body.outputs()[i];
  return i < kernel.permuted.size() && kernel.permuted[i] ? kernel.body[output].inputs[0] : output;
}

namespace {

bool is_named(const Node& node) {
  const OpFamily family = family_of(node.op);
  return family != OpFamily::View && (family != OpFamily::Source || node.op == Op::iota);
}

std::string name_in_kernels(const Node& node) {
  constexpr std::string_view kReducePrefix = "reduce_";
  std::string_view name = name_of(node.op);
  if (name.starts_with(kReducePrefix)) name.remove_prefix(kReducePrefix.size());
  return std::string(name);
}

/// Whether an operand says which elements are meant, and is not itself one of those that the result has.
bool is_place(Op op, size_t operand) {
  switch (op) {
    case Op::gather:
    case Op::scatter:
      return operand == 1;
    case Op::dynamic_slice:
      return operand >= 1;
    case Op::dynamic_update_slice:
      return operand >= 2;
    default:
      return false;
  }
}

/// By node: whether it only says where elements are. It follows from positions alone, as the masks of writes
/// to slices do, or serves only as the index of others.
std::vector<bool> places_in(const Graph& body) {
  std::vector<bool> of_positions(body.size(), false);
  for (size_t i = 0; i < body.size(); ++i) {
    const Node& node = body.nodes()[i];
    of_positions[i] = node.op != Op::parameter && std::ranges::all_of(node.inputs, [&](Value input) {
                        return of_positions[index_of(input)];
                      });
  }
  std::vector<bool> is_element(body.size(), false);
  for (Value output : body.outputs()) is_element[index_of(output)] = true;
  for (size_t i = body.size(); i-- > 0;) {  // readers come after what they read
    const Node& node = body.nodes()[i];
    for (size_t operand = 0; operand < node.inputs.size(); ++operand) {
      if (is_element[i] && !is_place(node.op, operand)) is_element[index_of(node.inputs[operand])] = true;
    }
  }
  std::vector<bool> places(body.size());
  for (size_t i = 0; i < body.size(); ++i) places[i] = of_positions[i] || !is_element[i];
  return places;
}

std::string joined_names(const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 6;
  std::string joined;
  for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) joined += (i == 0 ? "" : "_") + names[i];
  if (names.size() > kMaxNames) joined += "_and_" + std::to_string(names.size() - kMaxNames) + "_more";
  return joined;
}

}  // namespace

std::vector<std::string> op_names(const Graph& body) {
  std::vector<std::string> names;
  for (const Node& node : body.nodes()) {
    if (is_named(node)) names.push_back(name_in_kernels(node));
  }
  return names;
}

std::vector<const FusedKernel*> stages_of(const FusedKernel& kernel) {
  std::vector<const FusedKernel*> stages;
  for (const FusedKernel* stage = &kernel; stage != nullptr; stage = stage->feeder.get())
    stages.push_back(stage);
  std::reverse(stages.begin(), stages.end());
  return stages;
}

std::vector<const FusedKernel*> parts_of(const FusedKernel& kernel) {
  std::vector<const FusedKernel*> parts;
  for (const FusedKernel* stage : stages_of(kernel)) {
    for (const FusedKernel::Maker& maker : stage->makers) parts.push_back(maker.kernel.get());
    parts.push_back(stage);
  }
  return parts;
}

bool is_made_inside(const FusedKernel& part, size_t input) {
  if (part.feeder != nullptr && input == part.fed) return true;
  return std::any_of(part.makers.begin(), part.makers.end(),
                     [&](const FusedKernel::Maker& maker) { return maker.made == input; });
}

std::vector<std::string> op_names(const FusedKernel& kernel) {
  std::vector<std::string> names;
  for (const FusedKernel* part : parts_of(kernel)) {
    for (std::string& name : op_names(part->body)) names.push_back(std::move(name));
  }
  return names;
}

std::string kernel_name(const FusedKernel& kernel) {
  std::vector<std::string> names;
  for (const FusedKernel* part : parts_of(kernel)) {
    const std::vector<bool> is_place = places_in(part->body);
    for (size_t i = 0; i < part->body.size(); ++i) {
      const Node& node = part->body.nodes()[i];
      if (is_named(node) && !is_place[i]) names.push_back(name_in_kernels(node));
    }
  }
  if (names.empty()) names = op_names(kernel);
  return names.empty() ? "copy" : joined_names(names);
}

double count_flops(const FusedKernel& kernel) {
  double flops = 0;
  for (const FusedKernel* part : parts_of(kernel)) flops += count_flops(part->body);
  return flops;
}

namespace {

/// That sorting costs for each element.
double comparisons_of(const Node& sort, const Shape& operand) {
  const auto axis = static_cast<size_t>(sort.attributes.integer(Attr::axis));
  const bool is_whole = sort.type.shape[axis] == operand[axis];
  return is_whole ? std::log2(static_cast<double>(std::max<int64_t>(operand[axis], 1))) : 2;
}

}  // namespace

double count_flops(const Graph& body, const Node& node) {
  if (family_of(node.op) == OpFamily::Elementwise) return static_cast<double>(node.type.elements());
  if (sweeps(node)) return static_cast<double>(body.type_of(node.inputs[0]).elements());
  if (sorts(node)) {
    const TensorType& operand = body.type_of(node.inputs[0]);
    return static_cast<double>(operand.elements()) * comparisons_of(node, operand.shape);
  }
  if (node.op != Op::dot) return 0;
  const Shape& lhs = body.type_of(node.inputs[0]).shape;
  const auto summed = extent_of(lhs, node.attributes.ints(Attr::lhs_contract));
  return 2 * static_cast<double>(node.type.elements()) * static_cast<double>(summed);
}

double count_flops(const Graph& body) {
  double flops = 0;
  for (const Node& node : body.nodes()) flops += count_flops(body, node);
  return flops;
}

}  // namespace tokamak
