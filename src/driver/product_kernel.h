#pragma once

// Kernels with a product, compiled: which method multiplies, in which blocks, and the code for the rest.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/codegen.h"
#include "driver/row_code.h"
#include "fusion/product.h"
#include "ir/layout.h"
#include "library/product.h"
#include "support/cpu.h"

namespace tokamak {

/// What makes an operand while it is packed.
struct CompiledMaker {
  RowCode code;
  bool rows_are_lines;   ///< see FusedKernel::Maker
  int64_t rows;          ///< of a copy of the operand
  int64_t rows_at_once;  ///< that are made, then packed
  int64_t row_bytes;

  /// Whether a row is all lines at a step of k.
  bool is_of_steps() const { return !rows_are_lines; }
};

/// How an operand is read, and from which input of its kernel.
struct CompiledOperand {
  OperandRead read;
  DType dtype;
  size_t input;
  int64_t lines;
  bool is_fed = false;                         ///< it is the block of rows that the stage before makes
  std::shared_ptr<const CompiledMaker> maker;  ///< null unless it is made while it is packed
  bool is_constant = false;
  bool in_rows = false;     ///< multiplied where it lies
  bool in_columns = false;  ///< its lines are neighbours in memory, and need no conversion
  bool windows = false;     ///< that slide over an array, and are read where they overlap
  bool ahead = false;       ///< packed before the blocks run; a constant before the program ever runs
  int64_t copies = 1;       ///< of it packed: one for all of the batch when it does not change
};

struct CompiledStage {
  std::shared_ptr<const ProductMethod> method;  ///< null: a feeder without a product
  CompiledOperand lhs;
  CompiledOperand rhs;
  int64_t columns = 0;
  int64_t depth = 0;
  DType sums = DType::f32;
  ProductType type = ProductType::f32;  ///< what it is computed in

  std::optional<StoredSums> only_stores;  ///< the sums are the result, and there is no code
  RowCode row_code;
  std::vector<size_t> inputs;  ///< which inputs of the kernel the code reads, after the product
  TensorType result;           ///< of a feeder
  /// A mask may hide columns at either end of all rows of a block: the code sweeps the part it is told to.
  bool masked = false;
  bool over_sums = false;       ///< the rows it makes may lie where the sums do
  bool sums_in_result = false;  ///< see BlockStage
  bool bounded = false;         ///< what is hidden depends on the magnitudes of both operands
};

struct CompiledProduct {
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t block_rows = 0;
  int64_t block_columns = 0;
  int64_t slice_rows = 0;  ///< see BlockStep
  double block_cost = 0;
  int64_t mirrored_rows = 0;  ///< see BlockStep
  int64_t part_depth = 0;     ///< see BlockStep
  int64_t chunk_depth = 0;    ///< see BlockStep
  std::vector<CompiledStage> stages;
  std::string description;
  std::string decisions;
};

/// How the product of a stage gets at an operand: "packed ahead".
std::string_view reading_of(const CompiledStage& stage, const CompiledOperand& operand);
/// Whether that copies the operand in every run.
bool is_packed(const CompiledStage& stage, const CompiledOperand& operand);

/// All code of a kernel, in the order of its parts.
std::vector<RowCode> codes_of(const CompiledProduct& product);

/// `layouts` are those of the inputs of each part.
CompiledProduct compile_product(const FusedKernel& kernel, const std::vector<std::vector<Layout>>& layouts,
                                CodeOptions code, bool own_outputs, const Cpu& cpu);

}  // namespace tokamak
