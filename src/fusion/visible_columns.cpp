#include <algorithm>
#include <cmath>

#include "fusion/hidden.h"
#include "fusion/mask.h"

namespace tokamak {
namespace {

/// Columns of a row: all that a set of columns may have lie in [first, end).
struct Columns {
  int64_t first;
  int64_t end;
  bool is_all_of_them;  ///< the set has all of these
  bool is_never_empty;  ///< whatever else the mask depends on
};

/// What an axis of a mask is to the scores.
enum class Axis : uint8_t { column, row, other };
using Axes = std::vector<Axis>;

/// column * c + row * r + constant
struct Linear {
  int64_t column = 0;
  int64_t row = 0;
  int64_t constant = 0;
};

/// Calls `body` with what gives an element as a number, without asking for the dtype each time where masks
/// are of it.
template <class Body>
auto with_elements(const Tensor& tensor, Body body) {
  if (tensor.type().dtype == DType::boolean)
    return body([data = tensor.as<uint8_t>().data()](int64_t i) { return static_cast<double>(data[i]); });
  if (tensor.type().dtype == DType::f32)
    return body([data = tensor.as<float>().data()](int64_t i) { return static_cast<double>(data[i]); });
  return body([&tensor](int64_t i) { return element_as_double(tensor, i); });
}

class RowsOfMask {
 public:
  RowsOfMask(const FusedKernel& feeder, const HiddenScores& hidden,
             const std::function<const Tensor*(size_t)>& constant)
      : body_(feeder.body), hidden_(hidden), constant_(constant) {
    const Shape& shape = body_.type_of(hidden.scores).shape;
    columns_ = shape.back();
    rows_ = shape[shape.size() - 2];
    axes_.assign(shape.size(), Axis::other);
    axes_[shape.size() - 1] = Axis::column;
    axes_[shape.size() - 2] = Axis::row;
    const bool is_f64 = body_.type_of(hidden.scores).dtype == DType::f64;
    underflow_ = is_f64 ? 760 : 110;  // the exponential of anything further below zero is zero
    largest_score_ = is_f64 ? 1e300 : 1e37;
  }

  std::optional<VisibleColumns> run() {
    VisibleColumns visible;
    bool hides = false;
    for (int64_t row = 0; row < rows_; ++row) {
      VisibleRange range{0, columns_};
      for (const HiddenScores::Mask& mask : hidden_.masks) {
        const VisibleRange seen = seen_through(mask, row);
        range = {std::max(range.first, seen.first), std::min(range.end, seen.end)};
      }
      hides = hides || range.first > 0 || range.end < columns_;
      visible.rows.push_back(range);
    }
    if (!hides || largest_score_ <= 0) return std::nullopt;
    if (hidden_.factor) visible.largest_product = largest_score_ / std::max(*hidden_.factor, 1.0);
    return visible;
  }

 private:
  VisibleRange seen_through(const HiddenScores::Mask& mask, int64_t row) {
    if (mask.kind == HiddenScores::Mask::Kind::added)
      return seen_through_added(mask.value, axes_of(mask.value), row);
    const bool truth = mask.kind == HiddenScores::Mask::Kind::shows;
    const Columns columns = columns_where(mask.value, axes_of(mask.value), truth, row);
    if (std::isinf(mask.fill)) return {columns.first, columns.end};
    return with_finite_fill(columns, mask.fill, 0);
  }

  /// A row that sees nothing is that of an equal weight for everything, unless what hides it is infinite.
  VisibleRange with_finite_fill(const Columns& columns, double hidden, double shown) {
    if (!columns.is_never_empty) return {0, columns_};
    const double distance = 0.99 * (shown - hidden) - underflow_;
    largest_score_ = std::min(largest_score_, distance / 2);
    return {columns.first, columns.end};
  }

  Axes axes_of(Value mask) const { return last_axes(axes_, body_.type_of(mask).shape.size()); }
  static Axes last_axes(const Axes& axes, size_t rank) {
    return Axes(axes.end() - static_cast<int64_t>(rank), axes.end());
  }

  /// The axes of the operand of a node, whose own are `axes`; nothing where they are mixed.
  std::optional<Axes> axes_of_operand(const Node& node, const Axes& axes, size_t operand) const {
    const Shape& shape = body_.type_of(node.inputs[operand]).shape;
    if (family_of(node.op) == OpFamily::Elementwise || node.op == Op::broadcast)
      return last_axes(axes, shape.size());
    Axes from(shape.size(), Axis::other);
    if (node.op == Op::transpose) {
      const Ints& permutation = node.attributes.ints(Attr::permutation);
      for (size_t own = 0; own < axes.size(); ++own) from[static_cast<size_t>(permutation[own])] = axes[own];
      return from;
    }
    if (node.op != Op::reshape || !keeps_order(body_, node)) return std::nullopt;
    size_t axis = 0;
    for (size_t own = 0; own < axes.size(); ++own) {
      if (node.type.shape[own] == 1) continue;
      while (shape[axis] == 1) ++axis;
      from[axis++] = axes[own];
    }
    return from;
  }

  /// Views that are followed to what they look at.
  static bool is_followed(Op op) { return op == Op::reshape || op == Op::broadcast || op == Op::transpose; }

  const Tensor* known(Value value) const {
    if (const Tensor* tensor = body_.constant_value(value)) return tensor;
    const auto& parameters = body_.parameters();
    const auto found = std::find(parameters.begin(), parameters.end(), value);
    return found == parameters.end() ? nullptr : constant_(static_cast<size_t>(found - parameters.begin()));
  }

  Columns everything() const { return {0, columns_, false, false}; }

  /// The columns of a row in which a condition may be `truth`.
  Columns columns_where(Value value, const Axes& axes, bool truth, int64_t row) const {
    const Node& node = body_[value];
    if (const Tensor* tensor = known(value)) {
      return with_elements(*tensor, [&](auto element) {
        return scan(*tensor, axes, row, [&](int64_t i) { return (element(i) != 0) == truth; });
      });
    }
    if (node.op == Op::bit_not) return columns_where(node.inputs[0], axes, !truth, row);
    if (is_followed(node.op)) {
      const std::optional<Axes> from = axes_of_operand(node, axes, 0);
      return from ? columns_where(node.inputs[0], *from, truth, row) : everything();
    }
    if (node.op == Op::bit_and || node.op == Op::bit_or) {
      auto part = [&](size_t i) {
        return columns_where(node.inputs[i], *axes_of_operand(node, axes, i), truth, row);
      };
      return (node.op == Op::bit_and) == truth ? both(part(0), part(1)) : either(part(0), part(1));
    }
    return compared(node, axes, truth, row);
  }

  static Columns both(const Columns& a, const Columns& b) {
    const int64_t first = std::max(a.first, b.first);
    const int64_t end = std::min(a.end, b.end);
    const bool all = a.is_all_of_them && b.is_all_of_them;
    return {first, end, all, all && first < end};
  }
  static Columns either(const Columns& a, const Columns& b) {
    if (a.end <= a.first) return b;
    if (b.end <= b.first) return a;
    const bool touch = a.first <= b.end && b.first <= a.end;
    return {std::min(a.first, b.first), std::max(a.end, b.end), a.is_all_of_them && b.is_all_of_them && touch,
            a.is_never_empty || b.is_never_empty};
  }

  Columns compared(const Node& node, const Axes& axes, bool truth, int64_t row) const {
    const bool compares =
        node.op == Op::lt || node.op == Op::le || node.op == Op::gt || node.op == Op::ge || node.op == Op::eq;
    if (!compares) return everything();
    const std::optional<Linear> left = linear(node.inputs[0], *axes_of_operand(node, axes, 0));
    const std::optional<Linear> right = linear(node.inputs[1], *axes_of_operand(node, axes, 1));
    if (!left || !right || (node.op == Op::eq && !truth)) return everything();
    const int64_t step = left->column - right->column;
    const int64_t start = (left->row - right->row) * row + left->constant - right->constant;
    // start + step * column lies in [low, high]:
    constexpr int64_t kMuch = int64_t{1} << 40;
    const bool below = node.op == Op::eq || (node.op == Op::lt || node.op == Op::le) == truth;
    const bool above = node.op == Op::eq || !below;
    const bool with_zero = node.op == Op::eq || (node.op == Op::le || node.op == Op::ge) == truth;
    const int64_t low = above ? (with_zero ? 0 : 1) : -kMuch;
    const int64_t high = below ? (with_zero ? 0 : -1) : kMuch;
    return columns_between(start, step, low, high);
  }

  Columns columns_between(int64_t start, int64_t step, int64_t low, int64_t high) const {
    auto holds = [&](int64_t column) {
      const int64_t value = start + step * column;
      return low <= value && value <= high;
    };
    if (step == 0) return holds(0) ? Columns{0, columns_, true, columns_ > 0} : Columns{0, 0, true, false};
    if (step != 1 && step != -1) return everything();
    int64_t first = step == 1 ? low - start : start - high;
    int64_t last = step == 1 ? high - start : start - low;
    first = std::clamp<int64_t>(first, 0, columns_);
    last = std::clamp<int64_t>(last, -1, columns_ - 1);
    return {first, last + 1, true, first <= last};
  }

  /// Numbers that are exact, and far from where they would not be.
  std::optional<Linear> linear(Value value, const Axes& axes) const {
    constexpr int64_t kExact = 1 << 23;
    const Node& node = body_[value];
    const DType dtype = node.type.dtype;
    if (dtype != DType::i32 && dtype != DType::i64 && dtype != DType::f32 && dtype != DType::f64)
      return std::nullopt;
    if (node.op == Op::constant && node.type.elements() == 1) {
      const double constant = number(body_, value);
      if (!(std::abs(constant) < kExact) || constant != std::floor(constant)) return std::nullopt;
      return Linear{0, 0, static_cast<int64_t>(constant)};
    }
    if (node.op == Op::iota) {
      const auto axis = static_cast<size_t>(node.attributes.integer(Attr::axis));
      if (node.type.shape[axis] == 1) return Linear{};
      if (axes[axis] == Axis::other || node.type.shape[axis] >= kExact) return std::nullopt;
      return axes[axis] == Axis::column ? Linear{1, 0, 0} : Linear{0, 1, 0};
    }
    auto operand = [&](size_t i) -> std::optional<Linear> {
      const std::optional<Axes> from = axes_of_operand(node, axes, i);
      return from ? linear(node.inputs[i], *from) : std::nullopt;
    };
    if (node.op == Op::convert || is_followed(node.op)) return operand(0);
    if (node.op != Op::add && node.op != Op::sub) return std::nullopt;
    const std::optional<Linear> a = operand(0);
    const std::optional<Linear> b = operand(1);
    if (!a || !b) return std::nullopt;
    const int64_t sign = node.op == Op::add ? 1 : -1;
    return Linear{a->column + sign * b->column, a->row + sign * b->row, a->constant + sign * b->constant};
  }

  /// Calls `body(first element, step)` for the row's elements at every place along the other axes, of which
  /// `step` is from column to column.
  template <class Body>
  static void for_each_line(const Tensor& tensor, const Axes& axes, int64_t row, Body body) {
    const Shape& shape = tensor.type().shape;
    int64_t step = 0;
    int64_t start = 0;
    int64_t stride = 1;
    std::vector<std::pair<int64_t, int64_t>> others;  // extent and stride
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (shape[axis] != 1) {
        if (axes[axis] == Axis::column) step = stride;
        if (axes[axis] == Axis::row) start = row * stride;
        if (axes[axis] == Axis::other) others.emplace_back(shape[axis], stride);
      }
      stride *= shape[axis];
    }
    int64_t lines = 1;
    for (const auto& [extent, distance] : others) lines *= extent;
    for (int64_t line = 0; line < lines; ++line) {
      int64_t at = start;
      int64_t rest = line;
      for (const auto& [extent, distance] : others) {
        at += rest % extent * distance;
        rest /= extent;
      }
      body(at, step);
    }
  }

  template <class Holds>
  Columns scan(const Tensor& tensor, const Axes& axes, int64_t row, Holds holds) const {
    Columns found{columns_, 0, false, true};
    for_each_line(tensor, axes, row, [&](int64_t start, int64_t step) {
      int64_t first = 0;
      int64_t end = columns_;
      if (step == 0) {
        if (!holds(start)) first = end = 0;
      } else {
        while (first < end && !holds(start + step * first)) ++first;
        while (first < end && !holds(start + step * (end - 1))) --end;
      }
      if (first == end) {
        found.is_never_empty = false;
      } else {
        found.first = std::min(found.first, first);
        found.end = std::max(found.end, end);
      }
    });
    return found;
  }

  VisibleRange seen_through_added(Value value, const Axes& axes, int64_t row) {
    const Node& node = body_[value];
    if (const Tensor* tensor = known(value)) return seen_through_numbers(*tensor, axes, row);
    if (node.op == Op::convert || is_followed(node.op)) {
      const std::optional<Axes> from = axes_of_operand(node, axes, 0);
      return from ? seen_through_added(node.inputs[0], *from, row) : VisibleRange{0, columns_};
    }
    if (node.op != Op::select || !is_number(body_, node.inputs[1]) || !is_number(body_, node.inputs[2]))
      return {0, columns_};
    const double where_true = number(body_, node.inputs[1]);
    const double where_false = number(body_, node.inputs[2]);
    const bool shows = where_false <= kFarBelow;
    const double hidden = shows ? where_false : where_true;
    const double shown = shows ? where_true : where_false;
    if (hidden > kFarBelow || !(shown > kFarBelow)) return {0, columns_};
    const Columns columns = columns_where(node.inputs[0], *axes_of_operand(node, axes, 0), shows, row);
    if (std::isinf(hidden)) return {columns.first, columns.end};
    return with_finite_fill(columns, hidden, shown);
  }

  VisibleRange seen_through_numbers(const Tensor& tensor, const Axes& axes, int64_t row) {
    return with_elements(tensor, [&](auto at) -> VisibleRange {
      const Columns columns = scan(tensor, axes, row, [&](int64_t i) { return !(at(i) <= kFarBelow); });
      if (columns.first == 0 && columns.end == columns_) return {0, columns_};
      double hidden = -std::numeric_limits<double>::infinity();  // the largest
      double shown = std::numeric_limits<double>::infinity();    // the least of the largest of each line
      for_each_line(tensor, axes, row, [&](int64_t start, int64_t step) {
        double largest = -std::numeric_limits<double>::infinity();
        for (int64_t column = 0; column < columns_; ++column) {
          const double element = at(start + step * column);
          if (element <= kFarBelow) hidden = std::max(hidden, element);
          largest = std::max(largest, element);
        }
        shown = std::min(shown, largest);
      });
      if (std::isinf(hidden)) return {columns.first, columns.end};
      return with_finite_fill(columns, hidden, shown);
    });
  }

  const Graph& body_;
  const HiddenScores& hidden_;
  const std::function<const Tensor*(size_t)>& constant_;
  int64_t columns_ = 0;
  int64_t rows_ = 0;
  Axes axes_;  ///< of the scores
  double underflow_ = 0;
  double largest_score_ = 0;  ///< that may stand beside what is hidden
};

}  // namespace

std::optional<VisibleColumns> find_visible_columns(
    const FusedKernel& feeder, const HiddenScores& hidden,
    const std::function<const Tensor*(size_t input)>& constant) {
  return RowsOfMask(feeder, hidden, constant).run();
}

}  // namespace tokamak
