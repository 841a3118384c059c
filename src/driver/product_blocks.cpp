#include "driver/product_blocks.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/thread_pool.h"
#include "support/cache_line.h"
#include "support/rounding.h"

namespace tokamak {

BlockChoice::BlockChoice(const FusedKernel& kernel, CompiledProduct& product, const Cpu& cpu)
    : kernel_(kernel), shape_(product_shape(kernel.body, *kernel.product)), result_(product), cpu_(cpu) {}

void BlockChoice::choose(const CompiledStage& stage) {
  result_.block_rows = round_up(shape_.rows, stage.method->a_panel());
  result_.block_columns = shape_.columns;
  column_unit_ = stage.method->b_panel();
  if (is_mirrored(kernel_.body, *kernel_.product)) {
    choose_half(stage);
  } else if (kernel_.domain.has_sweep || kernel_.feeder != nullptr) {
    choose_whole_rows(stage);
  } else if (stage.method->reads_in_place()) {
    choose_long_runs();
  } else if (stage.method->windows_at_once() != 0) {
    choose_windows(stage);
  } else if (stage.lhs.in_rows && is_small(stage)) {
    choose_columns(stage);
  } else {
    choose_tiles(stage);
  }
}

int64_t BlockChoice::threads() { return std::max<int64_t>(ThreadPool::instance().num_threads(), 2); }

int64_t BlockChoice::enough_blocks() { return 4 * threads(); }

void BlockChoice::choose_whole_rows(const CompiledStage& stage) {
  const auto element = static_cast<int64_t>(size_of(stage.sums));
  int64_t panel = stage.method->a_panel();  // of all stages: blocks start where panels do
  for (const CompiledStage& before : result_.stages) {
    if (before.method != nullptr) panel = std::lcm(panel, before.method->a_panel());
  }
  int64_t row_bytes = shape_.depth * element;
  for (const CompiledStage& before : result_.stages) {
    if (!before.over_sums) row_bytes += before.columns * static_cast<int64_t>(size_of(before.result.dtype));
  }
  if (kernel_.domain.has_sweep) row_bytes += shape_.columns * element;
  int64_t most = round_down(cpu_.l2_bytes / 2 / std::max<int64_t>(row_bytes, 1), panel);
  const int64_t beside = round_down(
      (cpu_.l2_bytes * 5 / 8 - bytes_all_rows_read(stage)) / std::max<int64_t>(row_bytes, 1), panel);
  if (beside >= 4 * panel) most = std::min(most, beside);
  const int64_t fair = round_up((shape_.batch * shape_.rows + enough_blocks() - 1) / enough_blocks(), panel);
  int64_t rows = std::min({most, 32 * panel, std::max(fair, 4 * panel)});
  if (is_masked())  // few rows have more columns in common that none of them sees
    rows = std::min(rows, std::max(round_down(shape_.rows / 32, panel), 4 * panel));
  result_.block_rows = std::min(rows, round_up(shape_.rows, panel));
  if (!are_fair_elements() || !changes_with_elements(stage)) return;
  // A slice has rows enough that what is packed is read from the second cache not much more often; more rows
  // are no faster, and each thread has memory for them.
  const int64_t enough = round_down(cpu_.l2_bytes / 32 / std::max<int64_t>(row_bytes, 1), panel);
  result_.slice_rows = std::min(result_.block_rows, std::max(enough, 4 * panel));
  result_.block_rows = round_up(shape_.rows, panel);
}

int64_t BlockChoice::bytes_all_rows_read(const CompiledStage& last) const {
  const auto bytes = [](const CompiledStage& stage) {
    return stage.method == nullptr ? 0
                                   : stage.columns * stage.depth * static_cast<int64_t>(size_of(stage.sums));
  };
  int64_t before = 0;
  for (const CompiledStage& stage : result_.stages) before += bytes(stage);
  return before == 0 ? 0 : before + bytes(last);
}

bool BlockChoice::are_fair_elements() const {
  return shape_.batch >= 2 * enough_blocks() ||
         (shape_.batch >= enough_blocks() && shape_.batch % threads() == 0);
}

bool BlockChoice::changes_with_elements(const CompiledStage& last) const {
  const auto changes = [this](const CompiledStage& stage) {
    return stage.method == nullptr || (is_packed_with_blocks(stage.rhs, true) && !stage.bounded);
  };
  return changes(last) && std::ranges::all_of(result_.stages, changes);
}

bool BlockChoice::is_masked() const {
  return std::any_of(result_.stages.begin(), result_.stages.end(),
                     [](const CompiledStage& stage) { return stage.masked; });
}

bool BlockChoice::is_small(const CompiledStage& stage) const {
  return shape_.rows <= stage.method->rows_at_once() &&
         stage.depth * shape_.rows * static_cast<int64_t>(size_of(stage.lhs.dtype)) <= cpu_.l2_bytes * 5 / 8;
}

bool BlockChoice::is_read_seldom(const CompiledStage& stage) {
  return stage.columns <= 2 * stage.method->b_panel();
}

void BlockChoice::choose_columns(const CompiledStage& stage) {
  constexpr int64_t kFewColumns = 48;
  column_unit_ = column_unit(stage);
  const int64_t fair = std::max<int64_t>(1, 2 * threads() / std::gcd(2 * threads(), shape_.batch));
  const int64_t blocks = std::clamp<int64_t>(fair, 1, std::max<int64_t>(1, shape_.columns / kFewColumns));
  result_.block_columns = std::min(round_up(parts_of(shape_.columns, blocks), column_unit_), shape_.columns);
}

void BlockChoice::choose_long_runs() {
  constexpr int64_t kUnit = 64;
  constexpr int64_t kLongRun = 256;
  const int64_t parts = threads() / std::gcd(threads(), std::max<int64_t>(shape_.batch, 1));
  const int64_t fair = round_up(parts_of(shape_.columns, parts), kUnit);
  result_.block_columns = std::min(std::max(fair, kLongRun), shape_.columns);
}

void BlockChoice::choose_half(const CompiledStage& stage) {
  constexpr int64_t kMostRows = 516;
  constexpr int64_t kFewRows = 96;
  if (shape_.rows < 4 * kFewRows) {
    const int64_t square = std::lcm(stage.method->a_panel(), stage.method->b_panel());
    result_.mirrored_rows = round_up(kFewRows / 2, square);
    result_.block_rows = round_up(shape_.rows, result_.mirrored_rows);
    result_.block_columns = result_.mirrored_rows;
    return;
  }
  const auto element = static_cast<int64_t>(size_of(stage.sums));
  const int64_t rows = round_down(std::min(stage.method->rows_at_once(), kFewRows), stage.method->a_panel());
  result_.mirrored_rows = rows;
  result_.block_rows = rows * std::clamp<int64_t>(shape_.rows / (4 * rows), 1, kMostRows / rows);
  const int64_t columns =
      std::clamp<int64_t>((int64_t{2} << 20) / (shape_.depth * element), kFewRows, shape_.columns / 4);
  result_.block_columns = round_down(columns, stage.method->b_panel());
}

void BlockChoice::choose_windows(const CompiledStage& stage) {
  constexpr int64_t kFewRows = 60;
  constexpr int64_t kFewColumns = 128;
  const int64_t unit = stage.method->b_panel();
  const int64_t units = parts_of(shape_.columns, unit);
  int64_t units_at_once = stage.method->windows_at_once() / unit;
  int64_t row_blocks = 1;
  auto unfair = [&] {
    const int64_t blocks = shape_.batch * row_blocks * parts_of(units, units_at_once);
    return blocks < 2 * threads() || (blocks < 8 * threads() && blocks % threads() != 0);
  };
  while (unfair() && (units_at_once - 1) * unit >= kFewColumns) --units_at_once;
  while (unfair() && shape_.rows / (row_blocks + 1) >= kFewRows) ++row_blocks;
  result_.block_rows = round_up(parts_of(shape_.rows, row_blocks), stage.method->a_panel());
  result_.block_columns = std::min(units_at_once * unit, shape_.columns);
}

void BlockChoice::choose_tiles(const CompiledStage& stage) {
  if (shape_.rows == 0 || shape_.columns == 0) return;  // one block, of nothing
  constexpr int64_t kMostRows = 516;
  constexpr int64_t kFewRows = 132;
  constexpr int64_t kFewColumns = 64;
  constexpr int64_t kPackedAhead = 2 << 20;  // bytes of the columns of a block
  constexpr int64_t kOfAThread = 1 << 20;    // where each thread packs its own
  const int64_t panel = stage.method->a_panel();
  const auto element = static_cast<int64_t>(size_of(stage.sums));
  const bool brief = shape_.rows <= stage.method->rows_at_once() && stage.rhs.read.contracted.size() > 1;
  const bool windows = stage.rhs.windows;
  const int64_t column_elements =
      windows ? std::min(shape_.rows, stage.method->rows_at_once()) : shape_.depth;
  const auto most_columns_of = [&](int64_t column_bytes) {
    const int64_t most = std::clamp<int64_t>(column_bytes / std::max<int64_t>(column_elements * element, 1),
                                             windows || brief ? kFewColumns : 192, 1024);
    if (stage.only_stores) return most;
    // What is done to the sums is to find them in the second cache.
    const int64_t rows = std::clamp<int64_t>(shape_.rows, 1, stage.method->rows_at_once());
    return std::min(most, std::max(cpu_.l2_bytes / 2 / (rows * element), kFewColumns));
  };
  const int64_t row_blocks = std::max<int64_t>(1, parts_of(shape_.rows, round_down(kMostRows, panel)));
  const int64_t most_row_blocks = std::max(row_blocks, parts_of(shape_.rows, kFewRows));
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = row_blocks; i <= most_row_blocks; ++i) {
    const int64_t unit = i == 1 ? column_unit(stage) : stage.method->b_panel();
    const int64_t most_columns = most_columns_of(windows  ? cpu_.l2_bytes / 4
                                                 : brief  ? cpu_.l2_bytes / 2
                                                 : i == 1 ? kOfAThread
                                                          : kPackedAhead);
    const int64_t column_blocks =
        std::max<int64_t>(1, parts_of(shape_.columns, round_down(most_columns, unit)));
    const int64_t most_column_blocks = std::max(column_blocks, parts_of(shape_.columns, kFewColumns));
    for (int64_t j = column_blocks; j <= most_column_blocks; ++j) {
      const int64_t rows = round_up(parts_of(shape_.rows, i), panel);
      const int64_t columns = std::min(round_up(parts_of(shape_.columns, j), unit), shape_.columns);
      const double cost = cost_of_blocks(rows, columns);
      if (cost < least) {
        least = cost;
        result_.block_rows = rows;
        result_.block_columns = columns;
        column_unit_ = unit;
      }
      if (shape_.batch * i * j > many_blocks()) break;  // more are no better
    }
  }
}

int64_t BlockChoice::column_unit(const CompiledStage& stage) const {
  if (!stage.rhs.in_columns || !is_packed_with_blocks(stage.rhs, true)) return stage.method->b_panel();
  return kCacheLine / static_cast<int64_t>(size_of(stage.rhs.dtype));
}

int64_t BlockChoice::many_blocks() { return 4 * enough_blocks(); }

double BlockChoice::cost_of_blocks(int64_t block_rows, int64_t block_columns) const {
  constexpr double kOfBlock = 0.002;
  constexpr double kOfTooFew = 0.02;
  constexpr double kRowsOfPacking = 20;
  const int64_t rows = parts_of(shape_.rows, block_rows);
  const int64_t columns = parts_of(shape_.columns, block_columns);
  const int64_t blocks = shape_.batch * rows * columns;
  const double packing = rows > 1 ? kRowsOfPacking / static_cast<double>(shape_.rows) : 0;
  const double few = blocks < 2 * threads() ? kOfTooFew : 0;
  const double all = kOfBlock * static_cast<double>(blocks) + packing + few;
  if (blocks > many_blocks()) return 1 + all;
  std::vector<int64_t> busy(static_cast<size_t>(threads()), 0);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t row = block / columns % rows * block_rows;
    const int64_t column = block % columns * block_columns;
    *std::ranges::min_element(busy) +=
        std::min(block_rows, shape_.rows - row) * std::min(block_columns, shape_.columns - column);
  }
  const int64_t fair = shape_.batch * shape_.rows * shape_.columns;
  return static_cast<double>(*std::ranges::max_element(busy) * threads()) /
             static_cast<double>(std::max<int64_t>(fair, 1)) +
         all;
}

bool BlockChoice::is_packed_with_blocks(const CompiledOperand& operand, bool used_once) const {
  return operand.maker == nullptr && used_once && operand.copies == shape_.batch && !operand.is_constant;
}

void BlockChoice::decide_packing(CompiledStage& stage, int64_t block_columns) const {
  if (stage.method == nullptr || stage.method->reads_in_place()) return;
  stage.lhs.in_rows = stage.lhs.in_rows && (is_small(stage) || is_read_seldom(stage));
  stage.lhs.ahead = !stage.lhs.is_fed && !stage.lhs.in_rows &&
                    !is_packed_with_blocks(stage.lhs, block_columns >= stage.columns);
  stage.rhs.ahead = stage.method->windows_at_once() == 0 &&
                    !is_packed_with_blocks(stage.rhs, result_.block_rows >= shape_.rows);
  const bool is_of_mask = is_masked() && (stage.masked || &stage == &result_.stages.back());
  if (is_of_mask && result_.slice_rows == 0) stage.rhs.ahead = true;
  if (stage.masked && stage.bounded) {
    stage.lhs.in_rows = false;
    stage.lhs.ahead = true;
  }
}

void BlockChoice::align_columns(const CompiledStage& stage) {
  if (result_.block_columns >= shape_.columns || stage.row_code.code == nullptr) return;
  const int64_t unit = std::lcm(stage.row_code.columns_per_task, column_unit_);
  result_.block_columns = std::min(round_up(result_.block_columns, unit), shape_.columns);
}

}  // namespace tokamak
