#include "trace/contraction_order.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

namespace tokamak {
namespace {

constexpr size_t kMostForOptimal = 8;

using Steps = std::vector<std::pair<size_t, size_t>>;

double volume(const NameSet& names, const std::vector<int64_t>& extents) {
  double result = 1;
  for (size_t name = 0; name < extents.size(); ++name) {
    if (names[name]) result *= static_cast<double>(extents[name]);
  }
  return result;
}

/// All subsets of the operands, the cheapest way to make each from two smaller ones.
class Optimal {
 public:
  Optimal(const std::vector<NameSet>& operands, const NameSet& kept, const std::vector<int64_t>& extents)
      : operands_(operands), kept_(kept), extents_(extents) {
    const uint32_t all = (1U << operands.size()) - 1;
    for (uint32_t set = 0; set <= all; ++set) names_.push_back(names_of(set, all));
    cost_.assign(all + 1, 0);
    first_.assign(all + 1, 0);
    for (uint32_t set = 1; set <= all; ++set) {
      if (std::popcount(set) > 1) choose(set);
    }
  }

  Steps steps() {
    make((1U << operands_.size()) - 1);
    return steps_;
  }

 private:
  /// The names of the product of a set: those of its operands that are still needed outside it.
  NameSet names_of(uint32_t set, uint32_t all) const {
    NameSet inside;
    NameSet outside = kept_;
    for (size_t i = 0; i < operands_.size(); ++i) {
      (set >> i & 1 ? inside : outside) |= operands_[i];
    }
    return set == all ? inside & kept_ : std::popcount(set) == 1 ? inside : inside & outside;
  }

  void choose(uint32_t set) {
    cost_[set] = std::numeric_limits<double>::infinity();
    const double stored = volume(names_[set], extents_);
    for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
      const uint32_t rest = set ^ part;
      if (part > rest) continue;  // each split once
      const double work = volume(names_[part] | names_[rest], extents_) + stored;
      const double cost = cost_[part] + cost_[rest] + work;
      if (cost < cost_[set] || first_[set] == 0) {
        cost_[set] = cost;
        first_[set] = part;
      }
    }
  }

  size_t make(uint32_t set) {
    if (std::popcount(set) == 1) return static_cast<size_t>(std::countr_zero(set));
    const size_t left = make(first_[set]);
    const size_t right = make(set ^ first_[set]);
    steps_.emplace_back(std::min(left, right), std::max(left, right));
    return operands_.size() + steps_.size() - 1;
  }

  const std::vector<NameSet>& operands_;
  const NameSet& kept_;
  const std::vector<int64_t>& extents_;
  std::vector<NameSet> names_;
  std::vector<double> cost_;
  std::vector<uint32_t> first_;  ///< of the two sets that a set is best made from
  Steps steps_;
};

Steps greedy(std::vector<NameSet> operands, const NameSet& kept, const std::vector<int64_t>& extents) {
  Steps steps;
  const size_t count = operands.size();
  std::vector<bool> gone(2 * count, false);
  auto product_of = [&](size_t a, size_t b) {
    NameSet needed = kept;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!gone[i] && i != a && i != b) needed |= operands[i];
    }
    return (operands[a] | operands[b]) & needed;
  };
  while (steps.size() + 1 < count) {
    std::optional<std::pair<size_t, size_t>> best;
    double best_growth = 0;
    for (size_t a = 0; a < operands.size(); ++a) {
      for (size_t b = a + 1; b < operands.size() && !gone[a]; ++b) {
        if (gone[b]) continue;
        const double growth =
            volume(product_of(a, b), extents) - volume(operands[a], extents) - volume(operands[b], extents);
        if (best && growth >= best_growth) continue;
        best = {a, b};
        best_growth = growth;
      }
    }
    operands.push_back(product_of(best->first, best->second));
    gone[best->first] = gone[best->second] = true;
    steps.push_back(*best);
  }
  return steps;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> contraction_order(const std::vector<NameSet>& operands,
                                                         const NameSet& kept,
                                                         const std::vector<int64_t>& extents) {
  if (operands.size() < 2) return {};
  if (operands.size() <= kMostForOptimal) return Optimal(operands, kept, extents).steps();
  return greedy(operands, kept, extents);
}

}  // namespace tokamak
