#pragma once

// Turns the values of a kernel's body into statements, on demand: asks for a value at an index, and whatever
// it is made from is asked for in turn, down to loads.

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "fusion/kernel.h"
#include "loops/builder.h"
#include "loops/nest.h"

namespace tokamak {

class Evaluator {
 public:
  Evaluator(const FusedKernel& fused, LoopKernel& kernel, NestBuilder& builder);

  /// Values to keep in scratch rows, with the sweep that computes them. Rows larger than `keep_bytes` are not
  /// worth it.
  void set_kept(std::map<Value, int> kept, int64_t keep_bytes);

  /// Adds a nest for each of the gathers that checks its indices; they are not checked again.
  void check_first(const std::vector<Value>& gathers);

  void begin_sweep(int sweep, std::unordered_map<uint32_t, AccumulatorId> scans);
  /// Computes what must be kept for later and was not asked for in this sweep.
  void finish_sweep();

  /// The value at this index. Where the guard does not hold, anything: no memory is touched for it there.
  ValueId evaluate(Value value, const std::vector<Index>& at, const Guard& guard = {});

  /// Says what a reduction's value is.
  void define(Value value, std::vector<Index> at, ValueId result);

  /// What a sweep wanted that an earlier one had computed, where keeping it is worth it.
  const std::map<Value, int>& wanted_again() const { return wanted_again_; }

 private:
  struct Known {
    std::vector<Index> at;
    Guard guard;
    ValueId result;
    size_t depth;
    uint64_t instance;  ///< of the loop at that depth: known only while it is open
  };

  const Known* find(Value value, const std::vector<Index>& at, const Guard& guard) const;
  ValueId remember(Value value, const std::vector<Index>& at, const Guard& guard, ValueId result);
  ValueId make(Value value, const std::vector<Index>& at, const Guard& guard);
  ValueId follow_views(Value value, std::vector<Index> at, const Guard& guard);
  ValueId make_indexed(Value value, const std::vector<Index>& at, const Guard& guard);
  ValueId make_scan(Value value, const std::vector<Index>& at);
  ValueId data_index(Value value, size_t operand, const std::vector<Index>& at, int64_t extent,
                     const Guard& guard);
  void check(Value value, ValueId index, int64_t extent);
  ValueId clamped(ValueId index, int64_t extent);

  /// Not a scan: it goes on wherever it is asked for, and once.
  bool heeds_guards(Value value) const;
  bool is_home(Value value, const std::vector<Index>& at, const Guard& guard) const;
  bool is_worth_keeping(Value value) const;
  std::vector<Index> scratch_index() const;
  BufferId scratch_for(Value value);
  void keep(Value value, ValueId result);

  const Graph& body_;
  const Domain& domain_;
  LoopKernel& kernel_;
  NestBuilder& builder_;
  std::vector<double> expression_costs_;  ///< by value: computing one element from memory
  std::unordered_map<uint32_t, std::vector<Known>> known_;
  std::unordered_map<uint32_t, int> first_evaluated_;  ///< full values: the sweep that first computed them
  std::unordered_map<uint32_t, AccumulatorId> scans_;
  std::unordered_map<uint32_t, BufferId> scratch_;
  std::map<Value, int> kept_;
  std::map<Value, int> wanted_again_;
  std::set<Value> checked_;  ///< gathers whose indices are known to be in range
  int64_t keep_bytes_ = 0;
  int sweep_ = 0;
};

}  // namespace tokamak
