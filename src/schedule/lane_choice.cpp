#include "schedule/lane_choice.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace tokamak {
namespace {

/// Instructions of a sweep that does little but wait for its own last step.
constexpr double kTrivialSweep = 3;

}  // namespace

LaneChoice::LaneChoice(const LoopKernel& loops, const Domain& domain, std::optional<size_t> axis,
                       const Cpu& cpu)
    : loops_(loops), domain_(domain), cpu_(cpu) {
  if (!axis) return;
  lanes_ = static_cast<LoopVar>(*axis);
  varying_.emplace(loops, *lanes_, !domain.swept[*axis]);
}

Sizes LaneChoice::sizes_in_lanes(const Loop& loop) const {
  return sizes_of(loops_, loop, varying_ ? &*varying_ : nullptr);
}

int64_t LaneChoice::of_a_register() const { return cpu_.vector_bytes / all_sizes(false).widest; }

int LaneChoice::of_loop(int64_t extent, bool sweeps) const {
  const Sizes sizes = all_sizes(sweeps);
  const int lanes = fitting(extent, sizes, sweeps);
  // More registers take longer to compile: only where there is enough to do.
  constexpr int64_t kMany = 1 << 14;
  if (sweeps || extent < kMany) return lanes;
  constexpr int kGathersInFlight = 8;
  if (gathers_in_turn()) return lanes * kGathersInFlight;
  return lanes * chains_at_once(sizes.cost);
}

int LaneChoice::of_long_sweep(int64_t extent) const {
  const int lanes = of_loop(extent, true);
  if (cpu_.vector_bytes == 64) return lanes;  // more are no faster: rows are short in such registers
  const Sizes sizes = all_sizes(true);
  const int64_t wide = chains_at_once(sizes.cost) * cpu_.vector_bytes / sizes.widest;
  return wide > lanes && extent >= 2 * wide ? static_cast<int>(wide) : lanes;
}

/// A long body is a chain of steps that wait for each other, and the processor does not look so far ahead
/// that it finds the next iteration's. Four registers of 32 bytes are worked on side by side where that takes
/// few steps, and two where it takes many, which are long to compile, or where registers have 64 bytes.
int LaneChoice::chains_at_once(double cost) const {
  constexpr double kChain = 20;  // an elementary function
  constexpr double kLongBody = 60;
  if (cost < kChain) return 1;
  if (cost >= kLongBody || cpu_.vector_bytes == 64) return 2;
  return cpu_.vector_bytes == 32 ? 4 : 1;
}

int LaneChoice::of_rows(int64_t extent) const {
  // Rows that data says where to find are better kept together: half of all registers.
  const int most_registers = cpu_.avx512 && looks_up() ? 16 : 8;
  const int lanes = fitting(extent, all_sizes(false), true);
  const auto covering = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  const bool is_cheap = lanes > of_a_register() && !loads_lane_by_lane();
  return is_cheap && covering <= most_registers * of_a_register() ? static_cast<int>(covering) : lanes;
}

int LaneChoice::of_search(const Loop& loop) const {
  bool searches = false;
  for (const Stmt& stmt : loop.body) {
    if (as_loop(stmt) != nullptr || std::holds_alternative<Store>(stmt)) return 1;
    const auto* step = std::get_if<Accumulate>(&stmt);
    if (step == nullptr) continue;
    const Op op = loops_[step->accumulator].op;
    if (op != Op::reduce_max && op != Op::reduce_min) return 1;
    searches = true;
  }
  if (!searches) return 1;
  // A step is three instructions that wait for each other: four registers of any size, where the row is so
  // long that joining them does not matter.
  constexpr int64_t kRounds = 4;
  const Sizes sizes = sizes_in_lanes(loop);
  const int64_t wide = 4 * cpu_.vector_bytes / sizes.widest;
  if (sizes.cost <= kTrivialSweep && loop.extent >= kRounds * wide) return static_cast<int>(wide);
  return fitting(loop.extent, sizes, true);
}

int LaneChoice::of_count(const Loop& loop) const {
  constexpr int64_t kMost = 64;  // bits of a number that are counted at once
  std::unordered_map<ValueId, bool> is_counted;
  for (const Stmt& stmt : loop.body) {
    const auto* compute = std::get_if<Compute>(&stmt);
    if (compute != nullptr && compute->op == Op::convert && is_integer(loops_[compute->result]) &&
        loops_[compute->operands[0]] == DType::boolean)
      is_counted[compute->result] = false;
  }
  Loop others = loop;
  others.body.clear();
  for (const Stmt& stmt : loop.body) {
    if (const auto* step = std::get_if<Accumulate>(&stmt)) {
      const auto counted = is_counted.find(step->value);
      if (counted == is_counted.end() || step->running || loops_[step->accumulator].op != Op::reduce_sum)
        return 1;
      counted->second = true;
      continue;
    }
    if (as_loop(stmt) != nullptr || as_branch(stmt) != nullptr) return 1;
    bool is_wanted = true;  // as a number in every lane
    for_each_operand(stmt, [&](ValueId value) { is_wanted = is_wanted && is_counted.count(value) == 0; });
    if (!is_wanted) return 1;
    const std::optional<ValueId> result = result_of(stmt);
    if (!result || is_counted.count(*result) == 0) others.body.push_back(stmt);
  }
  for (const auto& [value, counted] : is_counted)
    if (!counted) return 1;
  if (is_counted.empty()) return 1;
  return static_cast<int>(std::min<int64_t>(kMost, fitting(loop.extent, sizes_in_lanes(others), true)));
}

Sizes LaneChoice::all_sizes(bool per_sweep) const {
  Sizes all;
  for (const Nest& nest : loops_.nests) {
    const Sizes sizes = sizes_in_lanes(nest.root);
    all = {std::max(all.widest, sizes.widest),
           all.cost + (per_sweep ? cost_of_sweeps(nest.root) : sizes.cost)};
  }
  if (const std::optional<int64_t> widest = per_sweep ? std::nullopt : widest_in_long_sweeps())
    all.widest = *widest;
  return all;
}

/// Of what is done again and again for rows in lanes; what is done once for each may take several registers.
std::optional<int64_t> LaneChoice::widest_in_long_sweeps() const {
  constexpr int64_t kLongSweep = 16;
  if (!lanes_ || domain_.swept[static_cast<size_t>(*lanes_)]) return std::nullopt;
  int64_t rounds = 1;
  for (size_t axis = 0; axis < domain_.swept.size(); ++axis)
    if (domain_.swept[axis]) rounds *= domain_.extents[axis];
  if (rounds < kLongSweep) return std::nullopt;
  std::optional<int64_t> widest;
  for (const Nest& nest : loops_.nests) {
    for_each_loop(nest.root, [&](const Loop& loop) {
      const auto axis = static_cast<size_t>(loop.var);
      if (axis < domain_.swept.size() && domain_.swept[axis])
        widest = std::max(widest.value_or(1), sizes_in_lanes(loop).widest);
    });
  }
  return widest;
}

/// What the sweeps inside a loop cost for each element.
double LaneChoice::cost_of_sweeps(const Loop& loop) const {
  const auto axis = static_cast<size_t>(loop.var);
  if (axis < domain_.swept.size() && domain_.swept[axis]) return sizes_in_lanes(loop).cost;
  double cost = 0;
  for (const Stmt& stmt : loop.body)
    if (const Loop* inner = as_loop(stmt)) cost += cost_of_sweeps(*inner);
  return cost;
}

bool LaneChoice::looks_up() const {
  bool found = false;
  for (const Nest& nest : loops_.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      const auto* load = std::get_if<Load>(&stmt);
      found = found || (load != nullptr && depends_on_data(load->index));
    });
  }
  return found;
}

/// Whether a place in memory is found by reading another, and that by one more, and so on, as in a binary
/// search.
bool LaneChoice::gathers_in_turn() const {
  constexpr int kLongChain = 4;
  std::unordered_map<ValueId, int> reads;  // how many in turn lead to a value
  int longest = 0;
  auto add = [&](ValueId result, int count) {
    reads[result] = count;
    longest = std::max(longest, count);
  };
  for (const Nest& nest : loops_.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      if (const auto* load = std::get_if<Load>(&stmt)) {
        int before = -1;
        for (const Index& index : load->index) {
          for (const IndexTerm& term : index.terms) {
            if (const auto* place = std::get_if<ValueId>(&term.atom))
              before = std::max(before, reads[*place]);
          }
        }
        add(load->result, before + 1);
      } else if (const auto* compute = std::get_if<Compute>(&stmt)) {
        int before = 0;
        for (ValueId operand : compute->operands) before = std::max(before, reads[operand]);
        add(compute->result, before);
      }
    });
  }
  return longest >= kLongChain;
}

/// Whether neighbouring lanes read what does not lie side by side.
bool LaneChoice::loads_lane_by_lane() const {
  bool found = false;
  for (const Nest& nest : loops_.nests) {
    walk(nest.root, [&](const Stmt& stmt) {
      const auto* load = std::get_if<Load>(&stmt);
      if (load == nullptr || !lanes_ || loops_[load->buffer].role == Buffer::Role::scratch) return;
      const std::optional<int64_t> step = stride_along(loops_, *access_of(stmt), *lanes_);
      const auto size = static_cast<int64_t>(size_of(loops_[load->buffer].type.dtype));
      found = found || !step || (*step != 0 && std::abs(*step) != size);
    });
  }
  return found;
}

int LaneChoice::fitting(int64_t extent, const Sizes& sizes, bool sweeps) const {
  int64_t lanes = cpu_.vector_bytes / sizes.widest;
  // An accumulation takes about four cycles, in which the body of another one or three can start.
  constexpr double kCheapSweep = 24;
  if (sweeps && sizes.cost <= kCheapSweep) lanes *= 2;
  if (sweeps && sizes.cost <= kTrivialSweep && cpu_.vector_bytes < 64) lanes *= 2;
  const auto covering =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(extent, 1))));
  return static_cast<int>(std::clamp<int64_t>(lanes, 1, covering));
}

}  // namespace tokamak
