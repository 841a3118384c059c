#include "fusion/cost.h"

#include <algorithm>

#include "ops/contract.h"

namespace tokamak {
namespace {

// Nanoseconds on one core; only their ratios matter.
constexpr double kInstructionPerByte = 0.008;  ///< one vector instruction, per byte of element
constexpr double kMemoryPerByte = 0.07;
constexpr double kL3PerByte = 0.03;
constexpr double kL2PerByte = 0.012;
constexpr double kStepOverhead = 400;  ///< running one kernel more

/// A few instructions a point disappear behind the loads of any kernel that streams from memory.
constexpr double kNegligibleCost = 8;

double traffic_per_byte(int64_t bytes, const FusionOptions& options) {
  if (bytes <= options.l2_bytes / 2) return kL2PerByte;
  if (bytes <= options.l3_bytes / 2) return kL3PerByte;
  return kMemoryPerByte;
}

}  // namespace

bool worth_recomputing(const Recomputation& value, const FusionOptions& options) {
  if (value.cost_per_element * static_cast<double>(value.per_point) <= kNegligibleCost) return true;
  const auto elements = static_cast<double>(value.type.elements());
  const double instruction =
      kInstructionPerByte * static_cast<double>(std::max<size_t>(size_of(value.type.dtype), 4));
  // One evaluation has to be somewhere; but not of what another kernel evaluates, too.
  const double spent_anyway =
      value.stored_anyway ? 0.0 : elements * (value.cost_per_element - value.repeated_cost);
  const double recomputing =
      instruction * (value.cost_per_element * static_cast<double>(value.evaluations) - spent_anyway);
  const double per_byte = traffic_per_byte(value.type.bytes(), options);
  const auto bytes = static_cast<double>(value.type.bytes());
  double saved = bytes * per_byte;  // reading it back
  if (!value.stored_anyway)
    saved += 2 * bytes * per_byte + kStepOverhead;  // writing it: a read for ownership too
  return recomputing <= saved;
}

bool worth_sweeping_rows_again(const Domain& domain) {
  constexpr int64_t kElementsOfOneThread = 32 << 10;
  constexpr int64_t kEnoughTasks = 4;
  constexpr int64_t kColumnsPerTask = 16;
  constexpr int64_t kElementsInCaches = 1 << 20;
  if (element_count(domain.extents) <= kElementsOfOneThread) return true;
  const int64_t rows = element_count(domain.row_extents());
  const bool rows_are_columns = !domain.swept.empty() && !domain.swept.back();
  // Columns are swept again a few at a time, with a little from every row. Memory is read faster row by row,
  // twice.
  if (rows_are_columns && element_count(domain.extents) > kElementsInCaches && rows > kColumnsPerTask)
    return false;
  return (rows_are_columns ? rows / kColumnsPerTask : rows) >= kEnoughTasks;
}

bool worth_overwriting(const Graph& graph, const Node& scatter) {
  constexpr int64_t kLarge = 1024;
  constexpr int64_t kElementsPerUpdate = 4;
  const int64_t operand = scatter.type.elements();
  const int64_t updates = graph.type_of(scatter.inputs[2]).elements();
  return operand >= kLarge && operand / kElementsPerUpdate >= updates;
}

bool worth_reducing_rows(const Domain& domain, int64_t terms) {
  return leaves_rows_to_threads(element_count(domain.row_extents()), element_count(domain.extents) * terms);
}

}  // namespace tokamak
