#include "fusion/product.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "fusion/fuse.h"
#include "fusion/groups.h"
#include "ops/contract.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

/// constant + sum of coefficient * variable, with nothing but variables.
bool is_affine(const Index& index) {
  return std::all_of(index.terms.begin(), index.terms.end(),
                     [](const IndexTerm& term) { return std::holds_alternative<LoopVar>(term.atom); });
}

bool is_affine(const std::vector<Index>& index, const Guard& guard) {
  return std::all_of(index.begin(), index.end(), [](const Index& one) { return is_affine(one); }) &&
         std::all_of(guard.begin(), guard.end(), [](const Condition& one) { return is_affine(one.index); });
}

/// Whether a product's inner loop can convert as it reads: exact, and to what it sums in anyway.
bool is_widening(DType from, DType to) {
  return ((from == DType::f16 || from == DType::bf16) && to == DType::f32) ||
         (from == DType::f32 && to == DType::f64);
}

bool is_zero(const Graph& graph, Value value) {
  const Tensor* tensor = graph.constant_value(value);
  if (tensor == nullptr || tensor->type().elements() != 1) return false;
  const std::vector<std::byte> zeros(size_of(tensor->type().dtype));
  return std::memcmp(tensor->data(), zeros.data(), zeros.size()) == 0;
}

/// The variable and the divisor of a quotient or remainder that stands in the way of an affine index.
struct Division {
  LoopVar var;
  int64_t divisor;
};

std::optional<Division> division_in(const Index& index) {
  for (const IndexTerm& term : index.terms) {
    std::shared_ptr<const Index> numerator;
    int64_t divisor = 0;
    if (const auto* quotient = std::get_if<Quotient>(&term.atom)) {
      numerator = quotient->numerator;
      divisor = quotient->divisor;
    } else if (const auto* remainder = std::get_if<Remainder>(&term.atom)) {
      numerator = remainder->numerator;
      divisor = remainder->divisor;
    } else {
      continue;
    }
    if (const std::optional<LoopVar> var = numerator->as_variable()) return Division{*var, divisor};
    if (const std::optional<Division> inner = division_in(*numerator)) return inner;
  }
  return std::nullopt;
}

/// Follows an operand of a dot to the array it is read from. Loop variables stand for positions along its
/// axes: the batch axes, the lines, the contracted ones.
class OperandWalk {
 public:
  OperandWalk(const Graph& graph, Value dot, size_t operand) : graph_(graph) {
    const Node& node = graph[dot];
    value_ = node.inputs[operand];
    const Shape& shape = graph.type_of(value_).shape;
    const DotAxes axes =
        dot_axes(node.attributes, graph.type_of(node.inputs[0]).rank(), graph.type_of(node.inputs[1]).rank());
    const bool first = operand == 0;
    const Ints* kinds[] = {first ? &axes.lhs_batch : &axes.rhs_batch, first ? &axes.lhs_free : &axes.rhs_free,
                           first ? &axes.lhs_contract : &axes.rhs_contract};
    at_.resize(shape.size());
    for (size_t kind = 0; kind < std::size(kinds); ++kind) {
      for (int64_t axis : *kinds[kind]) {
        const int64_t extent = shape[static_cast<size_t>(axis)];
        const LoopVar var = add_variable(extent);
        digits_.push_back({var, kind});
        if (extent != 1) at_[static_cast<size_t>(axis)] = Index::of(var);
      }
    }
  }

  OperandRead run() {
    do {
      if (is_affine(at_, guard_)) remember();
    } while (step());
    return std::move(best_);
  }

 private:
  static constexpr size_t kBatch = 0;
  static constexpr size_t kLines = 1;
  static constexpr size_t kContracted = 2;

  struct Digit {
    LoopVar var;
    size_t kind;
  };

  LoopVar add_variable(int64_t extent) {
    extents_.push_back(extent);
    return static_cast<LoopVar>(extents_.size() - 1);
  }
  Extents extents() const {
    return [this](LoopVar var) { return extents_[static_cast<size_t>(var)]; };
  }

  /// To what the value is a view of, or makes zeros around, or is a wider form of.
  bool step() {
    const Node& node = graph_[value_];
    if (is_view(node.op)) {
      follow_view();
    } else if (node.op == Op::pad && is_zero(graph_, node.inputs[1])) {
      const ElementRead inside = reads()[0];
      at_ = inside.index;
      guard_.insert(guard_.end(), inside.guard.begin(), inside.guard.end());
      passed_.push_back(value_);
    } else if (node.op == Op::convert && is_widening(graph_.type_of(node.inputs[0]).dtype, node.type.dtype)) {
      passed_.push_back(value_);
    } else {
      return false;
    }
    value_ = node.inputs[0];
    return true;
  }

  /// A reshape that cuts an axis in two makes two axes of it here, too: [m, 8*64] read from [m, 8, 64].
  void follow_view() {
    constexpr int kMaxCuts = 8;
    std::vector<Index> next = reads()[0].index;
    for (int cut = 0; cut < kMaxCuts && !is_affine(next, {}); ++cut) {
      std::optional<Division> division;
      for (const Index& index : next) {
        if (!division) division = division_in(index);
      }
      if (!division || extents()(division->var) % division->divisor != 0 || !cut_digit(*division)) break;
      next = reads()[0].index;
    }
    at_ = std::move(next);
  }

  bool cut_digit(const Division& division) {
    const auto place = std::find_if(digits_.begin(), digits_.end(),
                                    [&](const Digit& digit) { return digit.var == division.var; });
    if (place == digits_.end()) return false;
    const Digit outer{add_variable(extents()(division.var) / division.divisor), place->kind};
    const Digit inner{add_variable(division.divisor), place->kind};
    const Index both = Index::of(outer.var) * division.divisor + Index::of(inner.var);
    auto replacement = [&](LoopVar var) { return var == division.var ? both : Index::of(var); };
    for (Index& index : at_) index = substitute(index, replacement, extents());
    for (Condition& condition : guard_) condition.index = substitute(condition.index, replacement, extents());
    *place = inner;
    digits_.insert(place, outer);
    return true;
  }

  std::vector<ElementRead> reads() const { return reads_of(graph_, value_, at_, extents(), {}); }

  static int64_t coefficient(const Index& index, LoopVar var) {
    return linear_coefficient(index, var).value_or(0);
  }

  void remember() {
    OperandRead read;
    read.array = value_;
    read.passed = passed_;
    for (const Index& index : at_) read.offsets.push_back(index.constant);
    for (const Digit& digit : digits_) {
      OperandRead::Axis axis{extents()(digit.var), {}};
      for (const Index& index : at_) axis.coefficients.push_back(coefficient(index, digit.var));
      (digit.kind == kBatch   ? read.batch
       : digit.kind == kLines ? read.lines
                              : read.contracted)
          .push_back(std::move(axis));
    }
    for (const Condition& condition : guard_) {
      OperandRead::Bound bound{condition.index.constant - condition.low, {}, condition.high - condition.low};
      for (const Digit& digit : digits_) {
        const int64_t step = coefficient(condition.index, digit.var);
        if (digit.kind != kBatch) {
          bound.coefficients.push_back(step);
        } else if (step != 0) {
          return;  // padded along a batch axis: not while reading
        }
      }
      read.bounds.push_back(std::move(bound));
    }
    best_ = std::move(read);
  }

  const Graph& graph_;
  Value value_;
  std::vector<Index> at_;
  Guard guard_;
  std::vector<Value> passed_;
  std::vector<Digit> digits_;
  Shape extents_;  ///< by variable
  OperandRead best_;
};

}  // namespace

OperandRead read_of_operand(const Graph& graph, Value dot, size_t operand) {
  return OperandWalk(graph, dot, operand).run();
}

bool needs_copy(const Node& node) { return is_view(node.op) || node.op == Op::iota; }

DType product_dtype(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return DType::f32;
    case DType::f64:
      return DType::f64;
    case DType::i64:
    case DType::u64:
      return DType::i64;
    case DType::boolean:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::u8:
    case DType::u16:
    case DType::u32:
      return DType::i32;
  }
  throw InternalError("product_dtype: no such dtype");
}

ProductShape product_shape(const Graph& graph, Value dot) {
  const Node& node = graph[dot];
  const Shape& lhs = graph.type_of(node.inputs[0]).shape;
  const Shape& rhs = graph.type_of(node.inputs[1]).shape;
  const DotAxes axes =
      dot_axes(node.attributes, static_cast<int64_t>(lhs.size()), static_cast<int64_t>(rhs.size()));
  return {extent_of(lhs, axes.lhs_batch), extent_of(lhs, axes.lhs_free), extent_of(rhs, axes.rhs_free),
          extent_of(lhs, axes.lhs_contract)};
}

Epilogue epilogue_of(const FusedKernel& kernel) {
  const Graph& body = kernel.body;
  const Node& dot = body[*kernel.product];
  Epilogue epilogue;
  FusedKernel& made = epilogue.kernel;
  made.name = kernel.name;
  made.domain = kernel.domain;
  made.outputs = kernel.outputs;
  made.permuted = kernel.permuted;
  made.columns = kernel.columns;
  const DType summed = product_dtype(dot.type.dtype);
  epilogue.nothing_to_do = body.outputs() == std::vector<Value>{*kernel.product} && summed == dot.type.dtype;

  // What the outputs need, stopping at the product.
  std::vector<bool> needed(body.size(), false);
  for (Value output : body.outputs()) needed[index_of(output)] = true;
  for (size_t i = body.size(); i-- > 0;) {
    const auto value = static_cast<Value>(i);
    if (!needed[i] || value == *kernel.product) continue;
    for (Value input : body[value].inputs) needed[index_of(input)] = true;
  }
  std::unordered_map<uint32_t, Value> mapping;
  const ProductShape shape = product_shape(body, *kernel.product);
  const Value product =
      made.body.add_parameter("product", {summed, {shape.batch, shape.rows, shape.columns}}, dot.where);
  for (size_t i = 0; i < body.parameters().size(); ++i) {
    const Value parameter = body.parameters()[i];
    if (!needed[index_of(parameter)]) continue;
    mapping[static_cast<uint32_t>(parameter)] =
        made.body.add_parameter("a" + std::to_string(i), body.type_of(parameter), body[parameter].where);
    epilogue.positions.push_back(i);
  }
  const Value sums = made.body.add(Op::reshape, {product}, {{Attr::shape, dot.type.shape}}, dot.where);
  for (size_t i = 0; i < body.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = body[value];
    if (!needed[i] || node.op == Op::parameter) continue;
    Value& mapped = mapping[static_cast<uint32_t>(value)];
    if (value == *kernel.product) {
      mapped = sums;
      if (node.type.dtype == DType::boolean) {
        const Value zero = made.body.add_constant(scalar_tensor(summed, int64_t{0}), node.where);
        mapped = made.body.add(Op::ne, {sums, zero}, {}, node.where);
      } else if (summed != node.type.dtype) {
        mapped = made.body.add(Op::convert, {sums}, {{Attr::dtype, node.type.dtype}}, node.where);
      }
    } else if (node.op == Op::constant) {
      mapped = made.body.add_constant(node.attributes.tensor(Attr::value), node.where);
    } else {
      std::vector<Value> inputs;
      for (Value input : node.inputs) inputs.push_back(mapping.at(static_cast<uint32_t>(input)));
      const Value copy = made.body.add(node.op, std::move(inputs), node.attributes, node.where);
      mapping[static_cast<uint32_t>(value)] = copy;
    }
  }
  std::vector<Value> results;
  for (Value output : body.outputs()) results.push_back(mapping.at(static_cast<uint32_t>(output)));
  made.body.set_outputs(std::move(results));
  made.body.rename(kernel.name);
  return epilogue;
}

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
    if (kernel.domain.has_sweep) return false;
    const Graph& body = kernel.body;
    const auto position = static_cast<size_t>(std::find(kernel.inputs.begin(), kernel.inputs.end(), input) -
                                              kernel.inputs.begin());
    const Value wanted = body.parameters()[position];
    for (size_t operand : {0, 1}) {
      if (read_of_operand(body, *kernel.product, operand).array == wanted) return false;
    }
    const size_t rows = kernel.domain.extents.size() - kernel.columns;
    std::vector<Index> own;
    for (size_t axis = 0; axis < rows; ++axis) own.push_back(Index::of(static_cast<LoopVar>(axis)));
    std::vector<std::pair<Value, std::vector<Index>>> work;
    for (size_t i = 0; i < body.outputs().size(); ++i) {
      const Value element = stored_element(kernel, i);
      work.emplace_back(element, full_index(kernel.domain, body.type_of(element).shape));
    }
    while (!work.empty()) {
      const auto [value, at] = std::move(work.back());
      work.pop_back();
      const Node& node = body[value];
      if (value == wanted) {
        std::vector<Index> used;
        for (size_t axis = 0; axis < at.size(); ++axis) {
          if (node.type.shape[axis] != 1) used.push_back(at[axis]);
        }
        if (used != own) return false;
      }
      if (node.op == Op::dot || family_of(node.op) == OpFamily::Source) continue;
      if (!is_pointwise(node.op) || node.op == Op::gather || node.op == Op::dynamic_slice ||
          node.op == Op::dynamic_update_slice)
        return false;
      for (ElementRead& read : reads_of(body, value, at, kernel.domain.extents_function(), {}))
        work.emplace_back(node.inputs[read.operand], std::move(read.index));
    }
    return true;
  }

  bool fits(const FusedKernel& feeder, const Shape& shape, int64_t rows, bool needs_whole_rows) const {
    if (!is_full(feeder.domain, shape)) return false;
    const std::vector<bool>& swept = feeder.domain.swept;
    const auto first = static_cast<size_t>(std::find(swept.begin(), swept.end(), true) - swept.begin());
    if (first + columns_ < swept.size() ||
        std::find(swept.begin() + static_cast<int64_t>(first), swept.end(), false) != swept.end())
      return false;
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
    const Graph& body = kernel.body;
    std::vector<bool> needed(body.size(), false);
    for (Value output : body.outputs()) needed[index_of(output)] = true;
    for (size_t i = body.size(); i-- > 0;) {
      const auto value = static_cast<Value>(i);
      if (!needed[i] || value == *kernel.product) continue;
      for (Value input : body[value].inputs) needed[index_of(input)] = true;
    }
    return needed[index_of(parameter)];
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

std::vector<Value> values_read(const FusedKernel& kernel) {
  std::vector<Value> values;
  for (const FusedKernel* stage : stages_of(kernel)) {
    for (size_t i = 0; i < stage->inputs.size(); ++i) {
      const bool is_fed = stage->feeder != nullptr && i == stage->fed;
      if (!is_fed && std::find(values.begin(), values.end(), stage->inputs[i]) == values.end())
        values.push_back(stage->inputs[i]);
    }
  }
  return values;
}

std::vector<Value> values_written(const FusedKernel& kernel) {
  std::vector<Value> values;
  std::optional<Value> fed;
  for (const FusedKernel* stage = &kernel; stage != nullptr; stage = stage->feeder.get()) {
    for (Value output : stage->outputs) {
      if (output != fed) values.push_back(output);
    }
    if (stage->feeder != nullptr) fed = stage->inputs[stage->fed];
  }
  return values;
}

void chain_products(const Graph& graph, std::vector<FusedKernel>& kernels, int64_t l2_bytes) {
  Chaining(graph, kernels, l2_bytes).run();
}

}  // namespace tokamak
