// How the operands of a product are read: from which array, through which views.

#include <algorithm>
#include <cstring>

#include "fusion/product.h"
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
      for (int64_t axis : *kinds[kind]) add_digit(static_cast<size_t>(axis), shape, kind);
    }
  }

  /// The operand of a sort: lines, and one axis along them.
  OperandWalk(const Graph& graph, Value sort) : graph_(graph), views_only_(true) {
    value_ = graph[sort].inputs[0];
    const Shape& shape = graph.type_of(value_).shape;
    const auto sorted = static_cast<size_t>(graph[sort].attributes.integer(Attr::axis));
    at_.resize(shape.size());
    for (size_t axis = 0; axis < shape.size(); ++axis)
      add_digit(axis, shape, axis == sorted ? kContracted : kLines);
  }

  OperandRead run() {
    do {
      if (is_affine(at_, guard_)) remember();
    } while (step());
    return std::move(best_);
  }

 private:
  static constexpr size_t kMaxBounds = 8;  ///< that packing tests while it reads
  static constexpr size_t kBatch = 0;
  static constexpr size_t kLines = 1;
  static constexpr size_t kContracted = 2;

  struct Digit {
    LoopVar var;
    size_t kind;
  };

  void add_digit(size_t axis, const Shape& shape, size_t kind) {
    const LoopVar var = add_variable(shape[axis]);
    digits_.push_back({var, kind});
    if (shape[axis] != 1) at_[axis] = Index::of(var);
  }

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
    } else if (views_only_) {
      return false;
    } else if (node.op == Op::pad && is_zero(graph_, node.inputs[1])) {
      const ElementRead inside = reads()[0];
      at_ = inside.index;
      guard_.insert(guard_.end(), inside.guard.begin(), inside.guard.end());
      passed_.push_back(value_);
    } else if (node.op == Op::convert &&
               is_read_by_products(graph_.type_of(node.inputs[0]).dtype, node.type.dtype)) {
      passed_.push_back(value_);
    } else {
      return false;
    }
    value_ = node.inputs[0];
    return true;
  }

  /// A reshape that cuts an axis in two makes two axes of it here, too: [m, 8*64] read from [m, 8, 64].
  void follow_view() {
    const int most_cuts = views_only_ ? 0 : 8;
    std::vector<Index> next = reads()[0].index;
    for (int cut = 0; cut < most_cuts && !is_affine(next, {}); ++cut) {
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
    if (guard_.size() > kMaxBounds) return;
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
  bool views_only_ = false;
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

OperandRead read_of_sorted(const Graph& graph, Value sort) { return OperandWalk(graph, sort).run(); }

}  // namespace tokamak
