// Which kernels run together on each block of rows.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "fusion/fuse.h"
#include "fusion/groups.h"
#include "fusion/product.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

/// Below this many rows the columns are what threads share, and each would need all rows of the operand.
constexpr int64_t kRowsWorthChaining = 64;

class Chaining {
 public:
  Chaining(const Graph& graph, std::vector<FusedKernel>& kernels, int64_t l2_bytes)
      : graph_(graph), kernels_(kernels), l2_bytes_(l2_bytes) {}

  void run() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      for (Value input : kernels_[i].inputs) readers_[static_cast<uint32_t>(input)].push_back(i);
      for (Value output : kernels_[i].outputs) writer_[static_cast<uint32_t>(output)] = i;
    }
    for (Value output : graph_.outputs())
      readers_[static_cast<uint32_t>(stored_value(graph_, output))].push_back(SIZE_MAX);
    std::vector<bool> gone(kernels_.size(), false);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const std::optional<size_t> feeder = feeder_of(kernels_[i], i);
      if (!feeder || gone[*feeder]) continue;
      FusedKernel& kernel = kernels_[i];
      auto before = std::make_shared<FusedKernel>(kernels_[*feeder]);
      before->columns = columns_;
      kernel.feeder = std::move(before);
      kernel.fed = fed_;
      kernel.name = joined_names(op_names(kernel));
      kernel.body.rename(kernel.name);
      gone[*feeder] = true;
    }
    size_t i = 0;
    std::erase_if(kernels_, [&](const FusedKernel&) { return gone[i++]; });
  }

 private:
  using Points = std::vector<std::vector<Index>>;

  /// The kernel that may run with this one; sets columns_.
  std::optional<size_t> feeder_of(const FusedKernel& kernel, size_t number) {
    if (!kernel.product) return std::nullopt;
    const OperandRead lhs = read_of_operand(kernel.body, *kernel.product, 0);
    const auto& parameters = kernel.body.parameters();
    const auto position =
        static_cast<size_t>(std::find(parameters.begin(), parameters.end(), lhs.array) - parameters.begin());
    if (position == parameters.size()) return std::nullopt;
    const auto fed = static_cast<uint32_t>(kernel.inputs[position]);
    const auto writer = writer_.find(fed);
    if (writer == writer_.end() || readers_[fed].size() != 1 || reads_elsewhere(kernel, lhs.array))
      return std::nullopt;
    const FusedKernel& feeder = kernels_[writer->second];
    const Shape& shape = kernel.body.type_of(lhs.array).shape;
    if (!is_plain(lhs, shape) || !others_may_wait(feeder, kernel, static_cast<Value>(fed), number))
      return std::nullopt;
    fed_ = position;
    columns_ = 0;
    int64_t rows = 1;
    for (const OperandRead::Axis& axis : lhs.contracted) columns_ += axis.extent != 1 ? 1 : 0;
    for (const auto* axes : {&lhs.batch, &lhs.lines}) {
      for (const OperandRead::Axis& axis : *axes) rows *= axis.extent;
    }
    if (feeder.product) {
      if (is_mirrored(feeder.body, *feeder.product)) return std::nullopt;
      const ProductShape of_feeder = product_shape(feeder.body, *feeder.product);
      const ProductShape own = product_shape(kernel.body, *kernel.product);
      if (of_feeder.batch != own.batch || of_feeder.rows != own.rows) return std::nullopt;
    }
    return fits(feeder, shape, rows, kernel.domain.has_sweep) ? std::optional(writer->second) : std::nullopt;
  }

  /// Whether the other outputs of the feeder are only read after this kernel, or by it for the rows at hand.
  bool others_may_wait(const FusedKernel& feeder, const FusedKernel& kernel, Value fed, size_t number) const {
    for (Value output : feeder.outputs) {
      if (output == fed) continue;
      const auto readers = readers_.find(static_cast<uint32_t>(output));
      if (readers == readers_.end()) continue;
      for (size_t reader : readers->second) {
        if (reader < number || (reader == number && !reads_own_rows(kernel, output))) return false;
      }
    }
    return true;
  }

  /// Whether a kernel needs, for a row of its domain, just that row of an input that has one element a row.
  static bool reads_own_rows(const FusedKernel& kernel, Value input) {
    const Graph& body = kernel.body;
    const auto position = static_cast<size_t>(std::find(kernel.inputs.begin(), kernel.inputs.end(), input) -
                                              kernel.inputs.begin());
    const Value wanted = body.parameters()[position];
    for (size_t operand : {0, 1}) {
      if (read_of_operand(body, *kernel.product, operand).array == wanted) return false;
    }
    std::map<Value, Points> seen;
    std::vector<std::pair<Value, std::vector<Index>>> work;
    for (size_t i = 0; i < body.outputs().size(); ++i) {
      const Value element = stored_element(kernel, i);
      const Shape& shape = body.type_of(element).shape;
      work.emplace_back(element, home_index(kernel.domain, shape, !is_full(kernel.domain, shape)));
    }
    while (!work.empty()) {
      const auto [value, at] = std::move(work.back());
      work.pop_back();
      Points& points = seen[value];
      if (std::find(points.begin(), points.end(), at) != points.end()) continue;
      points.push_back(at);
      if (value == wanted && !is_own_row(kernel, body.type_of(value).shape, at)) return false;
      if (!add_reads(kernel, value, at, work)) return false;
    }
    return true;
  }

  /// Whether an index is that of the row of the domain at hand.
  static bool is_own_row(const FusedKernel& kernel, const Shape& shape, const std::vector<Index>& at) {
    const size_t rows = kernel.domain.extents.size() - kernel.columns;
    std::vector<Index> own;
    for (size_t axis = 0; axis < rows; ++axis) own.push_back(Index::of(static_cast<LoopVar>(axis)));
    std::vector<Index> used;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (shape[axis] != 1) used.push_back(at[axis]);
    }
    return used == own;
  }

  /// Adds what a value is made from at a point, the product left out. Returns false where nobody can tell.
  static bool add_reads(const FusedKernel& kernel, Value value, const std::vector<Index>& at,
                        std::vector<std::pair<Value, std::vector<Index>>>& work) {
    const Graph& body = kernel.body;
    const Node& node = body[value];
    if (node.op == Op::dot || family_of(node.op) == OpFamily::Source) return true;
    if (reduces(node)) {
      work.emplace_back(node.inputs[0], full_index(kernel.domain, body.type_of(node.inputs[0]).shape));
      return true;
    }
    if (!is_pointwise(node.op) || node.op == Op::gather || node.op == Op::dynamic_slice ||
        node.op == Op::dynamic_update_slice)
      return false;
    for (ElementRead& read : reads_of(body, value, at, kernel.domain.extents_function(), {}))
      work.emplace_back(node.inputs[read.operand], std::move(read.index));
    return true;
  }

  bool fits(const FusedKernel& feeder, const Shape& shape, int64_t rows, bool needs_whole_rows) const {
    if (feeder.sort || !is_full(feeder.domain, shape)) return false;
    if (!feeder.domain.sweeps_within_last(columns_)) return false;
    for (const Node& node : feeder.body.nodes()) {
      const bool may_fail =
          node.op == Op::gather || node.op == Op::dynamic_slice || node.op == Op::dynamic_update_slice;
      if (node.op == Op::scatter || may_fail || scans(node)) return false;
    }
    // Rows of a product that are only mapped to others are as well kept in memory: the next product then
    // reads its own weights once, not once a block.
    if (feeder.product && (feeder.columns != columns_ || !feeder.domain.has_sweep)) return false;
    if (!feeder.product && rows < kRowsWorthChaining && !needs_whole_rows) return false;
    int64_t row_bytes = 8;
    for (size_t axis = shape.size() - std::min(columns_, shape.size()); axis < shape.size(); ++axis)
      row_bytes *= shape[axis];
    // A block of a few rows may be a little more than the cache holds: it is written and read once, while the
    // whole matrix would go through memory.
    constexpr int64_t kLeastRows = 8;
    constexpr int64_t kCaches = 8;
    return row_bytes * kLeastRows <= kCaches * l2_bytes_;
  }

  /// Whether anything but the first operand of the product needs the value.
  bool reads_elsewhere(const FusedKernel& kernel, Value parameter) const {
    if (read_of_operand(kernel.body, *kernel.product, 1).array == parameter) return true;
    return needed_after_product(kernel)[index_of(parameter)];
  }

  /// Whether the operand is the whole array in its own order: batch, rows, then what is contracted.
  static bool is_plain(const OperandRead& read, const Shape& shape) {
    if (!read.bounds.empty() || !read.passed.empty()) return false;
    size_t axis = 0;
    for (const auto* axes : {&read.batch, &read.lines, &read.contracted}) {
      for (const OperandRead::Axis& one : *axes) {
        if (one.extent == 1) continue;
        while (axis < shape.size() && shape[axis] == 1) ++axis;
        if (axis == shape.size() || shape[axis] != one.extent || read.offsets[axis] != 0) return false;
        for (size_t s = 0; s < shape.size(); ++s) {
          if (one.coefficients[s] != (s == axis ? 1 : 0)) return false;
        }
        ++axis;
      }
    }
    while (axis < shape.size() && shape[axis] == 1) ++axis;
    return axis == shape.size();
  }

  const Graph& graph_;
  std::vector<FusedKernel>& kernels_;
  int64_t l2_bytes_;
  size_t columns_ = 0;
  size_t fed_ = 0;
  std::unordered_map<uint32_t, std::vector<size_t>> readers_;
  std::unordered_map<uint32_t, size_t> writer_;
};

}  // namespace

void chain_products(const Graph& graph, std::vector<FusedKernel>& kernels, int64_t l2_bytes) {
  Chaining(graph, kernels, l2_bytes).run();
}

}  // namespace tokamak
