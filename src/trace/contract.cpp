// Products of matrices and what NumPy makes of them. All of them are one `dot`.

#include "trace/contract.h"

#include <algorithm>
#include <numeric>

#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

int64_t extent_of(const Named& x, int name) {
  const auto place = std::find(x.names.begin(), x.names.end(), name) - x.names.begin();
  return x.array.shape()[static_cast<size_t>(place)];
}

int64_t axis_of(const Named& x, int name) {
  return std::find(x.names.begin(), x.names.end(), name) - x.names.begin();
}

Named without_axis(const Named& x, int name, const std::source_location& where) {
  Named result = x;
  Shape shape = x.array.shape();
  shape.erase(shape.begin() + axis_of(x, name));
  result.names.erase(result.names.begin() + axis_of(x, name));
  result.array = reshaped(x.array, std::move(shape), where);
  return result;
}

/// Leaves out the extents of 1 that stretch, so that a name of both has the same extent in both.
void leave_out_ones(Named& a, Named& b, const Names& result, const std::source_location& where) {
  for (int name : Names(a.names)) {
    if (!has_name(b.names, name)) continue;
    const int64_t left = extent_of(a, name);
    const int64_t right = extent_of(b, name);
    if (left != right) {
      Named& stretched = left == 1 ? a : b;
      stretched = without_axis(stretched, name, where);
    } else if (left == 1 && has_name(result, name)) {
      b = without_axis(b, name, where);
    }
  }
}

/// Sums over the names that neither the result nor the other operand has.
Named summed_alone(const Named& x, const Named& other, const Names& result,
                   const std::source_location& where) {
  Names kept;
  for (int name : x.names) {
    if (has_name(other.names, name) || has_name(result, name)) kept.push_back(name);
  }
  return summed_to(x, kept, where);
}

Array turned(const Named& x, const Names& names) {
  Ints permutation;
  for (int name : names) permutation.push_back(axis_of(x, name));
  return transpose(x.array, std::move(permutation));
}

/// `x` with an axis for every name, of extent 1 where it has none.
Array spread(const Named& x, const Names& names, const std::source_location& where) {
  Names own;
  Shape shape;
  for (int name : names) {
    if (has_name(x.names, name)) own.push_back(name);
    shape.push_back(has_name(x.names, name) ? extent_of(x, name) : 1);
  }
  return reshaped(turned(x, own), std::move(shape), where);
}

Array product(const Array& a, const Array& b) {
  return a.dtype() == DType::boolean ? bit_and(a, b) : mul(a, b);
}

Named dot_of(const Named& a, const Named& b, const Names& result, const std::source_location& where) {
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  for (int name : result) {
    if (!has_name(a.names, name) || !has_name(b.names, name)) continue;
    lhs_batch.push_back(axis_of(a, name));
    rhs_batch.push_back(axis_of(b, name));
  }
  for (int name : a.names) {
    if (has_name(result, name)) continue;
    lhs_contract.push_back(axis_of(a, name));
    rhs_contract.push_back(axis_of(b, name));
  }
  Named made;
  for (int name : result) {
    if (has_name(a.names, name) && has_name(b.names, name)) made.names.push_back(name);
  }
  for (const Named* one : {&a, &b}) {
    const Names& others = one == &a ? b.names : a.names;
    for (int name : one->names) {
      if (!has_name(others, name)) made.names.push_back(name);
    }
  }
  made.array = apply(Op::dot, {a.array, b.array},
                     {{Attr::lhs_batch, std::move(lhs_batch)},
                      {Attr::rhs_batch, std::move(rhs_batch)},
                      {Attr::lhs_contract, std::move(lhs_contract)},
                      {Attr::rhs_contract, std::move(rhs_contract)}},
                     where);
  return made;
}

/// Both operands as arrays of the dtype they meet in. Numbers are arrays here, as in NumPy: np.dot(x, 2.0) of
/// an f32 array is f64.
std::pair<Array, Array> promoted(const Operand& a, const Operand& b) {
  const Array left = as_array(a);
  const Array right = as_array(b);
  const DType dtype = promote(left.dtype(), right.dtype());
  return {astype(left, dtype), astype(right, dtype)};
}

[[noreturn]] void fail_mismatch(std::string_view op, const Array& a, const Array& b, int64_t a_axis,
                                int64_t b_axis, const std::source_location& where) {
  fail(op,
       to_string(a.type()) + " and " + to_string(b.type()) + " do not match: axis " + std::to_string(a_axis) +
           " of the first is " + std::to_string(a.shape()[static_cast<size_t>(a_axis)]) + ", axis " +
           std::to_string(b_axis) + " of the second is " +
           std::to_string(b.shape()[static_cast<size_t>(b_axis)]),
       where);
}

void require_equal(std::string_view op, const Array& a, const Array& b, int64_t a_axis, int64_t b_axis,
                   const std::source_location& where) {
  if (a.shape()[static_cast<size_t>(a_axis)] != b.shape()[static_cast<size_t>(b_axis)])
    fail_mismatch(op, a, b, a_axis, b_axis, where);
}

/// Batch axis i, counted from the last one, has the name i.
constexpr int kRow = -1, kColumn = -2, kSummed = -3;

Names batch_names(int64_t count) {
  Names names(static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::iota(names.rbegin(), names.rend(), 0);
  return names;
}

}  // namespace

bool has_name(const Names& names, int name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Named summed_to(const Named& x, const Names& names, const std::source_location& where) {
  Named made = x;
  Ints axes;
  for (size_t i = 0; i < x.names.size(); ++i) {
    if (!has_name(names, x.names[i])) axes.push_back(static_cast<int64_t>(i));
  }
  if (!axes.empty()) {
    std::erase_if(made.names, [&](int name) { return !has_name(names, name); });
    const Op op = x.array.dtype() == DType::boolean ? Op::reduce_any : Op::reduce_sum;
    made.array = apply(op, {x.array}, {{Attr::axes, std::move(axes)}}, where);
  }
  made.array = turned(made, names);
  made.names = names;
  return made;
}

Array contract(const Named& a, const Named& b, const Names& result, const std::source_location& where) {
  Named left = a;
  Named right = b;
  leave_out_ones(left, right, result, where);
  left = summed_alone(left, right, result, where);
  right = summed_alone(right, left, result, where);
  const bool sums =
      std::any_of(left.names.begin(), left.names.end(), [&](int name) { return !has_name(result, name); });
  if (!sums) return product(spread(left, result, where), spread(right, result, where));
  const bool swapped = natural_names(left, right, result) != result &&
                       natural_names(right, left, result) == result;  // saves the transpose
  const Named made = swapped ? dot_of(right, left, result, where) : dot_of(left, right, result, where);
  return turned(made, result);
}

Names natural_names(const Named& a, const Named& b, const Names& kept) {
  Names names;
  for (int name : kept) {
    if (has_name(a.names, name) && has_name(b.names, name)) names.push_back(name);
  }
  for (int name : a.names) {
    if (has_name(kept, name) && !has_name(b.names, name)) names.push_back(name);
  }
  for (int name : b.names) {
    if (has_name(kept, name) && !has_name(a.names, name)) names.push_back(name);
  }
  return names;
}

Array dot_general(const Operand& a, const Operand& b, const DotGeneral& axes) {
  AtLine line(a);
  const auto [left, right] = promoted(a, b);
  auto from_front = [&](Ints list, const Array& of) {
    for (int64_t& axis : list) axis = normalized_axis(axis, of.rank(), of.type(), "dot_general", a.where());
    return list;
  };
  return apply(Op::dot, {left, right},
               {{Attr::lhs_batch, from_front(axes.lhs_batch, left)},
                {Attr::rhs_batch, from_front(axes.rhs_batch, right)},
                {Attr::lhs_contract, from_front(axes.lhs_contract, left)},
                {Attr::rhs_contract, from_front(axes.rhs_contract, right)}},
               a.where());
}

Array matmul(const Operand& a, const Operand& b) {
  AtLine line(a);
  const auto [left, right] = promoted(a, b);
  for (const Array& one : {left, right}) {
    if (one.rank() == 0) fail("matmul", "a scalar (" + to_string(one.type()) + ") is no matrix", a.where());
  }
  const bool row = left.rank() > 1;
  const bool column = right.rank() > 1;
  require_equal("matmul", left, right, left.rank() - 1, column ? right.rank() - 2 : 0, a.where());
  Names left_names = batch_names(left.rank() - 2);
  Names right_names = batch_names(right.rank() - 2);
  for (size_t i = 0; i < std::min(left_names.size(), right_names.size()); ++i) {
    const int64_t left_axis = left.rank() - 3 - static_cast<int64_t>(i);
    const int64_t right_axis = right.rank() - 3 - static_cast<int64_t>(i);
    const int64_t extents[] = {left.shape()[static_cast<size_t>(left_axis)],
                               right.shape()[static_cast<size_t>(right_axis)]};
    if (extents[0] != 1 && extents[1] != 1 && extents[0] != extents[1])
      fail_mismatch("matmul", left, right, left_axis, right_axis, a.where());
  }
  Names result = left_names.size() > right_names.size() ? left_names : right_names;
  if (row) left_names.push_back(kRow);
  left_names.push_back(kSummed);
  right_names.push_back(kSummed);
  if (column) right_names.push_back(kColumn);
  if (row) result.push_back(kRow);
  if (column) result.push_back(kColumn);
  return contract({left, left_names}, {right, right_names}, result, a.where());
}

namespace {

/// NumPy calls an axis that is not there an index out of range.
int64_t tensordot_axis(int64_t axis, const Array& of, const std::source_location& where) {
  if (axis >= -of.rank() && axis < of.rank()) return axis < 0 ? axis + of.rank() : axis;
  fail("tensordot", "axis " + std::to_string(axis) + " is out of range for " + to_string(of.type()), where,
       UserError::Kind::index);
}

}  // namespace

Array tensordot(const Operand& a, const Operand& b, const std::vector<int64_t>& a_axes,
                const std::vector<int64_t>& b_axes) {
  AtLine line(a);
  const auto [left, right] = promoted(a, b);
  if (a_axes.size() != b_axes.size()) {
    fail("tensordot",
         to_string(left.type()) + " and " + to_string(right.type()) + ": " + std::to_string(a_axes.size()) +
             " axes of the first operand and " + std::to_string(b_axes.size()) +
             " of the second do not pair up",
         a.where());
  }
  Names left_names(left.shape().size());
  Names right_names(right.shape().size());
  std::iota(left_names.begin(), left_names.end(), 0);
  std::iota(right_names.begin(), right_names.end(), static_cast<int>(left_names.size()));
  Names result = left_names;
  result.insert(result.end(), right_names.begin(), right_names.end());
  for (size_t i = 0; i < a_axes.size(); ++i) {
    const int64_t of_a = tensordot_axis(a_axes[i], left, a.where());
    const int64_t of_b = tensordot_axis(b_axes[i], right, a.where());
    require_equal("tensordot", left, right, of_a, of_b, a.where());
    const int summed = left_names[static_cast<size_t>(of_a)];
    int& other = right_names[static_cast<size_t>(of_b)];
    if (!has_name(result, summed) || !has_name(result, other))
      fail("tensordot",
           to_string(left.type()) + " and " + to_string(right.type()) + ": an axis is named twice",
           a.where());
    std::erase_if(result, [&](int name) { return name == summed || name == other; });
    other = summed;
  }
  return contract({left, left_names}, {right, right_names}, result, a.where());
}

Array tensordot(const Operand& a, const Operand& b, int64_t axes) {
  AtLine line(a);
  const Array left = as_array(a);
  const Array right = as_array(b);
  if (axes > std::min(left.rank(), right.rank())) {
    fail("tensordot",
         to_string(left.type()) + " and " + to_string(right.type()) + " do not both have " +
             std::to_string(axes) + " axes",
         a.where(), UserError::Kind::index);
  }
  Ints last, first;
  for (int64_t i = 0; i < axes; ++i) {
    last.push_back(i - axes);
    first.push_back(i);
  }
  return tensordot(left, right, last, first);
}

namespace {

/// The last axis of the first with `axis_from_end` of the second; a product where one of them is a scalar.
Array over_last_axis(std::string_view op, const Operand& a, const Operand& b, int64_t axis_from_end) {
  AtLine line(a);
  const auto [left, right] = promoted(a, b);
  if (left.rank() == 0 || right.rank() == 0) return product(left, right);
  const int64_t of_b = std::max<int64_t>(right.rank() - axis_from_end, 0);
  require_equal(op, left, right, left.rank() - 1, of_b, a.where());
  return tensordot(left, right, {left.rank() - 1}, {of_b});
}

}  // namespace

Array dot(const Operand& a, const Operand& b) { return over_last_axis("dot", a, b, 2); }

Array inner(const Operand& a, const Operand& b) { return over_last_axis("inner", a, b, 1); }

Array outer(const Operand& a, const Operand& b) {
  AtLine line(a);
  const auto [left, right] = promoted(a, b);
  return product(reshape(left, {left.size(), 1}), reshape(right, {1, right.size()}));
}

Array vdot(const Operand& a, const Operand& b) {
  AtLine line(a);
  const Array left = ravel(a);
  const Array right = ravel(b);
  if (left.size() != right.size()) {
    fail("vdot",
         to_string(as_array(a).type()) + " and " + to_string(as_array(b).type()) +
             " have different numbers of elements",
         a.where());
  }
  return dot(left, right);
}

}  // namespace tokamak
