#include "passes/swapped_dot.h"

#include <numeric>

namespace tokamak {
namespace {

/// [batch, first, second] to [batch, second, first], so many axes each.
Ints exchange(size_t batch, size_t first, size_t second) {
  Ints permutation(batch + first + second);
  const auto begin = permutation.begin();
  const auto behind = begin + static_cast<int64_t>(batch);
  std::iota(begin, behind, 0);
  std::iota(behind, behind + static_cast<int64_t>(second), static_cast<int64_t>(batch + first));
  std::iota(behind + static_cast<int64_t>(second), permutation.end(), static_cast<int64_t>(batch));
  return permutation;
}

}  // namespace

Value add_swapped_dot(Graph& graph, Value lhs, Value rhs, const Attributes& attributes,
                      const SourceLocation& where) {
  return graph.add(Op::dot, {rhs, lhs},
                   {{Attr::lhs_batch, attributes.ints(Attr::rhs_batch)},
                    {Attr::rhs_batch, attributes.ints(Attr::lhs_batch)},
                    {Attr::lhs_contract, attributes.ints(Attr::rhs_contract)},
                    {Attr::rhs_contract, attributes.ints(Attr::lhs_contract)}},
                   where);
}

Ints to_swapped(const DotAxes& axes) {
  return exchange(axes.lhs_batch.size(), axes.lhs_free.size(), axes.rhs_free.size());
}

Ints from_swapped(const DotAxes& axes) {
  return exchange(axes.lhs_batch.size(), axes.rhs_free.size(), axes.lhs_free.size());
}

}  // namespace tokamak
