#pragma once

// Whether fusing pays. Legality (may these fuse) is in legality.h; nothing here decides what is right.

#include "fusion/fuse.h"
#include "fusion/kernel.h"

namespace tokamak {

/// What computing a value again inside its reader would cost and save.
struct Recomputation {
  double cost_per_element;     ///< scalar_cost of its whole expression, from memory
  int64_t evaluations;         ///< how often the reader would evaluate it
  int64_t per_point;           ///< evaluations at each point of the reader: 2 for y[1:] - y[:-1]
  TensorType type;             ///< of the value
  bool stored_anyway = false;  ///< somebody else needs it in memory
  double repeated_cost = 0;    ///< of the cost of an element what is spent elsewhere as well
};

/// Whether computing the value again beats writing it once and reading it back.
bool worth_recomputing(const Recomputation& value, const FusionOptions& options);

/// Whether rows of this domain may be swept several times by one kernel. Each row is then one thread's work,
/// so there must be enough of them, or so little work that one thread does it all. Rows that are columns in
/// memory must be in a cache.
bool worth_sweeping_rows_again(const Domain& domain);

/// Whether rows of this domain may be reduced by the kernel that computes them as a product of so many terms
/// an element: the columns of a row are then not shared among threads.
bool worth_reducing_rows(const Domain& domain, int64_t terms);

/// Whether a scatter changes so little of a large operand that it should write over it rather than copy it.
/// Its indices and updates then are computed, and checked, before anything is written.
bool worth_overwriting(const Graph& graph, const Node& scatter);

/// Beyond this total scalar_cost a kernel takes long to compile and runs out of registers.
inline constexpr double kMaxKernelCost = 1200;
/// Beyond this number of arrays read and written, the processor's prefetchers lose track.
inline constexpr size_t kMaxKernelArrays = 40;
/// An array with so many slices written to it, one after the other, is stored: a kernel asks at every element
/// which of them it lies in, or has code for each part between their edges.
inline constexpr int kMaxWrites = 8;
/// A concatenation of so many pieces that has so many readers is not computed again by each.
inline constexpr size_t kManyPieces = 6;
inline constexpr int kSeveralReaders = 2;
/// Every reduction and scan has a register to itself all along the loops. With more of them than the
/// processor has registers each goes through memory, and the code generator takes long to say so: four times
/// as many, ten times as long.
inline constexpr size_t kMaxKernelSweeps = 32;

}  // namespace tokamak
