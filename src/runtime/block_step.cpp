#include "runtime/block_step.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "runtime/buffer_pool.h"
#include "runtime/deep_product.h"
#include "runtime/mirror.h"
#include "runtime/program.h"
#include "runtime/running_operand.h"
#include "runtime/skipping.h"
#include "runtime/thread_pool.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

constexpr int64_t kAlign = 64;

/// Where a worker keeps the parts of one block.
struct ScratchLayout {
  struct Stage {
    int64_t lhs, rhs, sums, multiply, kernel, result;
    int64_t sums_row_bytes;
    bool windows;  ///< the second operand is
  };
  std::vector<Stage> stages;
  int64_t bytes = 0;

  int64_t take(int64_t size) {
    const int64_t at = bytes;
    bytes += round_up(size, kAlign);
    return at;
  }
};

/// Of an operand, or of the part of k that a method is made for.
int64_t bytes_of_panels(const ProductMethod& method, const BlockOperand& operand, bool is_lhs) {
  const Panels panels(method, is_lhs);
  return round_up(operand.copies * panels.count(operand.lines) * panels.bytes, kAlign);
}

bool is_checked(const BlockStep& step) {
  auto makes_checked = [](const BlockOperand& operand) {
    return operand.maker != nullptr && !operand.maker->sites.empty();
  };
  return std::ranges::any_of(step.stages, [&](const BlockStage& stage) {
    return !stage.sites.empty() || makes_checked(stage.lhs) || makes_checked(stage.rhs);
  });
}

class BlockRun {
 public:
  BlockRun(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check)
      : step_(step),
        memory_(memory),
        failed_check_(failed_check),
        slice_rows_(step.block_rows),
        checked_(is_checked(step) ? step.stages.size() : 0) {
    for (int64_t extent : step.batch) batch_ *= extent;
    if (step.visible != nullptr) skipping_.emplace(step);
    if (step.stages.size() == 1) slice_rows_ = even_slice(slice_rows_, *step.stages[0].method);
    if (step.mirrored_rows != 0) slice_rows_ = step.mirrored_rows;
    if (step.slice_rows != 0) slice_rows_ = step.slice_rows;
    for (const BlockStage& stage : step.stages) prepare_stage(stage);
  }

  void run() {
    run_parts();
    if (*failed_check_ != kFailedAccess) return;
    for (size_t i = 0; i < checked_.size(); ++i) {
      const BlockStage& stage = step_.stages[i];
      for (const RunningOperand* operand : {&stages_[i].lhs, &stages_[i].rhs}) {
        if (operand->maker) operand->maker->throw_reported();
      }
      if (!stage.sites.empty()) checked_[i].throw_reported(*stage.kernel, stage.sites);
    }
  }

  int64_t scratch_bytes() const {
    return std::max(scratch_.bytes * (is_shared() ? threads_ : 1), packing().scratch_bytes(threads_));
  }

 private:
  void run_parts() {
    if (step_.part_depth == 0) {
      pack_ahead();
      if (skipping_ && !skipping_->packs_with_blocks()) units_ = skipping_->units();
      run_blocks();
      return;
    }
    const RunningStage whole = stages_[0];
    for (first_k_ = 0; first_k_ < step_.stages[0].depth; first_k_ += step_.part_depth) {
      stages_[0] = whole;
      take_part(step_.stages[0].lhs, stages_[0].lhs);
      take_part(step_.stages[0].rhs, stages_[0].rhs);
      pack_ahead();
      run_blocks();
    }
  }

  /// The part of k at hand.
  void take_part(const BlockOperand& about, RunningOperand& running) const {
    if (about.packed && about.packed->kind == Place::Kind::constant) {
      const bool is_lhs = &about == &step_.stages[0].lhs;
      running.packed += first_k_ / step_.part_depth * bytes_of_panels(*step_.stages[0].method, about, is_lhs);
    } else {
      running.take_part(first_k_, step_.part_depth);
    }
  }

  /// Rows in whole panels of which as many as a call of multiply wants at most make up a block: no slice of
  /// it has few.
  static int64_t even_slice(int64_t block_rows, const ProductMethod& method) {
    const int64_t most = method.rows_at_once();
    if (block_rows <= most) return block_rows;
    const int64_t slices = (block_rows + most - 1) / most;
    return round_up((block_rows + slices - 1) / slices, method.a_panel());
  }

  int64_t block_count() const { return batch_ * blocks_before(row_blocks()); }
  /// Whether several threads work on it.
  bool is_shared() const { return block_count() > grain_for(step_.block_cost); }

  void run_blocks() {
    const int64_t tasks = block_count();
    const int64_t grain = grain_for(step_.block_cost);
    auto work = [&](int64_t begin, int64_t end, std::byte* scratch) {
      Worker worker(*this, scratch);
      if (is_plain_batch()) return worker.run_batch(begin, end);
      for (int64_t task = begin; task < end; ++task) worker.run_block(part(task));
    };
    if (!is_shared()) {
      work(0, tasks, static_cast<std::byte*>(scratch_for_this_thread(scratch_.bytes)));
      return;
    }
    std::byte* base = shared_scratch();
    ThreadPool::instance().run(
        tasks, grain,
        [&](int64_t begin, int64_t end, int worker) { work(begin, end, base + worker * scratch_.bytes); },
        threads_, step_.block_cost * static_cast<double>(tasks));
  }

  /// Whether each block is one of many products that are all there is to do.
  bool is_plain_batch() const {
    const BlockStage& stage = step_.stages[0];
    return step_.stages.size() == 1 && stage.code == nullptr && stage.method->takes_batches();
  }

  struct RunningStage {
    RunningOperand lhs;
    RunningOperand rhs;
    std::vector<void*> buffers;
    std::vector<int64_t> strides;
    std::vector<BufferExtent> extents;  ///< of code that is checked
  };
  /// Part of the result: element of the batch, rows and columns.
  struct Part {
    int64_t element, row, row_end, column, column_end;
  };

  bool is_last_part() const {
    return step_.part_depth == 0 || first_k_ + step_.part_depth >= step_.stages[0].depth;
  }
  int64_t columns() const { return step_.stages.back().columns; }
  int64_t row_blocks() const { return (step_.rows + step_.block_rows - 1) / step_.block_rows; }
  int64_t column_blocks(int64_t row_block) const {
    const int64_t wanted =
        step_.mirrored_rows == 0 ? columns() : std::min(columns(), (row_block + 1) * step_.block_rows);
    return (wanted + step_.block_columns - 1) / step_.block_columns;
  }
  /// Blocks of an element of the batch in its first row blocks.
  int64_t blocks_before(int64_t row_block) const {
    if (step_.mirrored_rows == 0) return row_block * column_blocks(0);
    int64_t count = 0;
    for (int64_t i = 0; i < row_block; ++i) count += column_blocks(i);
    return count;
  }

  Part part(int64_t task) const {
    const int64_t blocks = blocks_before(row_blocks());
    const int64_t block = task % blocks;
    int64_t row_block = step_.mirrored_rows == 0 ? block / column_blocks(0) : 0;
    while (blocks_before(row_block + 1) <= block) ++row_block;
    const int64_t row = row_block * step_.block_rows;
    const int64_t column = (block - blocks_before(row_block)) * step_.block_columns;
    return {task / blocks, row, std::min(row + step_.block_rows, step_.rows), column,
            std::min(column + step_.block_columns, columns())};
  }

  void prepare_stage(const BlockStage& stage) {
    RunningStage running;
    ScratchLayout::Stage at{};
    const bool is_last = &stage == &step_.stages.back();
    if (stage.method != nullptr) {
      running.lhs = RunningOperand(stage.lhs, memory_, failed_check_);
      running.rhs = RunningOperand(stage.rhs, memory_, failed_check_);
      const Panels lhs(*stage.method, true);
      const Panels rhs(*stage.method, false);
      const int64_t columns = is_last ? step_.block_columns : stage.columns;
      if (!stage.lhs.packed && !reads_lhs_in_rows(stage, running.lhs))
        at.lhs = scratch_.take(lhs.count(slice_rows_) * lhs.bytes);
      if (!stage.rhs.packed) {
        const int64_t windows =
            stage.rhs.windows ? stage.method->window_bytes(running.rhs.operand, columns) : 0;
        at.windows = windows != 0;
        at.rhs = scratch_.take(at.windows ? windows : rhs.count(columns) * rhs.bytes);
      }
      at.multiply = scratch_.take(stage.method->scratch_bytes());
      at.sums_row_bytes =
          stage.sums_in_result ? stage.stored.row_stride : round_up(columns * stage.element_bytes, kAlign);
      if (stage.keeps_sums()) at.sums = scratch_.take(slice_rows_ * at.sums_row_bytes);
    }
    if (stage.code != nullptr) {
      at.kernel = scratch_.take(stage.kernel->scratch_bytes);
      for (const Place& place : stage.buffers)
        running.buffers.push_back(place.kind == Place::Kind::block ? nullptr : memory_.find(place));
      for (size_t i = 0; i < stage.sites.size(); ++i)
        running.extents.push_back(memory_.extent_of(stage.buffers[i], stage.sites[i].bytes));
      if (stage.method != nullptr) running.strides = {0, at.sums_row_bytes, stage.element_bytes};
      for (int input : stage.strided_inputs) {
        const int64_t* strides = memory_.strides_of(input);
        running.strides.insert(running.strides.end(), strides, strides + memory_.rank_of(input));
      }
    }
    const bool over_sums = stage.over_sums && at.sums_row_bytes == stage.result_row_bytes;
    if (!is_last) at.result = over_sums ? at.sums : scratch_.take(slice_rows_ * stage.result_row_bytes);
    scratch_.stages.push_back(at);
    stages_.push_back(std::move(running));
  }

  /// Whether the first operand lies as the method takes it, and needs no room to be packed.
  bool reads_lhs_in_rows(const BlockStage& stage, const RunningOperand& lhs) const {
    if (!stage.lhs.in_rows) return false;
    if (!stage.lhs.is_fed()) return stage.method->row_stride_of(lhs.operand) != 0;
    const BlockStage& before = step_.stages[scratch_.stages.size() - 1];
    return stage.method->row_stride_of(fed_rows(before, slice_rows_, stage.depth, nullptr)) != 0;
  }

  /// Rows that a stage has made, or the first elements of each.
  static ProductOperand fed_rows(const BlockStage& before, int64_t rows, int64_t depth,
                                 const std::byte* data) {
    return {.dtype = before.result_dtype,
            .data = data,
            .lines = {{rows, before.result_row_bytes}},
            .contracted = {{depth, static_cast<int64_t>(size_of(before.result_dtype))}},
            .bounds = {}};
  }

  bool is_masked(size_t stage) const { return skipping_ && skipping_->is_masked(stage); }
  std::atomic<double>* largest_of(size_t stage, bool is_lhs) const {
    return skipping_ ? skipping_->largest_of(stage, is_lhs) : nullptr;
  }

  void pack_ahead() {
    const PackingAhead packing = this->packing();
    packing.run(packing.scratch_bytes(threads_) == 0 ? nullptr : shared_scratch(), threads_);
  }

  /// Of all threads, for packing and for blocks.
  std::byte* shared_scratch() {
    if (!borrowed_) borrowed_ = BufferPool::instance().borrow(scratch_bytes());
    return static_cast<std::byte*>(borrowed_.data());
  }

  PackingAhead packing() const {
    PackingAhead packing;
    auto add = [&](const ProductMethod& method, const RunningOperand& running, bool is_lhs,
                   std::atomic<double>* largest) {
      const std::optional<Place>& packed = running.about->packed;
      if (packed && packed->kind != Place::Kind::constant) packing.add(method, is_lhs, running, largest);
    };
    for (size_t i = 0; i < step_.stages.size(); ++i) {
      if (step_.stages[i].method == nullptr) continue;
      add(*step_.stages[i].method, stages_[i].lhs, true, largest_of(i, true));
      add(*step_.stages[i].method, stages_[i].rhs, false, largest_of(i, false));
    }
    return packing;
  }

  /// One thread at work, with copies of what it changes from block to block.
  class Worker {
   public:
    Worker(const BlockRun& run, std::byte* scratch)
        : run_(run), scratch_(scratch), stages_(run.stages_), units_(run.units_) {}

    /// Slice by slice: what is done to the sums finds them in the cache. The second operand is packed once.
    void run_block(const Part& part) {
      const int64_t first = first_row(part);
      if (packs_visible()) pack_visible(part.element);
      for (int64_t row = first; row < part.row_end; row += run_.slice_rows_) {
        Part slice = part;
        slice.row = row;
        slice.row_end = std::min(row + run_.slice_rows_, part.row_end);
        is_first_slice_ = row == first;
        is_only_slice_ = is_first_slice_ && slice.row_end == part.row_end;
        if (is_mirrored()) slice.column_end = std::min(slice.column_end, slice.row_end);
        run_slice(slice);
        if (is_mirrored() && run_.is_last_part()) mirror_left_of_square(slice);
      }
    }

    /// Elements [begin, end) of a batch: runs along its last axis.
    void run_batch(int64_t begin, int64_t end) {
      const BlockStage& stage = run_.step_.stages[0];
      const std::vector<StoredSums::Axis>& stored = stage.stored.batch;
      auto stride = [](const auto& axes) { return axes.empty() ? 0 : axes.back().stride; };
      for (int64_t element = begin; element < end;) {
        const int64_t left = stored.empty() ? 1 : stored.back().extent - element % stored.back().extent;
        const ProductBatch batch{std::min(left, end - element), stride(stages_[0].lhs.batch),
                                 stride(stages_[0].rhs.batch), stride(stored)};
        auto* sums = static_cast<std::byte*>(run_.memory_.find(stage.result)) + offset_of(element, stored);
        stage.method->multiply_batch(operand_of(0, true, element), operand_of(0, false, element), batch, sums,
                                     stage.stored.row_stride);
        element += batch.count;
      }
    }

   private:
    bool is_mirrored() const { return run_.step_.mirrored_rows != 0; }

    /// All columns of the scores and all values, of which slices of rows then use what they see.
    void pack_visible(int64_t element) {
      for (size_t i = stages_.size() - 2; i < stages_.size(); ++i) {
        const BlockStage& stage = run_.step_.stages[i];
        const Panels panels(*stage.method, false);
        std::byte* to = scratch_ + run_.scratch_.stages[i].rhs;
        pack(*stage.method, false, operand_of(i, false, element), 0, panels.count(stage.columns), to);
        if (i + 1 == stages_.size())
          units_ = run_.skipping_->units_for(stage.method->largest_of_b(to, panels.count(stage.columns)));
      }
    }
    bool packs_visible() const { return run_.skipping_ && run_.skipping_->packs_with_blocks(); }
    bool is_packed_visible(size_t i) const { return packs_visible() && i + 2 >= stages_.size(); }

    /// The square of these rows on the diagonal is computed whole, by whoever has its columns.
    void mirror_left_of_square(const Part& part) const {
      const BlockStage& stage = run_.step_.stages[0];
      const int64_t end = std::max(std::min(part.column_end, part.row), part.column);
      mirror(static_cast<std::byte*>(run_.memory_.find(stage.result)), stage.stored.row_stride,
             stage.element_bytes, {part.row, part.row_end, part.column, end});
    }

    /// The first slice that has anything to compute: above the diagonal there is nothing.
    int64_t first_row(const Part& part) const {
      if (!is_mirrored() || part.column < part.row) return part.row;
      return part.row + (part.column - part.row) / run_.slice_rows_ * run_.slice_rows_;
    }

    void run_slice(const Part& part) {
      std::byte* made = nullptr;  // the rows that the stage before has made
      if (run_.skipping_) visible_ = run_.skipping_->columns(part.row, part.row_end, units_);
      for (size_t i = 0; i < stages_.size(); ++i) {
        const bool is_last = i + 1 == stages_.size();
        Part own = part;
        if (!is_last) {
          own.column = 0;
          own.column_end = run_.step_.stages[i].columns;
        }
        if (run_.is_masked(i)) {
          own.column = visible_.first;
          own.column_end = visible_.end;
        }
        std::byte* sums = nullptr;
        if (run_.step_.stages[i].method != nullptr) sums = multiply(i, own, made);
        made = scratch_ + run_.scratch_.stages[i].result;
        if (run_.step_.stages[i].code != nullptr && run_.is_last_part())
          run_kernel(i, own, sums, is_last ? nullptr : made);
      }
    }

    /// Whether the stage before has made a part of the columns only.
    bool is_fed_part(size_t i) const { return i > 0 && run_.is_masked(i - 1); }

    std::byte* multiply(size_t i, const Part& part, std::byte* fed) {
      const BlockStage& stage = run_.step_.stages[i];
      const ScratchLayout::Stage& at = run_.scratch_.stages[i];
      if (stage.lhs.is_fed()) {
        const int64_t depth = is_fed_part(i) ? visible_.end : stage.depth;
        stages_[i].lhs.operand = fed_rows(run_.step_.stages[i - 1], part.row_end - part.row, depth, fed);
      }
      std::byte* sums = scratch_ + at.sums;
      if (run_.is_masked(i)) sums += part.column * stage.element_bytes;  // each column in its place
      int64_t row_bytes = at.sums_row_bytes;
      if (!stage.keeps_sums()) {
        row_bytes = stage.stored.row_stride;
        sums = static_cast<std::byte*>(run_.memory_.find(stage.result)) +
               offset_of(part.element, stage.stored.batch) + part.row * row_bytes +
               part.column * stage.element_bytes;
      }
      if (stage.method->takes_batches()) {
        stage.method->multiply_batch(operand_of(i, true, part.element), operand_of(i, false, part.element),
                                     {.count = 1, .a_stride = 0, .b_stride = 0, .c_stride = 0}, sums,
                                     row_bytes);
        return sums;
      }
      if (stage.method->reads_in_place()) {
        stage.method->multiply_in_place(operand_of(i, true, part.element), operand_of(i, false, part.element),
                                        part.column, part.column_end - part.column, sums,
                                        scratch_ + at.multiply);
        return sums;
      }
      const int64_t rows = part.row_end - part.row;
      const int64_t columns = part.column_end - part.column;
      const std::byte* lhs = nullptr;
      const int64_t lhs_row_bytes = at.windows ? 0 : rows_of_lhs(i, part, lhs);
      const bool lhs_in_rows = lhs_row_bytes != 0;
      if (!lhs_in_rows) lhs = packed(i, true, part.element, part.row, part.row_end);
      if (at.windows) {
        const ProductOperand& operand = operand_of(i, false, part.element);
        if (is_first_slice_) stage.method->pack_windows(operand, part.column, columns, scratch_ + at.rhs);
        stage.method->multiply_windows(lhs, operand, scratch_ + at.rhs, part.column, rows, columns, sums,
                                       row_bytes);
        return sums;
      }
      if (!stage.rhs.packed && is_only_slice_ && run_.first_k_ == 0 && !is_packed_visible(i)) {
        const ProductOperand& operand = operand_of(i, false, part.element);
        if (stage.method->packs_on_the_way(operand, rows)) {
          stage.method->multiply_packing(lhs, lhs_row_bytes, operand, part.column, scratch_ + at.rhs, rows,
                                         columns, sums, row_bytes);
          return sums;
        }
      }
      const std::byte* rhs = packed(i, false, part.element, part.column, part.column_end);
      if (run_.first_k_ != 0) {
        stage.method->multiply_adding(lhs, rhs, rows, columns, sums, row_bytes);
      } else if (is_fed_part(i)) {
        stage.method->multiply_part(lhs, lhs_row_bytes, rhs, visible_.first, visible_.end, rows, columns,
                                    sums, row_bytes);
      } else if (lhs_in_rows) {
        stage.method->multiply_rows(lhs, lhs_row_bytes, rhs, rows, columns, sums, row_bytes,
                                    scratch_ + at.multiply);
      } else {
        stage.method->multiply(lhs, rhs, rows, columns, sums, row_bytes, scratch_ + at.multiply);
      }
      return sums;
    }

    /// Bytes from one row of the first operand to the next where it is multiplied as it is, and where its
    /// rows begin; 0 where it is not.
    int64_t rows_of_lhs(size_t i, const Part& part, const std::byte*& rows) {
      const BlockStage& stage = run_.step_.stages[i];
      if (stage.lhs.packed || !stage.lhs.in_rows) return 0;
      const ProductOperand& operand = operand_of(i, true, part.element);
      const int64_t row_bytes = stage.method->row_stride_of(operand);
      const bool is_block = stage.lhs.place.kind == Place::Kind::block;  // which has these rows and no others
      rows = static_cast<const std::byte*>(operand.data) + (is_block ? 0 : part.row) * row_bytes;
      return row_bytes;
    }

    const std::byte* packed(size_t i, bool is_lhs, int64_t element, int64_t first, int64_t last) {
      const BlockStage& stage = run_.step_.stages[i];
      RunningOperand& running = is_lhs ? stages_[i].lhs : stages_[i].rhs;
      const BlockOperand& about = *running.about;
      const Panels panels(*stage.method, is_lhs);
      const int64_t first_panel = first / panels.width;
      if (about.packed) {
        const int64_t copy = about.copies == 1 ? 0 : element;
        return running.packed + (copy * panels.count(about.lines) + first_panel) * panels.bytes;
      }
      const ScratchLayout::Stage& at = run_.scratch_.stages[i];
      std::byte* to = scratch_ + (is_lhs ? at.lhs : at.rhs);
      if (!is_lhs && is_packed_visible(i)) return to + first_panel * panels.bytes;
      if (about.place.kind == Place::Kind::block) {  // the block has these rows and no others
        pack(*stage.method, is_lhs, running.operand, 0, panels.count(last - first), to);
        return to;
      }
      if (!is_lhs && !is_first_slice_) return to;
      const ProductOperand& operand = operand_of(i, is_lhs, element);
      if (first % panels.width == 0) {
        pack(*stage.method, is_lhs, operand, first_panel, panels.count(last), to);
      } else {
        pack(*stage.method, is_lhs, lines_from(operand, first), 0, panels.count(last - first), to);
      }
      return to;
    }

    /// The operand as it is for an element of the batch.
    const ProductOperand& operand_of(size_t i, bool is_lhs, int64_t element) {
      RunningOperand& running = is_lhs ? stages_[i].lhs : stages_[i].rhs;
      if (running.about->place.kind != Place::Kind::block) {
        const RunningOperand& original = is_lhs ? run_.stages_[i].lhs : run_.stages_[i].rhs;
        running.operand.data =
            static_cast<const std::byte*>(original.operand.data) + offset_of(element, running.batch);
      }
      return running.operand;
    }

    /// Rows of arrays are numbered over all of the result: a block's address is that of the row 0 and column
    /// 0 it would have.
    void run_kernel(size_t i, const Part& part, std::byte* sums, std::byte* made) {
      const BlockStage& stage = run_.step_.stages[i];
      const ScratchLayout::Stage& at = run_.scratch_.stages[i];
      RunningStage& running = stages_[i];
      const int64_t first_row = part.element * run_.step_.rows + part.row;
      const int64_t end_row = part.element * run_.step_.rows + part.row_end;
      if (sums != nullptr) {
        running.buffers[0] = sums - part.row * at.sums_row_bytes - part.column * stage.element_bytes;
        if (!stage.sites.empty()) running.extents[0] = rows_at(at.sums, at.sums_row_bytes);
      }
      if (made != nullptr) {
        const auto block =
            std::find_if(stage.buffers.begin() + (sums != nullptr ? 1 : 0), stage.buffers.end(),
                         [](const Place& place) { return place.kind == Place::Kind::block; });
        const auto number = static_cast<size_t>(block - stage.buffers.begin());
        running.buffers[number] = made - first_row * stage.result_row_bytes;
        if (!stage.sites.empty())
          running.extents[number] = rows_at(run_.scratch_.stages[i].result, stage.result_row_bytes);
      }
      KernelFrame frame{running.buffers.data(), running.strides.data(), run_.failed_check_};
      if (!stage.sites.empty()) {
        frame.extents = running.extents.data();
        frame.report = &run_.checked_[i].report;
      }
      const bool is_part = stage.kernel->range.has_value();
      if (is_part) {
        frame.first = part.column / stage.kernel->range->first_unit;
        frame.end = part.column_end / stage.kernel->range->end_unit;
      }
      const NestFunction function = stage.code->nests()[0];
      std::byte* scratch = scratch_ + at.kernel;
      const int64_t per_row = stage.tasks_per_row;
      if (is_part || (part.column == 0 && part.column_end == stage.columns)) {
        function(&frame, first_row * per_row, end_row * per_row, scratch);
        return;
      }
      const int64_t first = part.column / stage.columns_per_task;
      const int64_t end = (part.column_end + stage.columns_per_task - 1) / stage.columns_per_task;
      for (int64_t row = first_row; row < end_row; ++row)
        function(&frame, row * per_row + first, row * per_row + end, scratch);
    }

    /// The rows of a block, in this worker's memory.
    BufferExtent rows_at(int64_t offset, int64_t row_bytes) const {
      return {scratch_ + offset, scratch_ + offset + run_.slice_rows_ * row_bytes};
    }

    const BlockRun& run_;
    std::byte* scratch_;
    std::vector<RunningStage> stages_;
    SkippedUnits units_;
    ColumnRange visible_{};  ///< of the scores of the slice
    bool is_first_slice_ = true;
    bool is_only_slice_ = true;
  };

  const BlockStep& step_;
  const BlockMemory& memory_;
  int32_t* failed_check_;
  const int threads_ = ThreadPool::instance().num_threads();  ///< may be set anew meanwhile
  int64_t slice_rows_;  ///< of a block that are worked on at once
  int64_t batch_ = 1;
  int64_t first_k_ = 0;               ///< of the part of k that is being summed
  std::optional<Skipping> skipping_;  ///< where a mask hides columns
  SkippedUnits units_;                ///< of all elements of the batch
  std::vector<RunningStage> stages_;
  mutable std::vector<CheckedKernel> checked_;  ///< by stage, if code of some is checked
  ScratchLayout scratch_;
  Block borrowed_;  ///< see shared_scratch
};

}  // namespace

void run_block_step(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check) {
  if (step.chunk_depth != 0) return run_deep_product(step, memory, failed_check);
  BlockRun(step, memory, failed_check).run();
}

int64_t block_scratch_bytes(const BlockStep& step, const BlockMemory& memory) {
  if (step.chunk_depth != 0) return deep_product_scratch_bytes(step, memory);
  return BlockRun(step, memory, nullptr).scratch_bytes();
}

int64_t packed_bytes(const ProductMethod& method, const BlockOperand& operand, bool is_lhs) {
  return bytes_of_panels(method, operand, is_lhs) + kAlign;
}

Tensor packed_operand(const ProductMethod& method, const BlockOperand& operand, bool is_lhs, int64_t depth,
                      int64_t part_depth, const void* array) {
  const int64_t step = part_depth == 0 ? std::max<int64_t>(depth, 1) : part_depth;
  const int64_t part_bytes = bytes_of_panels(method, operand, is_lhs);
  const int64_t parts = std::max<int64_t>(parts_of(depth, step), 1);
  Tensor packed({DType::u8, {parts * part_bytes + kAlign}});
  std::byte* to = aligned(packed.mutable_data());
  for (int64_t part = 0; part < parts; ++part) {
    RunningOperand running(operand, array, operand.strides.data());
    if (part_depth != 0) running.take_part(part * step, step);
    running.packed = to + part * part_bytes;
    PackingAhead packing;
    packing.add(method, is_lhs, running, nullptr);
    packing.run(nullptr, ThreadPool::instance().num_threads());
  }
  return packed;
}

}  // namespace tokamak
