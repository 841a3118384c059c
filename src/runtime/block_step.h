#pragma once

// Steps that work on blocks of rows: products with all that is done to their results, and what makes their
// operands, a block at a time while it is in the cache.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/codegen.h"
#include "fusion/hidden.h"
#include "fusion/product.h"
#include "ir/tensor.h"
#include "library/product.h"
#include "runtime/checked_access.h"

namespace tokamak {

/// Where a step finds a buffer.
struct Place {
  enum class Kind : uint8_t { input, output, arena, constant, block };
  Kind kind = Kind::arena;
  int64_t at = 0;      ///< position of the input, output or constant; offset in the arena; unused for blocks
  int64_t offset = 0;  ///< bytes from there to what is read
};

/// What makes an operand while it is packed: a row is a line of it, or all lines at a step of k.
struct BlockMaker {
  std::shared_ptr<const NativeKernel> code;
  std::shared_ptr<const LoopKernel> kernel;
  std::vector<Place> buffers;  ///< by BufferId; a block: the rows that it makes
  std::vector<int> strided_inputs;
  std::vector<BufferSite> sites;  ///< by BufferId, of code that is checked
  int64_t tasks_per_row = 1;
  bool rows_are_lines = true;
  int64_t rows = 0;          ///< of a copy of the operand
  int64_t rows_at_once = 1;  ///< that are made, then packed; whole panels if they are lines
  int64_t row_bytes = 0;
};

/// One operand of a product, in the memory of a program.
struct BlockOperand {
  DType dtype = DType::f32;
  OperandRead read;              ///< its `array` is not used
  Place place;                   ///< of the array; a block: made, or only there packed
  std::vector<int64_t> strides;  ///< bytes, by axis of the array
  int strided_input = -1;        ///< a program input whose strides are known at run time: those instead
  int64_t lines = 0;
  /// Packed for all blocks before the first runs (or before the program ever runs, when it is a constant).
  std::optional<Place> packed;
  int64_t copies = 1;  ///< packed once for every element of the batch, or once for all
  /// Not null: it is not in memory but made for packing it.
  std::shared_ptr<const BlockMaker> maker;
  /// It is multiplied where it lies, if it lies as the method takes it; packed with each block otherwise.
  bool in_rows = false;
  bool windows = false;  ///< read where they overlap, if they lie as the method takes them; packed otherwise

  /// Whether it is the rows that the stage before has made, and not packed from elsewhere.
  bool is_fed() const { return place.kind == Place::Kind::block && !packed && !maker; }
};

/// A product, then a kernel on its result; or the kernel alone.
struct BlockStage {
  std::shared_ptr<const ProductMethod> method;  ///< null without a product
  BlockOperand lhs;
  BlockOperand rhs;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t element_bytes = 0;  ///< of the sums

  std::shared_ptr<const NativeKernel> code;  ///< null when the sums are the result as they are
  std::shared_ptr<const LoopKernel> kernel;
  std::vector<Place> buffers;  ///< by BufferId. With a product the first is its block
  std::vector<int> strided_inputs;
  std::vector<BufferSite> sites;  ///< by BufferId, of code that is checked
  int64_t tasks_per_row = 1;
  int64_t columns_per_task = 1;  ///< the last task of a row may have fewer

  Place result;       ///< of the sums when there is no kernel, or it runs over them,
  StoredSums stored;  ///< and how they lie there
  DType result_dtype = DType::f32;
  int64_t result_row_bytes = 0;  ///< a block given to the next stage: the bytes of its rows
  bool over_sums = false;        ///< ... where the sums are, if their rows are as long
  /// The sums lie in `result`, where the code stores what it makes of each, and not with the block.
  bool sums_in_result = false;

  bool keeps_sums() const { return code != nullptr && !sums_in_result; }
};

struct BlockStep {
  Shape batch;
  int64_t rows = 0;  ///< for each element of the batch
  int64_t block_rows = 0;
  int64_t block_columns = 0;  ///< of the last stage; the others have all of theirs
  /// Not 0: a block is an element of the batch, and all stages work on so many of its rows at a time. What is
  /// not packed ahead of second operands is packed once for the element.
  int64_t slice_rows = 0;
  double block_cost = 0;  ///< nanoseconds, roughly
  /// Not 0: so many steps of k at a time are packed and multiplied, for which the method is made. There is
  /// one stage, whose sums lie in the result, and one axis is contracted. Code runs with the last part.
  /// Constants are packed part by part.
  int64_t part_depth = 0;
  /// Not 0: these parts make up chunks of so many steps, which threads sum side by side; the sums are added
  /// in the end. The operands are packed with each part instead, which is also when their makers make so many
  /// rows, and there is no batch.
  int64_t chunk_depth = 0;
  /// Not 0: the result is symmetric, and has one stage without code. So many rows at a time, which divide
  /// those of a block, are computed up to the diagonal; what lies left of their own square is mirrored. Where
  /// a block has all rows, its columns divide these.
  int64_t mirrored_rows = 0;
  std::vector<BlockStage> stages;
  /// The columns of the stage before the last that are needed; null: all.
  std::shared_ptr<const VisibleColumns> visible;
};

/// What a running step needs of its program.
struct BlockMemory {
  virtual ~BlockMemory() = default;
  virtual void* find(Place place) const = 0;
  /// The memory of an array, of which a dense one has so many bytes.
  virtual BufferExtent extent_of(Place place, int64_t bytes) const = 0;
  virtual const int64_t* strides_of(int input) const = 0;
  virtual size_t rank_of(int input) const = 0;
};

/// `failed_check` is set as KernelFrame says. Throws InternalError for an access that checked code reported.
void run_block_step(const BlockStep& step, const BlockMemory& memory, int32_t* failed_check);

/// What run_block_step takes for all the threads that there are now, beside what the program gives it.
int64_t block_scratch_bytes(const BlockStep& step, const BlockMemory& memory);

/// Bytes that a packed operand takes at most, wherever they start; a multiple of 64. Of one whose k is cut it
/// is those of a part.
int64_t packed_bytes(const ProductMethod& method, const BlockOperand& operand, bool is_lhs);

/// Packs an operand of so many steps of k all at once: part by part, one after the other, if `part_depth` is
/// not 0.
Tensor packed_operand(const ProductMethod& method, const BlockOperand& operand, bool is_lhs, int64_t depth,
                      int64_t part_depth, const void* array);

}  // namespace tokamak
