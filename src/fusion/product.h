#pragma once

// Products inside kernels.
//
// A kernel may compute one dot; everything else in it then runs on blocks of the dot's result while they are
// in the cache (fusion/legality.cpp says what may join). Here is what such a kernel is made of: how the
// operands are read, and the rest of it as a kernel of its own whose first value is the product.

#include <optional>
#include <vector>

#include "fusion/kernel.h"

namespace tokamak {

/// How one operand of a dot (or of a sort) is read: views, zero padding and exact widening between it and an
/// array in memory are part of the reading. The position along axis s of the array is
///   offsets[s] + sum over the axes d of the operand of coefficient[d][s] * position[d].
struct OperandRead {
  struct Axis {
    int64_t extent;
    std::vector<int64_t> coefficients;  ///< by axis of the array

    bool operator==(const Axis&) const = default;
  };
  /// Elements are zero unless 0 <= offset + sum of coefficient * position < extent; positions along the
  /// lines, then along the contracted axes.
  struct Bound {
    int64_t offset;
    std::vector<int64_t> coefficients;
    int64_t extent;

    bool operator==(const Bound&) const = default;
  };

  Value array;                   ///< what is read; a view that is not affine is copied there first
  std::vector<Value> passed;     ///< operations on the way that reading does by itself
  std::vector<int64_t> offsets;  ///< by axis of the array
  std::vector<Axis> batch;
  std::vector<Axis> lines;  ///< the free axes: rows of the first operand, columns of the second
  std::vector<Axis> contracted;
  std::vector<Bound> bounds;
};

/// Operand 0 or 1 of the dot.
OperandRead read_of_operand(const Graph& graph, Value dot, size_t operand);

/// How the operand of a sort is read: its lines, and along each of them. Views are all that is on the way.
OperandRead read_of_sorted(const Graph& graph, Value sort);

/// Whether a product is that of a large matrix and its own transpose: then one half of it is computed, and
/// the other, which has the same bits, is its mirror.
bool is_mirrored(const Graph& graph, Value dot);

/// Whether the array an operand reads has to be written first, because nothing else does.
bool needs_copy(const Node& node);

/// The element type that products of these are summed in.
DType product_dtype(DType dtype);

/// The sizes of a product: for every element of the batch, rows x depth times depth x columns.
struct ProductShape {
  int64_t batch;
  int64_t rows;
  int64_t columns;
  int64_t depth;
};
ProductShape product_shape(const Graph& graph, Value dot);

/// Whether the result is small and the steps of k are many. Threads then sum different parts of k, and what
/// is packed of an operand is a few steps at a time. Of a symmetric result half is computed.
bool is_much_deeper_than_wide(const ProductShape& shape, bool symmetric);

/// Whether it is so of two matrices, and the sums are what there is of the result. An operand whose rows are
/// steps of k can then be made as it is packed, and is never all in memory. What follows the product is
/// a kernel of its own.
bool can_be_made_in_steps(const Graph& graph, Value dot);

/// By value of the body: whether the outputs need it other than through the product.
std::vector<bool> needed_after_product(const FusedKernel& kernel);

/// How the sums of a product are stored that are all a kernel makes: bytes from one to the next.
struct StoredSums {
  struct Axis {
    int64_t extent;
    int64_t stride;
  };
  std::vector<Axis> batch;
  int64_t row_stride = 0;  ///< from a row to the next; the columns of a row are neighbours
};

/// What a kernel does with its product: the same outputs, made from a first parameter that is the product,
/// and from the inputs that it still needs.
struct Epilogue {
  FusedKernel kernel;  ///< the first parameter is the product: [batch, rows, columns] of product_dtype
  std::vector<size_t> positions;          ///< which inputs of the whole kernel the other parameters are
  std::optional<StoredSums> only_stores;  ///< the sums, each where it belongs: there is nothing to compute
};
Epilogue epilogue_of(const FusedKernel& kernel);

/// The values a kernel reads from memory in any of its stages.
std::vector<Value> values_read(const FusedKernel& kernel);

/// How much of them: what is sliced or gathered counts for as much as comes out, but for no more than there
/// is.
int64_t bytes_read(const FusedKernel& kernel);

/// The values a kernel leaves in memory, its own outputs first.
std::vector<Value> values_written(const FusedKernel& kernel);

/// Lets kernels that make operands of a product run with it, so that these are never all in memory: the rows
/// of the first block by block (normalised ones, the scores of attention), others while they are packed
/// (scaled or converted weights).
void chain_products(const Graph& graph, std::vector<FusedKernel>& kernels, int64_t l2_bytes);

}  // namespace tokamak
