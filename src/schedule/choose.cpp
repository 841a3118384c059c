// Decides how a kernel's loops run. What a decision does to the loops is in apply.cpp.

#include <algorithm>
#include <bit>
#include <numeric>

#include "loops/lower.h"
#include "loops/walk.h"
#include "ops/record.h"
#include "schedule/align.h"
#include "schedule/axes.h"
#include "schedule/cost.h"
#include "schedule/fetch_ahead.h"
#include "schedule/finish.h"
#include "schedule/lane_choice.h"
#include "schedule/neighbours.h"
#include "schedule/schedule.h"
#include "schedule/separate.h"
#include "schedule/sink.h"
#include "schedule/stage.h"
#include "schedule/stagger.h"
#include "schedule/store_choice.h"
#include "schedule/sweep_choice.h"
#include "schedule/transform.h"
#include "schedule/turn.h"
#include "schedule/unroll.h"

namespace tokamak {
namespace {

/// Iterations of a sum between two joins: as many as NumPy's pairwise sum adds one after the other.
constexpr int64_t kSumBlock = 16;
/// Elements of one task when a long loop is cut: enough to hide claiming it, few enough to share evenly.
constexpr int64_t kTaskElements = 8192;
/// Bytes of a row or column of a tile in which a transposed operand's cache lines are used up before they are
/// lost.
constexpr int64_t kTransposeTile = 256;
/// An axis of fewer registers of lanes is short.
constexpr int64_t kShort = 4;
/// A vector loop of more registers than this, that covers all of an axis, reads a row that is worth fetching.
constexpr int64_t kFewRegisters = 2;
/// A sweep is shared among tasks when there are fewer rows than this, and this many elements in all.
constexpr int64_t kFewRows = 16;
constexpr int64_t kLongSweep = 1 << 16;

class Chooser {
 public:
  Chooser(const FusedKernel& fused, const std::vector<Layout>& layouts, const Cpu& cpu, bool own_outputs,
          bool read_soon)
      : fused_(fused),
        layouts_(layouts),
        cpu_(cpu),
        own_outputs_(own_outputs),
        read_soon_(read_soon),
        domain_(fused.domain) {}

  ScheduledKernel run() {
    lower_in_order();
    if (is_scatter()) {
      collapse(rows_);
      choose_vector_loop();
      vectorise_lane_loops();
      decide(Parallelise{});
    } else {
      unroll_short_rows();
      collapse(rows_);
      collapse(swept_);
      turn_around();
      choose_vector_loop();
      share_sweep();
      sweep_rows_together();
      jam_rows();
      fetch_rows_ahead();
      stagger_rows();
      cascade();
      if (sinks_) decide(Sink{static_cast<LoopVar>(*vector_axis_)});
      vectorise_lane_loops();  // before ranges are separated: loops that have lanes get no branches inside
      if (has_ranges_to_separate(result_.loops)) {
        decide(Separate{.aligned = streams()});
      } else {
        stage_tiles();
        finish_rows();
      }
      decide(Parallelise{});
      stream();
      align_stores();
      add_turning_nest(result_.loops, turns_);
    }
    return finish();
  }

  BlockKernel run_for_blocks(int64_t block_columns, bool part_of_columns) {
    LowerOptions options;
    options.keep_bytes = cpu_.l2_bytes / 2;
    result_.loops = lower(fused_, layouts_, options);
    const size_t axes = domain_.extents.size();
    for (size_t axis = 0; axis < axes; ++axis)
      (domain_.swept[axis] ? swept_ : rows_).push_back(static_cast<LoopVar>(axis));
    collapse(swept_);
    const size_t rows = axes - fused_.columns;
    std::vector<LoopVar> columns(rows_.begin() + static_cast<int64_t>(rows), rows_.end());
    collapse(columns);
    int64_t columns_per_task = 1;
    for (LoopVar var : swept_) columns_per_task *= extent(var);
    if (fused_.columns > 0) {
      vector_axis_ = axes - 1;
      const auto var = static_cast<LoopVar>(axes - 1);
      const int lanes = lane_choice().of_loop(extent(var), domain_.has_sweep);
      if (swept_.empty()) {
        columns_per_task = extent(var);
        if (columns.size() == 1 && block_columns < extent(var)) {
          decide(Split{var, block_columns});
          columns_per_task = block_columns;
        }
      } else {
        vector_step_ = lanes;
      }
      decide(Vectorise{var, lanes});
      if (!swept_.empty()) {
        decide(choose_wide_searches(result_.loops, var, lanes, lane_choice()));
        decide(choose_jammed_sums(result_.loops, var, lanes, lane_choice()));
      }
    }
    if (part_of_columns) limit();
    cascade();
    decide(Parallelise{.enough_tasks = INT64_MAX});
    stream();
    return {finish(), columns_per_task};
  }

 private:
  ScheduledKernel finish() {
    place_scratch(result_.loops);
    for (Nest& nest : result_.loops.nests) nest.task_cost = task_cost(result_.loops, nest, cpu_);
    return std::move(result_);
  }

  void decide(const Decision& decision) {
    result_.decisions += to_string(decision, result_.loops) + "\n";
    apply(result_.loops, decision);
  }

  void decide(const std::vector<Decision>& decisions) {
    for (const Decision& decision : decisions) decide(decision);
  }

  int64_t extent(LoopVar var) const { return result_.loops.extents[static_cast<size_t>(var)]; }

  bool is_scatter() const {
    return std::any_of(fused_.body.nodes().begin(), fused_.body.nodes().end(),
                       [](const Node& node) { return node.op == Op::scatter; });
  }

  /// Lowers with the axis that vectorises best innermost among its kind.
  void lower_in_order() {
    LowerOptions options;
    options.keep_bytes = cpu_.l2_bytes / 2;
    result_.loops = lower(fused_, layouts_, options);
    const size_t axes = domain_.extents.size();
    for (const Node& node : fused_.body.nodes()) scans_ = scans_ || scans(node);
    const std::vector<double> scores = contiguity(result_.loops, axes);
    size_t best = axes;
    for (size_t axis = 0; axis < axes; ++axis) {
      if (scans_ && domain_.swept[axis]) continue;
      if (best == axes || score(scores, axis) >= score(scores, best)) best = axis;
    }
    const size_t nearest = best;
    if (best != axes) best = longer_axis_if_faster(best);
    lanes_outside_ = best != nearest && !domain_.has_sweep;
    std::vector<size_t> rows;
    std::vector<size_t> swept;
    for (size_t axis = 0; axis < axes; ++axis) {
      if (axis != best || lanes_outside_) (domain_.swept[axis] ? swept : rows).push_back(axis);
    }
    if (best != axes && !lanes_outside_) (domain_.swept[best] ? swept : rows).push_back(best);
    if (best != axes) vector_axis_ = best;
    if (!std::is_sorted(rows.begin(), rows.end()) || !std::is_sorted(swept.begin(), swept.end())) {
      options.order = {rows, swept};
      result_.loops = lower(fused_, layouts_, options);
      result_.decisions += "put " + result_.loops.variables[best] + " innermost\n";
    }
    for (size_t axis : rows) rows_.push_back(static_cast<LoopVar>(axis));
    for (size_t axis : swept) swept_.push_back(static_cast<LoopVar>(axis));
  }

  /// A short axis leaves lanes idle, and what does not depend on it is computed for one element at a time: a
  /// long axis around it may be better, though neighbours along it do not lie next to each other.
  size_t longer_axis_if_faster(size_t best) {
    const int64_t lanes = lane_choice().of_a_register();
    if (domain_.extents[best] >= kShort * lanes || best == 0) return best;
    if (can_collapse(result_.loops, static_cast<LoopVar>(best - 1), static_cast<LoopVar>(best))) return best;
    double least = time_along(result_.loops, domain_, best, lanes);
    size_t chosen = best;
    for (size_t axis = 0; axis < best; ++axis) {
      if (domain_.swept[axis] || domain_.extents[axis] < 4 * lanes) continue;
      const double time = time_along(result_.loops, domain_, axis, lanes);
      if (time < least) std::tie(chosen, least) = std::pair(axis, time);
    }
    return chosen;
  }

  LaneChoice lane_choice() const { return {result_.loops, domain_, vector_axis_, cpu_}; }

  /// Contiguity, unless the axis is so short that most lanes would idle.
  double score(const std::vector<double>& scores, size_t axis) const {
    const auto filled = static_cast<double>(std::min<int64_t>(domain_.extents[axis], 8)) / 8;
    return scores[axis] * filled;
  }

  void collapse(std::vector<LoopVar>& loops) {
    for (size_t i = loops.size(); i-- > 1;) {
      if (lanes_outside_ && loops[i - 1] == static_cast<LoopVar>(*vector_axis_)) continue;
      if (!can_collapse(result_.loops, loops[i - 1], loops[i])) continue;
      decide(Collapse{loops[i - 1], loops[i]});
      loops.erase(loops.begin() + static_cast<int64_t>(i) - 1);
    }
  }

  void unroll_short_rows() {
    if (!domain_.has_sweep || scans_ || lanes_outside_) return;
    std::optional<LoopVar> lanes;
    if (vector_axis_) lanes = static_cast<LoopVar>(*vector_axis_);
    const auto decision = choose_unroll(result_.loops, rows_, swept_, lanes);
    if (!decision) return;
    decide(*decision);
    std::erase(rows_, decision->var);
  }

  void choose_vector_loop() {
    for (LoopVar row : rows_) row_tasks_ *= extent(row);
    if (!vector_axis_) return;
    const auto var = static_cast<LoopVar>(*vector_axis_);  // a collapse keeps the inner name
    const bool lanes_are_rows = !domain_.swept[*vector_axis_];
    const LaneChoice choice = lane_choice();
    const int lanes = !domain_.has_sweep ? choice.of_loop(extent(var), false)
                      : lanes_are_rows   ? choice.of_rows(extent(var))
                                         : choice.of_long_sweep(extent(var));
    if (!lanes_are_rows) {
      decide(Vectorise{var, lanes});
      decide(choose_wide_searches(result_.loops, var, lanes, lane_choice()));
      decide(choose_jammed_counts(result_.loops, var, lanes, lane_choice()));
      decide(choose_jammed_reads(result_.loops, var, lanes, cpu_));
      vector_step_ = lanes;
      return;
    }
    if (lanes_outside_) {
      int64_t inside = 1;
      for (LoopVar row : rows_) inside *= row > var ? extent(row) : 1;
      const int64_t tile = std::max<int64_t>(kTaskElements / std::max<int64_t>(inside, 1) / lanes, 1) * lanes;
      if (extent(var) > tile) decide(Split{var, tile});
    } else if (domain_.has_sweep) {
      sinks_ = reads_across(var, lanes) && can_sink(result_.loops, var);
      side_by_side_ = sinks_ || (lanes >= extent(var) && lanes > kFewRegisters * choice.of_a_register());
      const int64_t tile = sinks_ ? rows_side_by_side(lanes) : lanes;
      row_tasks_ = std::max<int64_t>(row_tasks_ / tile, 1);
      if (extent(var) > tile) decide(Split{var, tile});
    } else if (rows_.size() >= 2 && walks_across(rows_[rows_.size() - 2], var)) {
      along_ = rows_[rows_.size() - 2];
      const int64_t tile = transpose_tile();
      if (extent(*along_) > tile || extent(var) > tile) decide(Tile{*along_, var, tile});
    } else if (extent(var) > 4 * kTaskElements || (rows_.size() == 1 && extent(var) > kTaskElements)) {
      decide(Split{var, kTaskElements});
    } else {
      keep_neighbours(var, lanes);
    }
    if (!domain_.has_sweep && !along_) fetch_elements_ahead(var);
    decide(Vectorise{var, lanes});
  }

  void keep_neighbours(LoopVar var, int lanes) {
    if (extent(var) < kShort * lanes || has_ranges_to_separate(result_.loops)) return;
    if (!choose_kept_neighbours(result_.loops, var, cpu_)) return;
    int64_t rows = 1;
    std::optional<LoopVar> row;
    if (rows_.size() >= 2) {
      row = rows_[rows_.size() - 2];
      rows = rows_that_share_reads(result_.loops, *row, var, cpu_);
      if (rows > 1) decide(Split{*row, rows});
    }
    const auto decision = choose_kept_neighbours(result_.loops, var, cpu_);
    if (!decision) return;
    decide(*decision);
    decide(Vectorise{decision->kept, lanes});
    if (!row) return;
    if (const auto fetch = choose_fetch_to_keep(result_.loops, *row, *decision, rows, cpu_)) decide(*fetch);
    if (rows == 1) return;
    const auto before = static_cast<LoopVar>(result_.loops.variables.size());
    decide(KeepRows{*row, decision->kept, before});
    decide(Unroll{before});
  }

  void vectorise_lane_loops() {
    for (LoopVar var : result_.loops.lane_loops)
      decide(Vectorise{var, lane_choice().of_loop(extent(var), false)});
  }

  /// Whether sweeping a few rows at a time would take a little from here and a little from there.
  bool reads_across(LoopVar var, int lanes) const {
    if (swept_.empty() || scans_ || extent(var) < 4 * lanes) return false;
    bool found = false;
    walk(result_.loops.nests[0].root, [&](const Stmt& stmt) {
      if (!std::holds_alternative<Load>(stmt)) return;
      const Access access = *access_of(stmt);
      const Buffer& buffer = result_.loops[access.buffer];
      if (buffer.role == Buffer::Role::scratch || buffer.type.bytes() <= cpu_.l2_bytes) return;
      const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
      const std::optional<int64_t> step = stride_along(result_.loops, access, swept_.back());
      const bool is_far = depends_on_data(*access.index) || (step && *step > lanes * size);
      found = found || (is_far && stride_along(result_.loops, access, var) == size);
    });
    return found;
  }

  /// A page's worth, or less where that would leave too few tasks and the sweep cannot be shared among them.
  int64_t rows_side_by_side(int lanes) const {
    constexpr int64_t kPage = 4096;
    const int64_t page = kPage / (cpu_.vector_bytes / lane_choice().of_a_register());
    const bool is_shared = can_share_sweep() && extent(swept_.front()) >= kSumBlock * kFewRows;
    const int64_t fair = is_shared ? page : row_tasks_ / kFewRows / lanes * lanes;
    return std::max<int64_t>(4 * lanes, std::min(page, fair));
  }

  int64_t transpose_tile() const {
    return kTransposeTile * lane_choice().of_a_register() / cpu_.vector_bytes;
  }

  /// Whether something lies next to itself along `other` and not along the vector loop: a transposed operand,
  /// whose every element would be on a cache line of its own.
  bool walks_across(LoopVar other, LoopVar vector) const {
    constexpr int64_t kWorthATile = 16;
    if (extent(other) < kWorthATile || extent(vector) < kWorthATile) return false;
    bool found = false;
    for (const Nest& nest : result_.loops.nests) {
      walk(nest.root, [&](const Stmt& stmt) {
        const std::optional<Access> access = access_of(stmt);
        if (!access) return;
        const auto size = static_cast<int64_t>(size_of(result_.loops[access->buffer].type.dtype));
        const std::optional<int64_t> along = stride_along(result_.loops, *access, vector);
        found = found || (stride_along(result_.loops, *access, other) == size && (!along || *along > size));
      });
    }
    return found;
  }

  int sweep_count() const {
    int sweeps = 0;
    for (const Nest& nest : result_.loops.nests) {
      for_each_loop(nest.root, [&](const Loop& loop) { sweeps += loop.var == swept_.front() ? 1 : 0; });
    }
    return sweeps;
  }

  /// Whether a long sweep may be shared among tasks. Only a single one can be: a second would need the
  /// first's result.
  bool can_share_sweep() const {
    return !swept_.empty() && !scans_ && sweep_count() == 1 && element_count(domain_.extents) >= kLongSweep;
  }

  /// The least that is not less.
  static int64_t power_of_two(int64_t count) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  }

  /// Shares a long sweep when the rows are too few.
  void share_sweep() {
    if (!can_share_sweep() || row_tasks_ >= kFewRows) return;
    const LoopVar outer = swept_.front();
    int64_t inner = 1;  // elements per iteration of the outermost swept loop
    for (size_t i = 1; i < swept_.size(); ++i) inner *= extent(swept_[i]);
    const int64_t step = swept_.size() == 1 ? vector_step_ : 1;
    const int64_t elements = vector_is_swept() ? kTaskElements * 4 : kTaskElements;
    int64_t chunk = std::max<int64_t>(1, elements / inner);
    chunk = power_of_two((chunk + step - 1) / step) * step;
    chunk = std::max<int64_t>(chunk, kSumBlock * step);
    // A step of many rows side by side is many elements: it takes fewer steps to make enough for a task.
    if (sinks_) chunk = std::clamp(power_of_two(extent(outer) * row_tasks_ / kFewRows), kSumBlock, chunk);
    if (extent(outer) <= chunk) return;
    decide(SplitSweep{outer, chunk});
  }

  /// What is small, and lies across rows in lanes.
  void turn_around() {
    if (!vector_axis_ || vector_is_swept() || swept_.empty()) return;
    turns_ = choose_turns(result_.loops, swept_.back(), static_cast<LoopVar>(*vector_axis_), cpu_);
    for (const Turn& turn : turns_) decide(turn);
  }

  /// What is swept in lanes, or lies the other way round, goes through tiles.
  void stage_tiles() {
    if (!vector_axis_) return;
    const auto lanes = static_cast<LoopVar>(*vector_axis_);
    if (scans_ && !vector_is_swept() && swept_.size() == 1 && sweep_count() == 1 && only_scans() &&
        extent(swept_.back()) > transpose_tile() && can_stage(result_.loops, swept_.back(), lanes)) {
      along_ = swept_.back();
      decide(Split{*along_, transpose_tile()});
    }
    if (along_ && can_stage(result_.loops, *along_, lanes)) decide(Stage{*along_, lanes});
  }

  bool only_scans() const {
    return std::all_of(fused_.body.nodes().begin(), fused_.body.nodes().end(),
                       [](const Node& node) { return !sweeps(node) || scans(node); });
  }

  void fetch_rows_ahead() {
    if (swept_.empty() || scans_ || !vector_axis_ || element_count(domain_.extents) == 0) return;
    const SweptRows rows{.outermost = swept_.front(),
                         .innermost = swept_.back(),
                         .lanes = static_cast<LoopVar>(*vector_axis_),
                         .side_by_side = side_by_side_};
    if (const auto decision = choose_fetch_ahead(result_.loops, rows, cpu_)) decide(*decision);
  }

  /// What takes long for a row, and has one element, would leave all lanes idle but one.
  void finish_rows() {
    constexpr int64_t kRegisters = 4;  // of rows in a block
    if (!vector_is_swept() || scans_ || rows_.empty()) return;
    const LoopVar row = rows_.back();
    const auto decision = choose_finish(result_.loops, row, cpu_);
    if (!decision) return;
    const int64_t most = std::min(extent(row), row_tasks_ / kFewRows);  // that leave enough tasks
    const int64_t block = std::min(kRegisters, most / decision->lanes) * decision->lanes;
    if (block == 0) return;
    decide(Split{row, block});
    decide(*decision);
  }

  /// Rows that read the same in their lanes.
  void sweep_rows_together() {
    if (!vector_axis_ || vector_is_swept() || lanes_outside_ || scans_ || sinks_ || rows_.size() < 2 ||
        swept_.size() != 1 || has_ranges_to_separate(result_.loops))
      return;
    const auto lanes = static_cast<LoopVar>(*vector_axis_);
    const size_t row = rows_.size() - 2;
    const int64_t together = choose_rows_together(result_.loops, rows_[row], swept_[0], lanes, cpu_);
    if (together > 1 && row_tasks_ >= kFewRows * together) run_together(row, together);
  }

  /// `row` is a place in rows_.
  void run_together(size_t row, int64_t together) {
    const LoopVar var = rows_[row];
    if (extent(var) == together) {
      rows_.erase(rows_.begin() + static_cast<int64_t>(row));
    } else {
      rows_[row] = static_cast<LoopVar>(result_.loops.variables.size());
      decide(Split{var, together});
    }
    decide(Unroll{var});
    row_tasks_ /= together;
  }

  /// Short rows, swept more than once, are a chain of sweeps that wait for what the one before comes to: a
  /// few rows go side by side.
  void jam_rows() {
    constexpr int64_t kShortRow = 8;   // rounds
    constexpr int64_t kManyRows = 16;  // times as many: fewer are not worth what it takes to compile
    if (!vector_is_swept() || scans_ || rows_.empty() || swept_.size() != 1 || sweep_count() < 2 ||
        result_.loops.nests.size() != 1 || has_ranges_to_separate(result_.loops))
      return;
    const LoopVar row = rows_.back();
    int64_t together = cpu_.avx512 ? 4 : 2;  // more registers hold the sums of more rows
    while (extent(row) % together != 0) together /= 2;
    if (together == 1 || row_tasks_ < kManyRows * together || extent(swept_[0]) > kShortRow * vector_step_ ||
        choose_finish(result_.loops, row, cpu_))
      return;
    run_together(rows_.size() - 1, together);
  }

  /// In blocks that are as long as they can be with enough tasks left: the first and the last row of each
  /// have sweeps of their own.
  void stagger_rows() {
    constexpr int64_t kMostRows = 16;
    constexpr double kTaskTime = 10000;  // nanoseconds, as task_cost() counts them
    constexpr double kFewTasks = 4;
    constexpr double kManyTasks = 64;
    if (!vector_is_swept() || scans_ || rows_.empty() || has_ranges_to_separate(result_.loops)) return;
    const LoopVar row = rows_.back();
    const auto decision = choose_stagger(result_.loops, row, kSumBlock * vector_step_, streams(), cpu_);
    if (!decision || choose_finish(result_.loops, row, cpu_)) return;
    const double all = task_cost(result_.loops, result_.loops.nests[0], cpu_);
    const auto tasks =
        std::bit_floor(static_cast<uint64_t>(std::clamp(all / kTaskTime, kFewTasks, kManyTasks)));
    const int64_t block = std::min({kMostRows, extent(row), row_tasks_ / static_cast<int64_t>(tasks)});
    if (block < 2) return;
    if (block < extent(row)) decide(Split{row, block});
    decide(*decision);
  }

  void fetch_elements_ahead(LoopVar var) {
    if (const auto decision = choose_fetch_on(result_.loops, var, cpu_)) decide(*decision);
  }

  bool vector_is_swept() const { return vector_axis_ && domain_.swept[*vector_axis_]; }

  /// Whole rounds of those vector loops that have whole rounds over all of the axis: no other parts of them
  /// have to be left over.
  void limit() {
    if (swept_.size() != 1 || !vector_is_swept()) throw InternalError("a part of what is not swept");
    int64_t rounds = 1;
    for (const Nest& nest : result_.loops.nests) {
      for_each_loop(nest.root, [&](const Loop& loop) {
        if (loop.var == swept_[0]) rounds = std::max<int64_t>(rounds, loop.lanes);
      });
    }
    const int64_t first_unit = std::max(kSumBlock * vector_step_, rounds);
    decide(Limit{swept_[0], first_unit, std::gcd(rounds, extent(swept_[0]))});  // lanes are powers of two
  }

  void cascade() {
    if (swept_.empty()) return;
    const LoopVar inner = swept_.back();
    const int64_t trips = (extent(inner) + vector_step_ - 1) / vector_step_;
    if (trips >= kSumBlock || swept_.size() == 1) {
      decide(Cascade{inner, kSumBlock * vector_step_});
    } else {
      // A power of two: the parts of a sweep that tasks share are multiples of it.
      const auto block = static_cast<uint64_t>(kSumBlock / std::clamp<int64_t>(trips, 1, kSumBlock));
      decide(Cascade{swept_[swept_.size() - 2], static_cast<int64_t>(std::bit_floor(block))});
    }
  }

  StoreChoice store_choice() const { return {result_.loops, domain_, vector_is_swept(), read_soon_, cpu_}; }

  bool streams() const { return own_outputs_ && !store_choice().streamed().empty(); }

  void stream() {
    if (!own_outputs_) return;
    for (BufferId buffer : store_choice().streamed()) {
      decide(Stream{buffer});
      if (store_choice().begins_within_lines(buffer)) decide(Align{buffer});
    }
  }

  void align_stores() {
    if (!own_outputs_) return;
    for (BufferId buffer : store_choice().through_caches()) {
      if (can_align(result_.loops, buffer) && !is_aligned(result_.loops, buffer)) decide(Align{buffer});
    }
  }

  const FusedKernel& fused_;
  const std::vector<Layout>& layouts_;
  const Cpu& cpu_;
  const bool own_outputs_;
  const bool read_soon_;
  const Domain& domain_;
  ScheduledKernel result_;
  std::vector<LoopVar> rows_;  ///< outermost first
  std::vector<LoopVar> swept_;
  std::optional<size_t> vector_axis_;
  int64_t row_tasks_ = 1;
  int64_t vector_step_ = 1;  ///< iterations of the innermost swept loop per round
  bool scans_ = false;
  std::optional<LoopVar> along_;  ///< besides the vector loop: that of tiles
  std::vector<Turn> turns_;       ///< matrices that are turned around first
  bool sinks_ = false;            ///< the vector loop goes inside the sweeps
  bool side_by_side_ = false;   ///< all rows of the vector loop are swept together, in memory or in registers
  bool lanes_outside_ = false;  ///< the vector loop has other row loops inside
};

}  // namespace

ScheduledKernel schedule_kernel(const FusedKernel& kernel, const std::vector<Layout>& layouts, const Cpu& cpu,
                                bool own_outputs, bool read_soon) {
  return Chooser(kernel, layouts, cpu, own_outputs, read_soon).run();
}

BlockKernel schedule_block_kernel(const FusedKernel& kernel, const std::vector<Layout>& layouts,
                                  const Cpu& cpu, int64_t block_columns, bool own_outputs,
                                  bool part_of_columns) {
  return Chooser(kernel, layouts, cpu, own_outputs, true).run_for_blocks(block_columns, part_of_columns);
}

}  // namespace tokamak
