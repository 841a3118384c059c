#include "runtime/block_step.h"

#include <algorithm>

#include "runtime/buffer_pool.h"
#include "runtime/program.h"
#include "runtime/thread_pool.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

constexpr int64_t kAlign = 64;

/// An operand at one run: strides and addresses are known.
struct RunningOperand {
  ProductOperand operand;  ///< of the first element of the batch
  std::vector<ProductAxis> batch;
  const BlockOperand* about = nullptr;
  std::byte* packed = nullptr;

  /// Bytes from the first element of the batch to another.
  int64_t offset_of(int64_t element) const {
    int64_t offset = 0;
    for (size_t i = batch.size(); i-- > 0;) {
      offset += element % batch[i].extent * batch[i].stride;
      element /= batch[i].extent;
    }
    return offset;
  }
};

int64_t address_step(const std::vector<int64_t>& coefficients, const int64_t* strides) {
  int64_t step = 0;
  for (size_t axis = 0; axis < coefficients.size(); ++axis) step += coefficients[axis] * strides[axis];
  return step;
}

RunningOperand prepare(const BlockOperand& about, const void* array, const int64_t* strides) {
  RunningOperand running;
  running.about = &about;
  const OperandRead& read = about.read;
  running.operand.dtype = about.dtype;
  running.operand.data = static_cast<const std::byte*>(array) + address_step(read.offsets, strides);
  auto axes = [&](const std::vector<OperandRead::Axis>& from) {
    std::vector<ProductAxis> to;
    for (const OperandRead::Axis& axis : from)
      to.push_back({axis.extent, address_step(axis.coefficients, strides)});
    return to;
  };
  running.batch = axes(read.batch);
  running.operand.lines = axes(read.lines);
  running.operand.contracted = axes(read.contracted);
  for (const OperandRead::Bound& bound : read.bounds)
    running.operand.bounds.push_back({bound.offset, bound.coefficients, bound.extent});
  return running;
}

struct Panels {
  int64_t width;  ///< lines of a panel
  int64_t bytes;

  Panels(const ProductMethod& method, bool is_lhs)
      : width(is_lhs ? method.a_panel() : method.b_panel()),
        bytes(is_lhs ? method.a_panel_bytes() : method.b_panel_bytes()) {}
  int64_t count(int64_t lines) const { return (lines + width - 1) / width; }
};

void pack(const ProductMethod& method, bool is_lhs, const ProductOperand& operand, int64_t first,
          int64_t last, void* packed) {
  is_lhs ? method.pack_a(operand, first, last, packed) : method.pack_b(operand, first, last, packed);
}

/// The first address from `memory` on that packed operands may start at.
std::byte* aligned(void* memory) {
  return reinterpret_cast<std::byte*>(  // NOLINT: an address is rounded
      round_up(reinterpret_cast<int64_t>(memory), kAlign));
}

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

class BlockRun {
 public:
  BlockRun(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check)
      : step_(step), memory_(memory), failed_check_(failed_check), slice_rows_(step.block_rows) {
    for (int64_t extent : step.batch) batch_ *= extent;
    if (step.stages.size() == 1) slice_rows_ = std::min(slice_rows_, step.stages[0].method->rows_at_once());
    if (step.mirrored_rows != 0) slice_rows_ = step.mirrored_rows;
    for (const BlockStage& stage : step.stages) prepare_stage(stage);
  }

  void run() {
    pack_ahead();
    const int64_t tasks = batch_ * blocks_before(row_blocks());
    const int64_t grain = grain_for(step_.block_cost);
    auto work = [&](int64_t begin, int64_t end, std::byte* scratch) {
      Worker worker(*this, scratch);
      for (int64_t task = begin; task < end; ++task) worker.run_block(part(task));
    };
    if (tasks <= grain) {
      work(0, tasks, static_cast<std::byte*>(scratch_for_this_thread(scratch_.bytes)));
      return;
    }
    ThreadPool& pool = ThreadPool::instance();
    const int workers = pool.num_threads();
    const Block scratch = BufferPool::instance().allocate(scratch_.bytes * workers);
    auto* base = static_cast<std::byte*>(scratch.data());
    pool.run(
        tasks, grain,
        [&](int64_t begin, int64_t end, int worker) { work(begin, end, base + worker * scratch_.bytes); },
        workers);
  }

 private:
  struct RunningStage {
    RunningOperand lhs;
    RunningOperand rhs;
    std::vector<void*> buffers;
    std::vector<int64_t> strides;
  };
  /// Part of the result: element of the batch, rows and columns.
  struct Part {
    int64_t element, row, row_end, column, column_end;
  };

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
      running.lhs = prepare_operand(stage.lhs);
      running.rhs = prepare_operand(stage.rhs);
      const Panels lhs(*stage.method, true);
      const Panels rhs(*stage.method, false);
      const int64_t columns = is_last ? step_.block_columns : stage.columns;
      if (!stage.lhs.packed) at.lhs = scratch_.take(lhs.count(slice_rows_) * lhs.bytes);
      if (!stage.rhs.packed) {
        const int64_t windows =
            stage.rhs.windows ? stage.method->window_bytes(running.rhs.operand, columns) : 0;
        at.windows = windows != 0;
        at.rhs = scratch_.take(at.windows ? windows : rhs.count(columns) * rhs.bytes);
      }
      at.multiply = scratch_.take(stage.method->scratch_bytes());
      at.sums_row_bytes = round_up(columns * stage.element_bytes, kAlign);
      if (stage.code != nullptr) at.sums = scratch_.take(slice_rows_ * at.sums_row_bytes);
    }
    if (stage.code != nullptr) {
      at.kernel = scratch_.take(stage.kernel->scratch_bytes);
      for (const Place& place : stage.buffers)
        running.buffers.push_back(place.kind == Place::Kind::block ? nullptr : memory_.find(place));
      if (stage.method != nullptr) running.strides = {0, at.sums_row_bytes, stage.element_bytes};
      for (int input : stage.strided_inputs) {
        const int64_t* strides = memory_.strides_of(input);
        running.strides.insert(running.strides.end(), strides, strides + memory_.rank_of(input));
      }
    }
    if (!is_last) at.result = scratch_.take(slice_rows_ * stage.result_row_bytes);
    scratch_.stages.push_back(at);
    stages_.push_back(std::move(running));
  }

  RunningOperand prepare_operand(const BlockOperand& about) const {
    RunningOperand running;
    running.about = &about;
    if (about.place.kind != Place::Kind::block) {
      const int64_t* strides =
          about.strided_input < 0 ? about.strides.data() : memory_.strides_of(about.strided_input);
      running = prepare(about, memory_.find(about.place), strides);
    }
    if (about.packed) running.packed = aligned(memory_.find(*about.packed));
    return running;
  }

  /// An operand that is packed before the blocks run: panels [first, first + count) of all that are.
  struct Ahead {
    const ProductMethod& method;
    bool is_lhs;
    const RunningOperand& running;
    Panels panels;
    int64_t first;
    int64_t count;
  };

  std::vector<Ahead> packed_ahead() const {
    std::vector<Ahead> all;
    int64_t first = 0;
    auto add = [&](const ProductMethod& method, const RunningOperand& running, bool is_lhs) {
      const BlockOperand& about = *running.about;
      if (!about.packed || about.packed->kind == Place::Kind::constant) return;
      const Panels panels(method, is_lhs);
      const int64_t count = about.copies * panels.count(about.lines);
      all.push_back({method, is_lhs, running, panels, first, count});
      first += count;
    };
    for (size_t i = 0; i < step_.stages.size(); ++i) {
      if (step_.stages[i].method == nullptr) continue;
      add(*step_.stages[i].method, stages_[i].lhs, true);
      add(*step_.stages[i].method, stages_[i].rhs, false);
    }
    return all;
  }

  void pack_ahead() const {
    const std::vector<Ahead> all = packed_ahead();
    if (all.empty()) return;
    constexpr double kBytesPerNanosecond = 4;
    int64_t most_bytes = 1;
    for (const Ahead& one : all) most_bytes = std::max(most_bytes, one.panels.bytes);
    const int64_t grain = grain_for(static_cast<double>(most_bytes) / kBytesPerNanosecond);
    ThreadPool::instance().run(all.back().first + all.back().count, grain,
                               [&](int64_t begin, int64_t end, int) {
                                 for (const Ahead& one : all) {
                                   const int64_t from = std::max(begin, one.first) - one.first;
                                   const int64_t to = std::min(end, one.first + one.count) - one.first;
                                   if (from < to) pack_panels_of(one, from, to);
                                 }
                               });
  }

  static void pack_panels_of(const Ahead& one, int64_t begin, int64_t end) {
    const BlockOperand& about = *one.running.about;
    const int64_t count = one.panels.count(about.lines);  // of a copy
    ProductOperand operand = one.running.operand;
    while (begin < end) {
      const int64_t copy = begin / count;
      const int64_t first = begin % count;
      const int64_t last = std::min(count, first + (end - begin));
      operand.data = static_cast<const std::byte*>(one.running.operand.data) +
                     (about.copies == 1 ? 0 : one.running.offset_of(copy));
      pack(one.method, one.is_lhs, operand, first, last, one.running.packed + begin * one.panels.bytes);
      begin += last - first;
    }
  }

  /// One thread at work, with copies of what it changes from block to block.
  class Worker {
   public:
    Worker(const BlockRun& run, std::byte* scratch) : run_(run), scratch_(scratch), stages_(run.stages_) {}

    /// Slice by slice: what is done to the sums finds them in the cache. The second operand is packed once.
    void run_block(const Part& part) {
      for (int64_t row = part.row; row < part.row_end; row += run_.slice_rows_) {
        Part slice = part;
        slice.row = row;
        slice.row_end = std::min(row + run_.slice_rows_, part.row_end);
        is_first_slice_ = row == part.row;
        is_only_slice_ = is_first_slice_ && slice.row_end == part.row_end;
        if (run_.step_.mirrored_rows == 0) {
          run_slice(slice);
        } else if (slice.column < slice.row_end) {
          slice.column_end = std::min(slice.column_end, slice.row_end);
          run_slice(slice);
          mirror(slice);
        }
      }
    }

   private:
    void run_slice(const Part& part) {
      std::byte* made = nullptr;  // the rows that the stage before has made
      for (size_t i = 0; i < stages_.size(); ++i) {
        const bool is_last = i + 1 == stages_.size();
        Part own = part;
        if (!is_last) {
          own.column = 0;
          own.column_end = run_.step_.stages[i].columns;
        }
        std::byte* sums = nullptr;
        if (run_.step_.stages[i].method != nullptr) sums = multiply(i, own, made);
        made = scratch_ + run_.scratch_.stages[i].result;
        if (run_.step_.stages[i].code != nullptr) run_kernel(i, own, sums, is_last ? nullptr : made);
      }
    }

    /// What these rows have left of their own square, where a transpose of it belongs.
    void mirror(const Part& part) const {
      const int64_t bytes = run_.step_.stages[0].element_bytes;
      void* result = run_.memory_.find(run_.step_.stages[0].result);
      bytes == 4 ? mirror_elements<uint32_t>(part, result) : mirror_elements<uint64_t>(part, result);
    }
    template <class Bits>
    void mirror_elements(const Part& part, void* result) const {
      constexpr int64_t kTile = 64 / sizeof(Bits);  // a line of the cache, both ways
      const int64_t width = run_.columns();
      auto* elements = static_cast<Bits*>(result);
      const int64_t end = std::min(part.column_end, part.row);
      for (int64_t left = part.column; left < end; left += kTile) {
        for (int64_t row = part.row; row < part.row_end; ++row) {
          for (int64_t column = left; column < std::min(left + kTile, end); ++column)
            elements[column * width + row] = elements[row * width + column];
        }
      }
    }

    std::byte* multiply(size_t i, const Part& part, std::byte* fed) {
      const BlockStage& stage = run_.step_.stages[i];
      const ScratchLayout::Stage& at = run_.scratch_.stages[i];
      if (stage.lhs.place.kind == Place::Kind::block) {
        const BlockStage& before = run_.step_.stages[i - 1];
        ProductOperand& operand = stages_[i].lhs.operand;
        operand.dtype = before.result_dtype;
        operand.data = fed;
        operand.lines = {{part.row_end - part.row, before.result_row_bytes}};
        operand.contracted = {{stage.depth, static_cast<int64_t>(size_of(before.result_dtype))}};
      }
      std::byte* sums = scratch_ + at.sums;
      int64_t row_bytes = at.sums_row_bytes;
      if (stage.code == nullptr) {
        row_bytes = stage.columns * stage.element_bytes;
        sums = static_cast<std::byte*>(run_.memory_.find(stage.result)) +
               (part.element * run_.step_.rows + part.row) * row_bytes + part.column * stage.element_bytes;
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
      if (!stage.rhs.packed && is_only_slice_) {
        const ProductOperand& operand = operand_of(i, false, part.element);
        if (stage.method->packs_on_the_way(operand, rows)) {
          stage.method->multiply_packing(lhs, lhs_row_bytes, operand, part.column, scratch_ + at.rhs, rows,
                                         columns, sums, row_bytes);
          return sums;
        }
      }
      const std::byte* rhs = packed(i, false, part.element, part.column, part.column_end);
      if (lhs_in_rows) {
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
      if (about.place.kind == Place::Kind::block) {  // the block has these rows and no others
        pack(*stage.method, is_lhs, running.operand, 0, panels.count(last - first), to);
        return to;
      }
      if (is_lhs || is_first_slice_)
        pack(*stage.method, is_lhs, operand_of(i, is_lhs, element), first_panel, panels.count(last), to);
      return to;
    }

    /// The operand as it is for an element of the batch.
    const ProductOperand& operand_of(size_t i, bool is_lhs, int64_t element) {
      RunningOperand& running = is_lhs ? stages_[i].lhs : stages_[i].rhs;
      if (running.about->place.kind != Place::Kind::block) {
        const RunningOperand& original = is_lhs ? run_.stages_[i].lhs : run_.stages_[i].rhs;
        running.operand.data =
            static_cast<const std::byte*>(original.operand.data) + running.offset_of(element);
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
      if (sums != nullptr)
        running.buffers[0] = sums - part.row * at.sums_row_bytes - part.column * stage.element_bytes;
      if (made != nullptr) {
        const auto block =
            std::find_if(stage.buffers.begin() + (sums != nullptr ? 1 : 0), stage.buffers.end(),
                         [](const Place& place) { return place.kind == Place::Kind::block; });
        running.buffers[static_cast<size_t>(block - stage.buffers.begin())] =
            made - first_row * stage.result_row_bytes;
      }
      const KernelFrame frame{running.buffers.data(), running.strides.data(), run_.failed_check_};
      const NestFunction function = stage.code->nests()[0];
      std::byte* scratch = scratch_ + at.kernel;
      const int64_t per_row = stage.tasks_per_row;
      if (part.column == 0 && part.column_end == stage.columns) {
        function(&frame, first_row * per_row, end_row * per_row, scratch);
        return;
      }
      const int64_t first = part.column / stage.columns_per_task;
      const int64_t end = (part.column_end + stage.columns_per_task - 1) / stage.columns_per_task;
      for (int64_t row = first_row; row < end_row; ++row)
        function(&frame, row * per_row + first, row * per_row + end, scratch);
    }

    const BlockRun& run_;
    std::byte* scratch_;
    std::vector<RunningStage> stages_;
    bool is_first_slice_ = true;
    bool is_only_slice_ = true;
  };

  const BlockStep& step_;
  const BlockMemory& memory_;
  int32_t* failed_check_;
  int64_t slice_rows_;  ///< of a block that are worked on at once
  int64_t batch_ = 1;
  std::vector<RunningStage> stages_;
  ScratchLayout scratch_;
};

}  // namespace

void run_block_step(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check) {
  BlockRun(step, memory, failed_check).run();
}

int64_t packed_bytes(const ProductMethod& method, const BlockOperand& operand, bool is_lhs) {
  const Panels panels(method, is_lhs);
  return round_up(operand.copies * panels.count(operand.lines) * panels.bytes, kAlign) + kAlign;
}

void pack_operand(const ProductMethod& method, const BlockOperand& operand, bool is_lhs, const void* array,
                  void* packed) {
  const RunningOperand running = prepare(operand, array, operand.strides.data());
  const Panels panels(method, is_lhs);
  const int64_t count = panels.count(operand.lines);
  ProductOperand one = running.operand;
  for (int64_t copy = 0; copy < operand.copies; ++copy) {
    one.data = static_cast<const std::byte*>(running.operand.data) +
               (operand.copies == 1 ? 0 : running.offset_of(copy));
    pack(method, is_lhs, one, 0, count, aligned(packed) + copy * count * panels.bytes);
  }
}

}  // namespace tokamak
