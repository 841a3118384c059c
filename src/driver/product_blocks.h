#pragma once

// How the result of a product is cut into blocks, which threads take one by one, and when operands are
// packed.

#include "driver/product_kernel.h"

namespace tokamak {

class BlockChoice {
 public:
  /// Decides the sizes of blocks of `product`, which has the stages of the kernel before the last.
  BlockChoice(const FusedKernel& kernel, CompiledProduct& product, const Cpu& cpu);

  /// By the last stage, which is not yet part of the product, and has no code yet.
  void choose(const CompiledStage& stage);
  /// A block of columns is a number of whole tasks of the code of the last stage, and of whole panels.
  void align_columns(const CompiledStage& stage);
  /// Says of the operands of any stage which are packed before blocks run. Blocks have so many of its
  /// columns.
  void decide_packing(CompiledStage& stage, int64_t block_columns) const;

 private:
  /// Threads that share the blocks; there may be more when the program runs than now.
  static int64_t threads();
  /// Blocks that are worth making so that threads finish together.
  static int64_t enough_blocks();
  /// What reduces the columns needs all of them: as many rows as half of the cache holds. The keys and values
  /// of attention stay there with the rows if few of these leave the room; otherwise many read them less
  /// often. Where elements of the batch alone are blocks enough, each is one, and is worked on so many rows
  /// at a time: what is packed for it stays in the cache, and takes no memory for the others.
  void choose_whole_rows(const CompiledStage& stage);
  /// The second operands of a chain of products; 0 where there is one product.
  int64_t bytes_all_rows_read(const CompiledStage& last) const;
  bool are_fair_elements() const;
  /// Whether every stage has a second operand for each element of the batch, which can be packed with it.
  bool changes_with_elements(const CompiledStage& last) const;
  bool is_masked() const;
  /// Whether all rows of the first operand stay in the second cache.
  bool is_small(const CompiledStage& stage) const;
  /// Whether every element of the first operand is read once or twice: packing it would take longer.
  static bool is_read_seldom(const CompiledStage& stage);
  /// All rows of the first operand, where they lie, by columns that are packed on the way: one run of the
  /// threads does it all. Such columns begin where lines of a cache do; others where panels do.
  void choose_columns(const CompiledStage& stage);
  /// Columns may be what lies together in memory: runs of them are as long as threads, all of which get as
  /// many, allow.
  void choose_long_runs();
  /// Of a symmetric result: few rows at a time, so that little is computed twice, in blocks as for any other;
  /// where there are few rows, in strips of columns instead.
  void choose_half(const CompiledStage& stage);
  /// All rows by as many windows as the method likes. Fewer of both where threads would have nothing to do.
  void choose_windows(const CompiledStage& stage);
  /// Many rows, so that packed columns are used often, and columns that stay in the last cache meanwhile.
  /// Windows that few rows use are packed for the second; or not at all where they can be read while they
  /// overlap, and then what is computed of them is to stay there. And blocks of one size, as many for each
  /// thread as for the others.
  void choose_tiles(const CompiledStage& stage);
  /// Where columns of a block may begin that has all rows: at a line of a cache, if it packs them itself and
  /// they lie together; else where a panel does.
  int64_t column_unit(const CompiledStage& stage) const;
  /// Blocks of which a thread gets about as many as any other.
  static int64_t many_blocks();
  /// What blocks of this size cost, as a share of what the result does at least: the time until the last
  /// thread is done, when each takes the next block as soon as it has finished one, and a little for every
  /// block; more for blocks so few that a thread which begins late holds up the others. Columns that several
  /// blocks share are packed ahead: what is written and read again for it is as much as so many rows.
  double cost_of_blocks(int64_t block_rows, int64_t block_columns) const;
  /// Whether nobody else needs the same lines of the operand.
  bool is_packed_with_blocks(const CompiledOperand& operand, bool used_once) const;

  const FusedKernel& kernel_;
  const ProductShape shape_;
  CompiledProduct& result_;
  const Cpu& cpu_;
  int64_t column_unit_ = 1;  ///< where blocks may begin
};

}  // namespace tokamak
