#include "schedule/axes.h"

#include <algorithm>
#include <cmath>

#include "ops/record.h"

namespace tokamak {

std::optional<int64_t> stride_along(const LoopKernel& kernel, const Access& access, LoopVar axis) {
  const Buffer& buffer = kernel[access.buffer];
  if (buffer.role == Buffer::Role::scratch) return std::nullopt;
  int64_t stride = 0;
  for (size_t d = 0; d < access.index->size(); ++d) {
    const std::optional<int64_t> coefficient = linear_coefficient((*access.index)[d], axis);
    if (!coefficient || (*coefficient != 0 && buffer.strides[d] == kDynamicStride)) return std::nullopt;
    stride += *coefficient == 0 ? 0 : *coefficient * buffer.strides[d];
  }
  return stride;
}

bool depends_on_data(const std::vector<Index>& index) {
  bool found = false;
  for (const Index& one : index) for_each_value(one, [&](ValueId) { found = true; });
  return found;
}

std::optional<int64_t> distance_across(const LoopKernel& kernel, const Stmt& stmt, LoopVar along,
                                       LoopVar lanes) {
  const std::optional<Access> access = access_of(stmt);
  if (!access || kernel[access->buffer].role == Buffer::Role::scratch || depends_on_data(*access->index))
    return std::nullopt;
  if (const auto* load = std::get_if<Load>(&stmt); load != nullptr && !load->guard.empty())
    return std::nullopt;
  const auto size = static_cast<int64_t>(size_of(kernel[access->buffer].type.dtype));
  const std::optional<int64_t> distance = stride_along(kernel, *access, lanes);
  const bool is_across =
      distance && *distance != 0 && *distance != size && stride_along(kernel, *access, along) == size;
  return is_across ? distance : std::nullopt;
}

std::vector<double> contiguity(LoopKernel& kernel, size_t axes) {
  std::vector<double> scores(axes, 0);
  for (Nest& nest : kernel.nests) {
    double iterations = 1;
    NestVisitor visitor;
    visitor.enter = [&](Loop& loop) { iterations *= static_cast<double>(std::max<int64_t>(loop.extent, 1)); };
    visitor.leave = [&](Loop& loop) { iterations /= static_cast<double>(std::max<int64_t>(loop.extent, 1)); };
    visitor.visit = [&](Stmt& stmt) {
      const std::optional<Access> access = access_of(stmt);
      if (!access || kernel[access->buffer].role == Buffer::Role::scratch) return;
      const TensorType& type = kernel[access->buffer].type;
      const auto size = static_cast<int64_t>(size_of(type.dtype));
      const double touched = std::min(iterations, static_cast<double>(type.elements()));
      for (size_t axis = 0; axis < axes; ++axis) {
        if (stride_along(kernel, *access, static_cast<LoopVar>(axis)) != size) continue;
        scores[axis] += touched * static_cast<double>(size) * (access->is_store ? 2 : 1);
      }
    };
    walk(nest.root, visitor);
  }
  return scores;
}

Varying::Varying(const LoopKernel& kernel, LoopVar lanes, bool lanes_are_rows)
    : lanes_(lanes), lanes_are_rows_(lanes_are_rows), values_(kernel.values.size(), false) {
  for (const Nest& nest : kernel.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      const std::optional<ValueId> result = result_of(stmt);
      if (result) values_[static_cast<size_t>(*result)] = (*this)(stmt);
    });
  }
}

bool Varying::operator()(const Stmt& stmt) const {
  if (std::holds_alternative<Read>(stmt)) return lanes_are_rows_;  // else the lanes are combined
  if (std::holds_alternative<Accumulate>(stmt) || std::holds_alternative<Declare>(stmt) ||
      std::holds_alternative<Merge>(stmt) || std::holds_alternative<Spill>(stmt) ||
      std::holds_alternative<Unspill>(stmt))
    return true;
  bool varies = false;
  for_each_index(stmt, [&](const Index& index) { varies = varies || mentions(index, lanes_); });
  for_each_operand(stmt, [&](ValueId value) { varies = varies || values_[static_cast<size_t>(value)]; });
  return varies;
}

Sizes sizes_of(const LoopKernel& kernel, const Loop& loop, const Varying* varying) {
  Sizes sizes;
  walk(loop, [&](const Stmt& stmt) {
    if (varying != nullptr && !(*varying)(stmt)) return;
    DType dtype = DType::i8;
    if (const auto* load = std::get_if<Load>(&stmt)) {
      dtype = kernel[load->result];
      sizes.cost += 1;
    }
    if (const auto* store = std::get_if<Store>(&stmt)) dtype = kernel[store->value];
    if (const auto* step = std::get_if<Accumulate>(&stmt)) {
      const Accumulator& accumulator = kernel[step->accumulator];
      dtype = accumulator.dtype;
      if (accumulator.position && size_of(*accumulator.position) > size_of(dtype))
        dtype = *accumulator.position;  // it is kept in lanes, too
    }
    if (const auto* compute = std::get_if<Compute>(&stmt)) {
      dtype = kernel[compute->result];
      sizes.cost += scalar_cost(compute->op, kernel[compute->operands.back()], dtype);
    }
    const bool half = dtype == DType::f16 || dtype == DType::bf16;
    sizes.widest = std::max<int64_t>(sizes.widest, half ? 4 : static_cast<int64_t>(size_of(dtype)));
  });
  return sizes;
}

/// How much of the rounds that ask for a guard, outside of the lanes along `var`, it holds in. (Those in
/// which it does not get a body without what it guards.)
static double share_of_rounds(const LoopKernel& kernel, const Guard& guard, LoopVar var) {
  double share = 1;
  for (const Condition& condition : guard) {
    if (condition.index.terms.size() != 1 || mentions(condition.index, var)) continue;
    const std::optional<Bounds> bounds = bounds_of(condition.index, kernel.extents_function());
    if (!bounds) continue;
    const auto inside = static_cast<double>(std::min(bounds->high + 1, condition.high) -
                                            std::max(bounds->low, condition.low));
    share *= std::clamp(inside / static_cast<double>(bounds->high + 1 - bounds->low), 0.0, 1.0);
  }
  return share;
}

double time_along(LoopKernel& kernel, const Domain& domain, size_t axis, int64_t lanes) {
  const auto var = static_cast<LoopVar>(axis);
  const auto extent = static_cast<double>(domain.extents[axis]);
  const double at_once = extent / std::ceil(extent / static_cast<double>(lanes));
  constexpr double kOneLane = 1.5;  // to load or store it, and move it to or from its place
  constexpr double kCombine = 10;   // the lanes of a sum
  double time = 0;
  double iterations = 1;
  std::vector<LoopVar> open;
  const auto count = [&](const Stmt& stmt) {
    const bool in_lanes = std::find(open.begin(), open.end(), var) != open.end();
    double cost = 1;
    if (const auto* compute = std::get_if<Compute>(&stmt))
      cost = scalar_cost(compute->op, kernel[compute->operands.back()], kernel[compute->result]);
    if (std::holds_alternative<Read>(stmt) && domain.swept[axis]) cost = kCombine;
    if (const auto* load = std::get_if<Load>(&stmt)) cost *= share_of_rounds(kernel, load->guard, var);
    const std::optional<Access> access = access_of(stmt);
    if (access && in_lanes && kernel[access->buffer].role != Buffer::Role::scratch) {
      const auto size = static_cast<int64_t>(size_of(kernel[access->buffer].type.dtype));
      const std::optional<int64_t> stride = stride_along(kernel, *access, var);
      if (stride != size && stride != 0) {
        time += cost * kOneLane * iterations;
        return;
      }
    }
    time += cost * iterations / (in_lanes ? at_once : 1);
  };
  NestVisitor visitor;
  visitor.enter = [&](Loop& loop) {
    iterations *= static_cast<double>(std::max<int64_t>(loop.extent, 1));
    open.push_back(loop.var);
  };
  visitor.leave = [&](Loop& loop) {
    iterations /= static_cast<double>(std::max<int64_t>(loop.extent, 1));
    open.pop_back();
  };
  visitor.visit = [&](Stmt& stmt) { count(stmt); };
  for (Nest& nest : kernel.nests) walk(nest.root, visitor);
  return time;
}

}  // namespace tokamak
