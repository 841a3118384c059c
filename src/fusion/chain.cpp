// Which kernels run together with a product: on each block of its rows, or where its operands are packed.

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <numeric>
#include <unordered_map>

#include "fusion/fuse.h"
#include "fusion/groups.h"
#include "fusion/legality.h"
#include "fusion/product.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

/// Below this many rows the columns are what threads share, and each would need all rows of the operand.
constexpr int64_t kRowsWorthChaining = 64;

/// Below this many lines of the other operand an operand is not packed ahead but on the way, from memory.
constexpr int64_t kLinesWorthPacking = 128;

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
    gone_.resize(kernels_.size(), false);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (!kernels_[i].product) continue;
      const bool joined = take_feeder(i);
      const bool made_first = take_maker(i, 0);
      const bool made_second = take_maker(i, 1);
      if (!joined && !made_first && !made_second) continue;
      kernels_[i].name = kernel_name(kernels_[i]);
      kernels_[i].body.rename(kernels_[i].name);
    }
    size_t i = 0;
    std::erase_if(kernels_, [&](const FusedKernel&) { return gone_[i++]; });
  }

 private:
  using Points = std::vector<std::vector<Index>>;

  /// An operand that another kernel writes, for this product and nobody else.
  struct WrittenOperand {
    OperandRead read;
    size_t input;  ///< of the kernel
    size_t writer;
  };

  std::optional<WrittenOperand> written_operand(const FusedKernel& kernel, size_t operand) const {
    OperandRead read = read_of_operand(kernel.body, *kernel.product, operand);
    const auto& parameters = kernel.body.parameters();
    const auto input =
        static_cast<size_t>(std::find(parameters.begin(), parameters.end(), read.array) - parameters.begin());
    if (input == parameters.size()) return std::nullopt;
    const auto value = static_cast<uint32_t>(kernel.inputs[input]);
    const auto writer = writer_.find(value);
    if (writer == writer_.end() || gone_[writer->second] || readers_.at(value).size() != 1)
      return std::nullopt;
    const bool is_other_operand =
        read_of_operand(kernel.body, *kernel.product, 1 - operand).array == read.array;
    if (is_other_operand || needed_after_product(kernel)[index_of(read.array)]) return std::nullopt;
    return WrittenOperand{std::move(read), input, writer->second};
  }

  /// Lets the kernel that makes the rows of the first operand run with this one on each block of them.
  bool take_feeder(size_t number) {
    FusedKernel& kernel = kernels_[number];
    const std::optional<WrittenOperand> lhs = written_operand(kernel, 0);
    if (!lhs || !lhs->read.passed.empty()) return false;
    const FusedKernel& feeder = kernels_[lhs->writer];
    const Shape& shape = kernel.body.type_of(lhs->read.array).shape;
    if (!is_in_order(lhs->read, shape, {&lhs->read.batch, &lhs->read.lines, &lhs->read.contracted}) ||
        !others_may_wait(feeder, kernel, kernel.inputs[lhs->input], number))
      return false;
    const size_t columns = axes_that_move(lhs->read.contracted);
    if (feeder.product) {
      if (is_mirrored(feeder.body, *feeder.product)) return false;
      const ProductShape of_feeder = product_shape(feeder.body, *feeder.product);
      const ProductShape own = product_shape(kernel.body, *kernel.product);
      if (of_feeder.batch != own.batch || of_feeder.rows != own.rows) return false;
      // Rows of a product that are only mapped to others are as well kept in memory: the next product then
      // reads its own weights once, not once a block.
      if (feeder.columns != columns || !feeder.domain.has_sweep) return false;
    } else if (extent_of(lhs->read.batch) * extent_of(lhs->read.lines) < kRowsWorthChaining &&
               !kernel.domain.has_sweep) {
      return false;
    }
    if (!fits(feeder, shape, columns) || packs_more_than_rows(kernel)) return false;
    kernel.feeder = taken(lhs->writer, columns);
    kernel.fed = lhs->input;
    return true;
  }

  /// Whether the second operand, of which every block of rows needs all, takes much more memory than the rows
  /// do, and their columns may as well be blocks: for each of these its part alone is packed.
  bool packs_more_than_rows(const FusedKernel& kernel) const {
    const ProductShape product = product_shape(kernel.body, *kernel.product);
    const auto element = static_cast<int64_t>(size_of(kernel.body[*kernel.product].type.dtype));
    const int64_t lhs_bytes = product.rows * product.depth * element;
    const int64_t rhs_bytes = product.columns * product.depth * element;
    const OperandRead rhs = read_of_operand(kernel.body, *kernel.product, 1);
    const auto& parameters = kernel.body.parameters();
    const auto input =
        static_cast<size_t>(std::find(parameters.begin(), parameters.end(), rhs.array) - parameters.begin());
    return product.batch == 1 && !kernel.domain.has_sweep && !kernel.constant[input] &&
           rhs_bytes > std::max(lhs_bytes, 2 * l2_bytes_);
  }

  /// Lets the kernel that makes an operand run where that is packed. Its rows are lines of the operand, or
  /// all lines at a step of k.
  bool take_maker(size_t number, size_t operand) {
    FusedKernel& kernel = kernels_[number];
    if (operand == 0 && kernel.feeder != nullptr) return false;
    const ProductShape product = product_shape(kernel.body, *kernel.product);
    const bool is_packed_once = (operand == 0 ? product.columns : product.rows) < kLinesWorthPacking;
    if (is_packed_once && !is_packed_in_steps(kernel)) return false;
    const std::optional<WrittenOperand> made = written_operand(kernel, operand);
    if (!made || kernels_[made->writer].product) return false;
    const OperandRead& read = made->read;
    const TensorType& type = kernel.body.type_of(read.array);
    const Shape& shape = type.shape;
    if (type.elements() == 0) return false;
    const std::vector<OperandRead::Axis> one_for_all;
    const auto* batch = axes_that_vary(read.batch) == 0 ? &one_for_all : &read.batch;
    const bool rows_are_lines = is_in_order(read, shape, {batch, &read.lines, &read.contracted});
    if (!rows_are_lines && !is_in_order(read, shape, {batch, &read.contracted, &read.lines})) return false;
    FusedKernel& maker = kernels_[made->writer];
    if (!others_come_later(maker, kernel.inputs[made->input], number)) return false;
    if (is_packed_once && rows_are_lines) return take_maker_of_steps(kernel, *made);
    const size_t columns = axes_that_move(rows_are_lines ? read.contracted : read.lines);
    if (!fits(maker, shape, columns)) return false;
    kernel.makers.push_back({taken(made->writer, columns), made->input, rows_are_lines});
    return true;
  }

  /// One that makes lines, and as well all lines at a step of k.
  bool take_maker_of_steps(FusedKernel& kernel, const WrittenOperand& made) {
    FusedKernel& maker = kernels_[made.writer];
    const size_t lines = axes_that_move(made.read.lines);
    if (maker.domain.has_sweep || maker.outputs.size() != 1 || maker.permuted[0] || maker.product)
      return false;
    FusedKernel turned = with_first_axes_last(maker, lines);
    if (!fits(turned, turned.body.type_of(turned.body.outputs()[0]).shape, lines)) return false;
    maker = std::move(turned);
    kernel.makers.push_back({taken(made.writer, lines), made.input, false});
    return true;
  }

  /// The kernel with the same output transposed: its first `count` axes, but for those of extent 1, come
  /// last.
  static FusedKernel with_first_axes_last(FusedKernel kernel, size_t count) {
    const Value output = kernel.body.outputs()[0];
    const Shape shape = kernel.body.type_of(output).shape;
    size_t first = 0;
    for (size_t moving = 0; moving < count; ++first) moving += shape[first] != 1 ? 1 : 0;
    Ints permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), int64_t{0});
    std::ranges::rotate(permutation, permutation.begin() + static_cast<int64_t>(first));
    const Value turned = kernel.body.add(Op::transpose, {output}, {{Attr::permutation, permutation}},
                                         kernel.body[output].where);
    kernel.body.set_outputs({turned});
    kernel.domain = own_domain(kernel.body, turned);
    return kernel;
  }

  /// See driver/cut_depth.h.
  static bool is_packed_in_steps(const FusedKernel& kernel) {
    return can_be_made_in_steps(kernel.body, *kernel.product) && epilogue_of(kernel).only_stores &&
           std::ranges::none_of(kernel.constant, std::identity{});
  }

  std::shared_ptr<const FusedKernel> taken(size_t number, size_t columns) {
    auto kernel = std::make_shared<FusedKernel>(kernels_[number]);
    kernel->columns = columns;
    gone_[number] = true;
    return kernel;
  }

  static size_t axes_that_move(const std::vector<OperandRead::Axis>& axes) {
    return static_cast<size_t>(
        std::ranges::count_if(axes, [](const OperandRead::Axis& axis) { return axis.extent != 1; }));
  }

  static size_t axes_that_vary(const std::vector<OperandRead::Axis>& axes) {
    return static_cast<size_t>(std::ranges::count_if(axes, [](const OperandRead::Axis& axis) {
      return axis.extent != 1 && std::ranges::any_of(axis.coefficients, [](int64_t c) { return c != 0; });
    }));
  }

  static int64_t extent_of(const std::vector<OperandRead::Axis>& axes) {
    int64_t extent = 1;
    for (const OperandRead::Axis& axis : axes) extent *= axis.extent;
    return extent;
  }

  /// Whether the other outputs are only read after kernel `number`.
  bool others_come_later(const FusedKernel& maker, Value made, size_t number) const {
    return std::ranges::all_of(maker.outputs, [&](Value output) {
      const auto readers = readers_.find(static_cast<uint32_t>(output));
      return output == made || readers == readers_.end() ||
             std::ranges::all_of(readers->second, [&](size_t reader) { return reader > number; });
    });
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

  /// Whether a kernel can make its rows, of that many axes, some at a time.
  bool fits(const FusedKernel& feeder, const Shape& shape, size_t columns) const {
    if (feeder.sort || !is_full(feeder.domain, shape)) return false;
    if (!feeder.domain.sweeps_within_last(columns)) return false;
    for (const Node& node : feeder.body.nodes()) {
      const bool may_fail =
          node.op == Op::gather || node.op == Op::dynamic_slice || node.op == Op::dynamic_update_slice;
      if (node.op == Op::scatter || may_fail || scans(node)) return false;
    }
    int64_t row_bytes = 8;
    for (size_t axis = shape.size() - std::min(columns, shape.size()); axis < shape.size(); ++axis)
      row_bytes *= shape[axis];
    // A block of a few rows may be a little more than the cache holds: it is written and read once, while the
    // whole matrix would go through memory.
    constexpr int64_t kLeastRows = 8;
    constexpr int64_t kCaches = 8;
    return row_bytes * kLeastRows <= kCaches * l2_bytes_;
  }

  /// Whether the operand is the whole array, with its axes in this order.
  static bool is_in_order(const OperandRead& read, const Shape& shape,
                          std::initializer_list<const std::vector<OperandRead::Axis>*> order) {
    if (!read.bounds.empty()) return false;
    size_t axis = 0;
    for (const auto* axes : order) {
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
  std::vector<bool> gone_;  ///< by kernel: it runs with another
  std::unordered_map<uint32_t, std::vector<size_t>> readers_;
  std::unordered_map<uint32_t, size_t> writer_;
};

}  // namespace

void chain_products(const Graph& graph, std::vector<FusedKernel>& kernels, int64_t l2_bytes) {
  Chaining(graph, kernels, l2_bytes).run();
}

}  // namespace tokamak
