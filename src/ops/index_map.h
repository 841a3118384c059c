#pragma once

// Views and indexing ops as index arithmetic: which elements of its operands one element of a result is made
// from. Fusion asks it to see what a kernel would read, lowering to read it.

#include <functional>
#include <vector>

#include "ir/graph.h"
#include "support/index.h"

namespace tokamak {

/// One operand element, read only where the guard holds.
struct ElementRead {
  size_t operand;
  std::vector<Index> index;
  Guard guard;
};

/// Gives the integer that data operand `operand` holds at `index`, brought into [0, extent): gathers and
/// dynamic slices.
using DataIndex = std::function<ValueId(size_t operand, const std::vector<Index>& index, int64_t extent)>;

/// The reads of element `at` of a pointwise node (see is_pointwise), other than those `data` makes. In the
/// order of the operands; for concatenate exactly one guard holds, for pad and dynamic_update_slice the
/// guarded read goes before the other.
std::vector<ElementRead> reads_of(const Graph& graph, Value node, const std::vector<Index>& at,
                                  const Extents& extents, const DataIndex& data);

/// Those of them that may be the one that counts where `where` holds, each with what that leaves open of its
/// own guard. Without this a chain of writes to parts would be followed through every piece of every write.
std::vector<ElementRead> reads_of(const Graph& graph, Value node, const std::vector<Index>& at,
                                  const Guard& where, const Extents& extents, const DataIndex& data);

/// Whether an element of the result depends on a bounded number of operand elements, so that it can be
/// computed on demand wherever it is read: everything but reductions, cumulative ops and scatter.
bool is_pointwise(Op op);

/// Whether the op costs nothing: it only says where to read.
inline bool is_view(Op op) { return family_of(op) == OpFamily::View; }

/// The row-major position of `index` in `shape`, and back.
Index linearise(const std::vector<Index>& index, const Shape& shape);
std::vector<Index> delinearise(const Index& position, const Shape& shape, const Extents& extents);

}  // namespace tokamak
