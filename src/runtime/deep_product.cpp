#include "runtime/deep_product.h"

#include <algorithm>
#include <cstring>

#include "runtime/buffer_pool.h"
#include "runtime/mirror.h"
#include "runtime/program.h"
#include "runtime/running_operand.h"
#include "runtime/thread_pool.h"
#include "support/rounding.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

constexpr int64_t kAlign = 64;

/// Rows of the result that are added up, and mirrored, at a time.
constexpr int64_t kRowsAtOnce = 24;

template <class T>
void add_row(std::byte* to, const std::byte* row, int64_t columns) {
  auto* sums = reinterpret_cast<T*>(to);
  const auto* more = reinterpret_cast<const T*>(row);
  for (int64_t j = 0; j < columns; ++j) sums[j] += more[j];
}

using AddRow = void (*)(std::byte* to, const std::byte* row, int64_t columns);

AddRow add_row_of(DType dtype) {
  switch (product_type(dtype)) {
    case ProductType::f32:
    case ProductType::bf16:
      return add_row<float>;
    case ProductType::f64:
      return add_row<double>;
    case ProductType::i32:
      return add_row<uint32_t>;
    case ProductType::i64:
      return add_row<uint64_t>;
  }
  throw InternalError("unknown product type");
}

class DeepRun {
 public:
  DeepRun(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check)
      : step_(step),
        stage_(step.stages[0]),
        lhs_(stage_.lhs, memory, failed_check),
        rhs_(stage_.rhs, memory, failed_check),
        lhs_panels_(Panels(*stage_.method, true).count(step.rows)),
        rhs_panels_(Panels(*stage_.method, false).count(stage_.columns)),
        rhs_at_(round_up(lhs_panels_ * stage_.method->a_panel_bytes(), kAlign)),
        scratch_at_(rhs_at_ + round_up(rhs_panels_ * stage_.method->b_panel_bytes(), kAlign)),
        worker_bytes_(scratch_at_ + round_up(std::max({stage_.method->scratch_bytes(), bytes_to_make(lhs_),
                                                       bytes_to_make(rhs_)}),
                                             kAlign)),
        row_bytes_(round_up(stage_.columns * stage_.element_bytes, kAlign)),
        chunks_((stage_.depth + step.chunk_depth - 1) / step.chunk_depth),
        result_(static_cast<std::byte*>(memory.find(stage_.result))) {}

  void run() {
    ThreadPool& pool = ThreadPool::instance();
    const int workers = pool.num_threads();
    const Block sums = BufferPool::instance().borrow(chunks_ * chunk_bytes());
    const Block packed = BufferPool::instance().borrow(worker_bytes_ * workers);
    sums_ = static_cast<std::byte*>(sums.data());
    auto* room = static_cast<std::byte*>(packed.data());
    pool.run(
        chunks_, 1,
        [&](int64_t begin, int64_t end, int worker) {
          for (int64_t chunk = begin; chunk < end; ++chunk) sum_chunk(chunk, room + worker * worker_bytes_);
        },
        workers);
    constexpr double kBytesPerNanosecond = 8;
    const auto slice_bytes = static_cast<double>(kRowsAtOnce * row_bytes_ * chunks_);
    pool.run((step_.rows + kRowsAtOnce - 1) / kRowsAtOnce, grain_for(slice_bytes / kBytesPerNanosecond),
             [&](int64_t begin, int64_t end, int) {
               for (int64_t slice = begin; slice < end; ++slice) add_chunks(slice * kRowsAtOnce);
             });
    for (const RunningOperand* operand : {&lhs_, &rhs_})
      if (operand->maker) operand->maker->throw_reported();
  }

  int64_t scratch_bytes() const {
    return chunks_ * chunk_bytes() + worker_bytes_ * ThreadPool::instance().num_threads();
  }

 private:
  static int64_t bytes_to_make(const RunningOperand& operand) {
    return operand.maker ? operand.maker->scratch_bytes() : 0;
  }

  bool is_mirrored() const { return step_.mirrored_rows != 0; }
  int64_t chunk_bytes() const { return step_.rows * row_bytes_; }

  /// A part of its steps at a time, whose operands stay in the cache.
  void sum_chunk(int64_t chunk, std::byte* packed) const {
    const int64_t first = chunk * step_.chunk_depth;
    const int64_t end = std::min(first + step_.chunk_depth, stage_.depth);
    std::byte* sums = sums_ + chunk * chunk_bytes();
    const ProductMethod& method = *stage_.method;
    for (int64_t k = first; k < end; k += step_.part_depth) {
      pack_part(lhs_, true, k, lhs_panels_, packed, packed + scratch_at_);
      pack_part(rhs_, false, k, rhs_panels_, packed + rhs_at_, packed + scratch_at_);
      if (is_mirrored()) {
        method.multiply_below_diagonal(packed, packed + rhs_at_, step_.rows, stage_.columns, sums, row_bytes_,
                                       k != first);
      } else if (k == first) {
        method.multiply(packed, packed + rhs_at_, step_.rows, stage_.columns, sums, row_bytes_,
                        packed + scratch_at_);
      } else {
        method.multiply_adding(packed, packed + rhs_at_, step_.rows, stage_.columns, sums, row_bytes_);
      }
    }
  }

  void pack_part(const RunningOperand& operand, bool is_lhs, int64_t first_k, int64_t panels,
                 std::byte* packed, std::byte* scratch) const {
    RunningOperand part = operand;
    if (part.maker) {
      part.make_part(first_k, step_.part_depth, scratch);
    } else {
      part.take_part(first_k, step_.part_depth);
    }
    pack(*stage_.method, is_lhs, part.operand, 0, panels, packed);
  }

  void add_chunks(int64_t row) const {
    const int64_t row_end = std::min(row + kRowsAtOnce, step_.rows);
    const int64_t stride = stage_.stored.row_stride;
    const AddRow add = add_row_of(stage_.result_dtype);
    for (int64_t i = row; i < row_end; ++i) {
      const int64_t columns = is_mirrored() ? i + 1 : stage_.columns;
      const std::byte* sums = sums_ + i * row_bytes_;
      std::byte* to = result_ + i * stride;
      std::memcpy(to, sums, static_cast<size_t>(columns * stage_.element_bytes));
      for (int64_t chunk = 1; chunk < chunks_; ++chunk) add(to, sums + chunk * chunk_bytes(), columns);
    }
    if (is_mirrored()) mirror(result_, stride, stage_.element_bytes, {row, row_end, 0, row_end});
  }

  const BlockStep& step_;
  const BlockStage& stage_;
  const RunningOperand lhs_;
  const RunningOperand rhs_;
  const int64_t lhs_panels_;
  const int64_t rhs_panels_;
  const int64_t rhs_at_;      ///< where packed columns begin, behind the rows
  const int64_t scratch_at_;  ///< of the method, and of what makes operands
  const int64_t worker_bytes_;
  const int64_t row_bytes_;  ///< of the sums of a chunk
  const int64_t chunks_;
  std::byte* result_;
  std::byte* sums_ = nullptr;  ///< of all chunks
};

}  // namespace

void run_deep_product(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check) {
  DeepRun(step, memory, failed_check).run();
}

int64_t deep_product_scratch_bytes(const BlockStep& step, const BlockMemory& memory) {
  return DeepRun(step, memory, nullptr).scratch_bytes();
}

}  // namespace tokamak
