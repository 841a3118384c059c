#pragma once

// Operands of products at one run of a step, and how they are packed before its blocks are multiplied.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "library/product.h"
#include "runtime/block_step.h"
#include "runtime/checked_access.h"

namespace tokamak {

/// Bytes from the first element of a batch to another: its axes are in row-major order.
template <class Axis>
int64_t offset_of(int64_t element, const std::vector<Axis>& batch) {
  int64_t offset = 0;
  for (size_t i = batch.size(); i-- > 0;) {
    offset += element % batch[i].extent * batch[i].stride;
    element /= batch[i].extent;
  }
  return offset;
}

/// What makes an operand, at one run.
class RunningMaker {
 public:
  RunningMaker(const BlockMaker& about, const BlockMemory& memory, int32_t* failed_check);

  const BlockMaker& about() const { return *about_; }
  /// Of working memory for rows_at_once rows.
  int64_t scratch_bytes() const { return rows_bytes() + about_->kernel->scratch_bytes; }
  /// Makes rows [first, end), counted over the whole batch, at the beginning of `scratch`.
  void make(int64_t first, int64_t end, std::byte* scratch) const;
  /// Throws InternalError where checked code reported an access.
  void throw_reported() const;

 private:
  int64_t rows_bytes() const;

  const BlockMaker* about_;
  std::vector<void*> buffers_;
  std::vector<int64_t> strides_;
  int32_t* failed_check_;
  std::shared_ptr<CheckedKernel> checked_;  ///< null unless its code is checked
};

/// An operand at one run: strides and addresses are known.
struct RunningOperand {
  ProductOperand operand;  ///< of the first element of the batch
  std::vector<ProductAxis> batch;
  const BlockOperand* about = nullptr;
  std::optional<RunningMaker> maker;  ///< makes it: there is no `operand`
  std::byte* packed = nullptr;

  RunningOperand() = default;
  RunningOperand(const BlockOperand& about, const void* array, const int64_t* strides);
  RunningOperand(const BlockOperand& about, const BlockMemory& memory, int32_t* failed_check);

  /// Takes `count` steps of k from `first` on; there are zeros past the last. One axis is contracted.
  void take_part(int64_t first, int64_t count);
  /// The same of one whose maker makes as many at once, which it does in `scratch`.
  void make_part(int64_t first, int64_t count, std::byte* scratch);
};

struct Panels {
  int64_t width;  ///< lines of a panel
  int64_t bytes;

  Panels(const ProductMethod& method, bool is_lhs)
      : width(is_lhs ? method.a_panel() : method.b_panel()),
        bytes(is_lhs ? method.a_panel_bytes() : method.b_panel_bytes()) {}
  int64_t count(int64_t lines) const { return (lines + width - 1) / width; }
};

/// An operand with one axis of lines, from one of them on.
ProductOperand lines_from(const ProductOperand& operand, int64_t first);

void pack(const ProductMethod& method, bool is_lhs, const ProductOperand& operand, int64_t first,
          int64_t last, void* packed);

/// The first address from `memory` on that packed operands may start at.
std::byte* aligned(void* memory);

/// Operands that are packed together, whole, by all threads.
class PackingAhead {
 public:
  /// `largest` becomes the largest magnitude of its elements, if that is larger, unless it is null.
  void add(const ProductMethod& method, bool is_lhs, const RunningOperand& running,
           std::atomic<double>* largest);
  /// By so many threads at most, in `scratch` of all of them.
  void run(std::byte* scratch, int threads) const;
  int64_t scratch_bytes(int threads) const;

 private:
  /// Units [first, first + count) of all that are packed: panels, or for what is made so that rows are steps
  /// of k, as many steps as are made at once.
  struct One {
    const ProductMethod& method;
    bool is_lhs;
    const RunningOperand& running;
    Panels panels;
    int64_t first;
    int64_t count;
    std::atomic<double>* largest;

    int64_t panels_of_copy() const { return panels.count(running.about->lines); }
    bool is_made_by_steps() const { return running.maker && !running.maker->about().rows_are_lines; }
    int64_t units_of_copy() const;
    int64_t unit_bytes() const;
  };
  int64_t scratch_of_a_thread() const;
  static void note_largest(const One& one, const std::byte* packed, int64_t panels);
  static void pack_units(const One& one, int64_t begin, int64_t end, std::byte* scratch);
  static void pack_panels(const One& one, int64_t copy, int64_t first, int64_t last, std::byte* packed);
  static void pack_made_panels(const One& one, int64_t copy, int64_t first, int64_t last, std::byte* packed,
                               std::byte* scratch);
  static void pack_made_steps(const One& one, int64_t copy, int64_t first, int64_t last, std::byte* packed,
                              std::byte* scratch);

  std::vector<One> all_;
};

}  // namespace tokamak
