#pragma once

// What is known about conditions while loop variables stay within ranges.

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "loops/nest.h"

namespace tokamak {

/// first <= variable < end
struct Range {
  int64_t first;
  int64_t end;
  int64_t size() const { return end - first; }
};

/// Ranges of variables that are narrower than their extents.
class Ranges {
 public:
  explicit Ranges(const LoopKernel& kernel) : kernel_(&kernel) {}

  Range of(LoopVar var) const;
  Ranges with(LoopVar var, Range range) const;
  std::optional<Bounds> bounds(const Index& index) const;
  /// Whether it holds throughout; nullopt when that depends on where.
  std::optional<bool> holds(const Condition& condition) const;
  std::optional<bool> holds(const Guard& guard) const;
  /// The conditions that are not known to hold, each once.
  Guard undecided(const Guard& guard) const;

 private:
  const LoopKernel* kernel_;
  std::map<LoopVar, Range> narrowed_;
};

/// The statements that conditions are made of, by what they assign.
class Conditions {
 public:
  explicit Conditions(const LoopKernel& kernel);

  /// The truth value throughout the ranges, when it is known.
  std::optional<bool> truth(ValueId value, const Ranges& ranges) const;
  /// Every condition that a statement asks.
  std::vector<Condition> asked_by(const Stmt& stmt, const Ranges& ranges) const;

 private:
  /// The comparison of an index with a number that `compute` is.
  std::optional<Condition> comparison(const Compute& compute, const Ranges& ranges) const;

  const LoopKernel& kernel_;
  std::unordered_map<uint32_t, Stmt> definitions_;
};

/// The values of `var`, within its range, at which the condition begins or ends to hold everywhere or
/// nowhere.
std::vector<int64_t> changes_along(const Condition& condition, LoopVar var, const Ranges& ranges);

}  // namespace tokamak
