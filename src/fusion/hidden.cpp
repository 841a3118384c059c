#include "fusion/hidden.h"

#include <algorithm>
#include <cmath>

#include "fusion/mask.h"
#include "fusion/product.h"

namespace tokamak {
namespace {

/// What a row's number was before it was given the shape, or the precision, it is used in.
Value row_source(const Graph& body, Value value) {
  while (body[value].op == Op::reshape || body[value].op == Op::broadcast || body[value].op == Op::convert)
    value = body[value].inputs[0];
  return value;
}

class Search {
 public:
  explicit Search(const FusedKernel& kernel)
      : kernel_(kernel), feeder_(*kernel.feeder), body_(feeder_.body) {}

  std::optional<HiddenScores> run() {
    if (!feeder_.product || feeder_.columns != 1 || !has_one_swept_axis()) return std::nullopt;
    kinds_.assign(body_.size(), Kind::free);
    for (size_t i = 0; i < body_.size(); ++i) {
      const std::optional<Kind> kind = kind_of(static_cast<Value>(i));
      if (!kind) return std::nullopt;
      kinds_[i] = *kind;
    }
    if (!scores_ || !outputs_are_fine()) return std::nullopt;
    return masks_of(*scores_);
  }

 private:
  /// What a value is in the columns that are hidden.
  enum class Kind : uint8_t {
    free,     ///< it does not come from the product
    any,      ///< it does
    shifted,  ///< far below zero: scores without the largest of their row
    zero,
    row,  ///< one element a row, which hidden columns have no part in
  };

  bool has_one_swept_axis() const {
    const std::vector<bool>& swept = feeder_.domain.swept;
    return std::count(swept.begin(), swept.end(), true) == 1 && swept.back();
  }

  /// Nothing where columns that are hidden may matter.
  std::optional<Kind> kind_of(Value value) {
    const Node& node = body_[value];
    if (value == *feeder_.product) return Kind::any;
    const bool is_free = std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](Value input) { return kind(input) == Kind::free; });
    if (is_free) return Kind::free;
    if (node.op == Op::reduce_max || node.op == Op::reduce_sum) {
      if (swept_axes(node, body_.type_of(node.inputs[0]).shape) != feeder_.domain.swept) return std::nullopt;
      if (node.op == Op::reduce_max && kind(node.inputs[0]) == Kind::any) return found_greatest(node);
      if (node.op == Op::reduce_sum && kind(node.inputs[0]) == Kind::zero) return Kind::row;
      return std::nullopt;
    }
    const bool is_row = std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
      return kind(input) == Kind::row || kind(input) == Kind::free;
    });
    if (family_of(node.op) == OpFamily::View) {
      if (!keeps_order(body_, node) && !(is_row && node.op == Op::broadcast)) return std::nullopt;
      return kind(node.inputs[0]);
    }
    if (family_of(node.op) != OpFamily::Elementwise) return std::nullopt;
    if (is_row && !is_full(feeder_.domain, node.type.shape)) return Kind::row;
    return kind_of_elements(node);
  }

  Kind kind_of_elements(const Node& node) const {
    const Kind first = kind(node.inputs[0]);
    if (node.op == Op::convert && is_float(node.type.dtype)) {
      // What is far enough below zero for one precision is not for a wider one.
      const bool widens = size_of(node.type.dtype) > size_of(body_.type_of(node.inputs[0]).dtype);
      return first == Kind::shifted && widens ? Kind::any : first;
    }
    if (node.op == Op::exp && first == Kind::shifted) return Kind::zero;
    if (node.op == Op::sub && scores_ == node.inputs[0] &&
        row_source(body_, node.inputs[1]) == greatest_of_scores())
      return Kind::shifted;
    if (node.op == Op::mul && first == Kind::zero && is_number(body_, node.inputs[1]) &&
        std::isfinite(number(body_, node.inputs[1])))
      return Kind::zero;
    if (node.op == Op::div && first == Kind::zero) {
      const Node& total = body_[row_source(body_, node.inputs[1])];
      if (total.op == Op::reduce_sum && kind(total.inputs[0]) == Kind::zero) return Kind::zero;
    }
    return Kind::any;
  }

  /// The scores are what the one maximum is taken of.
  std::optional<Kind> found_greatest(const Node& reduction) {
    if (scores_) return std::nullopt;
    scores_ = reduction.inputs[0];
    return Kind::row;
  }

  std::optional<Value> greatest_of_scores() const {
    for (size_t i = 0; i < body_.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (body_[value].op == Op::reduce_max && body_[value].inputs[0] == scores_) return value;
    }
    return std::nullopt;
  }

  Kind kind(Value value) const { return kinds_[index_of(value)]; }

  /// Zeros for the product, and numbers for the rows.
  bool outputs_are_fine() const {
    for (size_t i = 0; i < feeder_.outputs.size(); ++i) {
      const Value element = stored_element(feeder_, i);
      const bool is_fed = feeder_.outputs[i] == kernel_.inputs[kernel_.fed];
      if (kind(element) != (is_fed ? Kind::zero : Kind::row)) return false;
      if (!is_fed && is_full(feeder_.domain, body_.type_of(element).shape)) return false;
    }
    return true;
  }

  std::optional<HiddenScores> masks_of(Value scores) const {
    using Mask = HiddenScores::Mask;
    const Shape& shape = body_.type_of(scores).shape;
    const ProductShape product = product_shape(body_, *feeder_.product);
    if (shape.size() < 2 || shape.back() != product.columns || product.rows % shape[shape.size() - 2] != 0)
      return std::nullopt;
    HiddenScores found{.scores = scores, .masks = {}, .factor = std::nullopt};
    bool is_wide = true;  // no score can overflow that the product does not
    bool is_infinite = true;
    Value at = scores;
    for (;;) {
      const Node& node = body_[at];
      is_wide = is_wide && size_of(node.type.dtype) >= 4;
      if (node.op == Op::convert && is_float(body_.type_of(node.inputs[0]).dtype)) {
        at = node.inputs[0];
        continue;
      }
      const bool shows = node.op == Op::select && is_fill(node.inputs[2]);
      const bool hides = !shows && node.op == Op::select && is_fill(node.inputs[1]);
      if ((!shows && !hides) || node.type.shape != shape) break;
      const Mask mask{shows ? Mask::Kind::shows : Mask::Kind::hides, node.inputs[0],
                      number(body_, node.inputs[shows ? 2 : 1])};
      is_infinite = is_infinite && std::isinf(mask.fill);
      found.masks.push_back(mask);
      at = node.inputs[shows ? 1 : 2];
    }
    if (found.masks.empty() && body_[at].op == Op::add && body_[at].type.shape == shape) {
      const bool second = kind(body_[at].inputs[1]) == Kind::free;
      if (!second && kind(body_[at].inputs[0]) != Kind::free) return std::nullopt;
      found.masks.push_back({Mask::Kind::added, body_[at].inputs[second ? 1 : 0]});
      at = body_[at].inputs[second ? 0 : 1];
      is_infinite = false;
    }
    if (found.masks.empty()) return std::nullopt;
    if (is_infinite) return found;
    found.factor = factor_from_product(at);
    if (!found.factor || !is_wide || found.masks.size() != 1) return std::nullopt;
    return found;
  }

  bool is_fill(Value value) const { return is_number(body_, value) && number(body_, value) <= kFarBelow; }

  /// How much larger a value is than the product it comes from, when nothing but factors is between.
  std::optional<double> factor_from_product(Value value) const {
    double factor = 1;
    while (value != *feeder_.product) {
      const Node& node = body_[value];
      if (size_of(node.type.dtype) < 4) return std::nullopt;
      Value next = node.inputs.empty() ? value : node.inputs[0];
      if (node.op == Op::mul && is_number(body_, node.inputs[1])) {
        factor *= std::abs(number(body_, node.inputs[1]));
      } else if (node.op == Op::mul && is_number(body_, node.inputs[0])) {
        factor *= std::abs(number(body_, node.inputs[0]));
        next = node.inputs[1];
      } else if (node.op == Op::div && is_number(body_, node.inputs[1])) {
        factor /= std::abs(number(body_, node.inputs[1]));
      } else if (node.op != Op::convert && family_of(node.op) != OpFamily::View) {
        return std::nullopt;
      }
      value = next;
    }
    if (size_of(body_.type_of(value).dtype) < 4) return std::nullopt;
    return std::isfinite(factor) ? std::optional(factor) : std::nullopt;
  }

  const FusedKernel& kernel_;
  const FusedKernel& feeder_;
  const Graph& body_;
  std::vector<Kind> kinds_;  ///< by value
  std::optional<Value> scores_;
};

}  // namespace

namespace {

bool is_comparison(Op op) {
  return op == Op::lt || op == Op::le || op == Op::gt || op == Op::ge || op == Op::eq || op == Op::ne;
}

/// By value of the body: whether anything is known of it when the program is compiled. Of a comparison that
/// is so only if all of both sides is known: positions below a length that is an argument may be any.
std::vector<bool> known_in_part(const FusedKernel& kernel) {
  const Graph& body = kernel.body;
  std::vector<bool> known(body.size(), false);
  for (size_t i = 0; i < body.parameters().size(); ++i)
    known[index_of(body.parameters()[i])] = kernel.constant[i];
  std::vector<bool> all_known = known;
  for (size_t i = 0; i < body.size(); ++i) {
    const Node& node = body[static_cast<Value>(i)];
    if (node.op == Op::iota || node.op == Op::constant) known[i] = all_known[i] = true;
    if (!node.inputs.empty())
      all_known[i] = std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [&](Value input) { return all_known[index_of(input)]; });
    if (node.type.rank() == 0) continue;  // numbers alone tell nothing of places
    if (is_comparison(node.op) && !all_known[i]) continue;
    for (Value input : node.inputs)
      if (known[index_of(input)] && body.type_of(input).rank() != 0) known[i] = true;
  }
  return known;
}

}  // namespace

std::optional<HiddenScores> find_hidden_scores(const FusedKernel& kernel) {
  if (kernel.feeder == nullptr) return std::nullopt;
  std::optional<HiddenScores> hidden = Search(kernel).run();
  if (!hidden) return std::nullopt;
  const std::vector<bool> known = known_in_part(*kernel.feeder);
  const bool may_hide =
      std::any_of(hidden->masks.begin(), hidden->masks.end(),
                  [&](const HiddenScores::Mask& mask) { return known[index_of(mask.value)]; });
  return may_hide ? hidden : std::nullopt;
}

}  // namespace tokamak
