// Patterns of programs that work on arrays place by place.

#include <algorithm>

#include "ir/random_maker.h"

namespace tokamak::testing {

/// x[a::s] = f(x[b::s]), as front ends write it: spread out, and chosen where it is.
void RandomMaker::add_strided_writes() {
  const DType dtype = this->dtype();
  const Shape whole = shape_between(1, 2, 3, options_.large ? 300 : 70);
  Value array = operand(dtype, whole);
  for (int writes = pick(1, 3); writes > 0; --writes) {
    Ints starts, ends, steps, interior, high;
    Value inside{};
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      const auto extent = static_cast<int>(whole[axis]);
      const int step = pick(1, 4), start = pick(0, std::min(step, extent - 1));
      const int count = pick(1, (extent - 1 - start) / step + 1);
      starts.push_back(start);
      ends.push_back(start + (count - 1) * step + 1);
      steps.push_back(step);
      interior.push_back(step - 1);
      high.push_back(extent - ends.back());
      auto number = [&](int64_t n) { return graph_.add_constant(scalar_tensor(DType::i64, n)); };
      const Value place = graph_.add(
          Op::iota, {},
          {{Attr::shape, whole}, {Attr::axis, static_cast<int64_t>(axis)}, {Attr::dtype, DType::i64}});
      const Value from_start = graph_.add(Op::sub, {place, number(start)});
      Value here = graph_.add(Op::bit_and, {graph_.add(Op::ge, {place, number(start)}),
                                            graph_.add(Op::lt, {place, number(ends.back())})});
      const Value in_step = graph_.add(Op::eq, {graph_.add(Op::mod, {from_start, number(step)}), number(0)});
      here = graph_.add(Op::bit_and, {here, in_step});
      inside = axis == 0 ? here : graph_.add(Op::bit_and, {inside, here});
    }
    // From the array itself, perhaps other places of it, or from elsewhere.
    Shape part;
    Ints from = starts, until = ends;
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      part.push_back((ends[axis] - starts[axis] - 1) / steps[axis] + 1);
      const int64_t shift = chance(2) ? 0 : pick(0, static_cast<int>(high[axis]));
      from[axis] += shift;
      until[axis] += shift;
    }
    Value made = chance(4) ? operand(dtype, part)
                           : graph_.add(Op::slice, {array},
                                        {{Attr::starts, from}, {Attr::limits, until}, {Attr::steps, steps}});
    if (dtype != DType::boolean && chance(2)) made = graph_.add(Op::add, {made, operand(dtype, part)});
    if (dtype != DType::boolean && chance(3)) made = graph_.add(Op::mul, {made, scalar(dtype, 3)});
    const Value spread = graph_.add(Op::pad, {made, scalar(dtype, 0)},
                                    {{Attr::low, starts}, {Attr::high, high}, {Attr::interior, interior}});
    array = graph_.add(Op::select, {inside, spread, array});
  }
}

/// Reductions of integers, and of halves, over more than a vector of them.
void RandomMaker::add_narrow_reductions() {
  const DType dtype =
      one_of({DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u64, DType::f16, DType::bf16});
  const Value of =
      operand(dtype, chance(3) ? Shape{pick(1, 700)} : shape_between(2, 3, 1, chance(2) ? 12 : 90));
  for (int reductions = pick(1, 3); reductions > 0; --reductions) {
    const int64_t axis = some_axis(of);
    const Op op = one_of({Op::reduce_sum, Op::reduce_max, Op::reduce_min, Op::reduce_prod, Op::argmax,
                          Op::argmin, Op::cumsum, Op::cummax});
    const bool along_one = op == Op::argmax || op == Op::argmin || op == Op::cumsum || op == Op::cummax;
    Ints axes = chance(2) ? Ints{axis} : some_axes(type_of(of).rank());
    if (axes.empty()) axes = {axis};
    if (along_one) {
      graph_.add(op, {of}, {{Attr::axis, axis}});
    } else {
      graph_.add(op, {of}, {{Attr::axes, axes}});
    }
    const bool keeps_type = op == Op::reduce_max || op == Op::reduce_min || op == Op::reduce_sum;
    if (keeps_type && axes == Ints{axis} && chance(2))
      graph_.add(op == Op::reduce_sum ? Op::add : Op::sub, {of, reduced_keeping(op, of, axis)});
  }
}

/// Something of every pair of points: squared distances, and sums over one of the two.
void RandomMaker::add_all_pairs() {
  const DType dtype = chance(4) ? DType::i32 : float_dtype();
  const int ones = sized(options_.large ? 12 : 40),
            others = chance(3) ? ones : sized(options_.large ? 12 : 40);
  const int axes = pick(1, 5);
  const Value first = operand(dtype, {ones, axes});
  const Value second = ones == others && chance(2) ? first : operand(dtype, {others, axes});
  const Value left = graph_.add(Op::reshape, {first}, {{Attr::shape, Ints{ones, 1, axes}}});
  const Value right = graph_.add(Op::reshape, {second}, {{Attr::shape, Ints{1, others, axes}}});
  const Value apart = graph_.add(chance(3) ? Op::mul : Op::sub, {left, right});
  const Value squares = chance(4) ? apart : graph_.add(Op::mul, {apart, apart});
  Value made = graph_.add(Op::reduce_sum, {squares}, {{Attr::axes, Ints{2}}});
  if (chance(2) && is_float(dtype))
    made = graph_.add(chance(2) ? Op::rsqrt : Op::sqrt, {graph_.add(Op::add, {made, scalar(dtype, 1)})});
  if (chance(2)) {
    const Value weights = graph_.add(Op::reshape, {made}, {{Attr::shape, Ints{ones, others, 1}}});
    made = graph_.add(Op::reduce_sum, {graph_.add(Op::mul, {apart, weights})}, {{Attr::axes, Ints{1}}});
  }
  if (chance(3))
    graph_.add(one_of({Op::reduce_sum, Op::reduce_min}), {made}, {{Attr::axes, Ints{some_axis(made)}}});
  if (chance(3)) graph_.add(one_of({Op::argmin, Op::argmax}), {made}, {{Attr::axis, some_axis(made)}});
}

/// Over two axes of a matrix that are not one run in memory; some are so long that tasks share the sum.
void RandomMaker::add_block_sum() {
  const DType dtype = float_dtype();
  const int columns = pick(2, 130);
  const int rows = chance(3) ? 70'000 / columns + pick(2, 400) : pick(2, 60);
  Value made = operand(dtype, {rows, columns});
  if (chance(2)) {
    made = graph_.add(Op::slice, {made},
                      {{Attr::starts, Ints{pick(0, 1), 1}},
                       {Attr::limits, Ints{rows, columns}},
                       {Attr::steps, Ints{1, pick(1, 2)}}});
  } else {
    made = graph_.add(Op::mul, {made, operand(dtype, {columns})});
  }
  graph_.add(one_of({Op::reduce_sum, Op::reduce_sum, Op::reduce_max}), {made}, {{Attr::axes, Ints{0, 1}}});
}

/// Rows of a table, by number, and what is made of them; some numbers beyond the table.
void RandomMaker::add_gathered_rows() {
  const DType dtype = chance(3) ? this->dtype() : float_dtype();
  const int rows = sized(20), columns = sized(40);
  const Word mode = options_.checks ? Word::check : Word::clamp;
  const Value table = operand(dtype, {rows, columns});
  const Shape places = shape_between(1, 2, 1, 12);
  Value made = graph_.add(Op::gather, {table, indices(places, rows, mode)},
                          {{Attr::axis, int64_t{0}}, {Attr::mode, mode}});
  if (dtype == DType::boolean) return;
  if (chance(2)) made = graph_.add(Op::mul, {made, operand(dtype, {columns})});
  const int64_t axis = some_axis(made);
  if (chance(2)) made = graph_.add(Op::reduce_sum, {made}, {{Attr::axes, Ints{axis}}});
  if (chance(4)) graph_.add(Op::add, {made, scalar(dtype, 1)});
}

}  // namespace tokamak::testing
