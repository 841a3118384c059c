// Patterns that the compiler looks for, and the ways people write them.

#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/random_maker.h"

namespace tokamak::testing {

void RandomMaker::add_idiom() {
  if (options_.exact_only) return;
  static constexpr void (RandomMaker::*kIdioms[])() = {
      &RandomMaker::add_softmax,        &RandomMaker::add_normalisation,  &RandomMaker::add_layer,
      &RandomMaker::add_convolution,    &RandomMaker::add_attention,      &RandomMaker::add_symmetric_product,
      &RandomMaker::add_part_of_sorted, &RandomMaker::add_histogram,      &RandomMaker::add_stencil,
      &RandomMaker::add_written_parts,  &RandomMaker::add_pieces,         &RandomMaker::add_running_sums,
      &RandomMaker::add_columns,        &RandomMaker::add_strided_writes, &RandomMaker::add_narrow_reductions,
      &RandomMaker::add_all_pairs,      &RandomMaker::add_gathered_rows,  &RandomMaker::add_block_sum,
  };
  (this->*kIdioms[static_cast<size_t>(pick(0, std::size(kIdioms) - 1))])();
}

/// The last axis of the first with the last but one of the second, behind the batch axes.
Value RandomMaker::matrix_product(Value lhs, Value rhs, Ints lhs_batch, Ints rhs_batch) {
  const int64_t left = type_of(lhs).rank() - 1;
  const int64_t right = std::max<int64_t>(type_of(rhs).rank() - 2, 0);
  return graph_.add(Op::dot, {lhs, rhs},
                    {{Attr::lhs_batch, std::move(lhs_batch)},
                     {Attr::rhs_batch, std::move(rhs_batch)},
                     {Attr::lhs_contract, Ints{left}},
                     {Attr::rhs_contract, Ints{right}}});
}

Value RandomMaker::reduced_keeping(Op op, Value of, int64_t axis) {
  Shape kept = type_of(of).shape;
  kept[static_cast<size_t>(axis)] = 1;
  const Value reduced = graph_.add(op, {of}, {{Attr::axes, Ints{axis}}});
  return graph_.add(Op::reshape, {reduced}, {{Attr::shape, kept}});
}

Value RandomMaker::softmax(Value of, int64_t axis) {
  const Value shifted = graph_.add(Op::sub, {of, reduced_keeping(Op::reduce_max, of, axis)});
  const Value exponentials = graph_.add(Op::exp, {shifted});
  return graph_.add(Op::div, {exponentials, reduced_keeping(Op::reduce_sum, exponentials, axis)});
}

/// Of a cache, in any float: several of such rows are worked on at once.
Shape RandomMaker::rows_of_whole_lines() { return {pick(2, 80), 32 * pick(1, 4)}; }

void RandomMaker::add_softmax() {
  const Value of = operand(float_dtype(), options_.large ? Shape{sized(40), sized(40)}
                                          : chance(3)    ? rows_of_whole_lines()
                                                         : shape_between(1, 3, 1, 40));
  const Value made = softmax(of, some_axis(of));
  if (chance(3)) graph_.add(Op::log, {made});
}

/// Less the mean, divided by the standard deviation, times weights.
void RandomMaker::add_normalisation() {
  const Value of = operand(float_dtype(), chance(3) ? rows_of_whole_lines() : shape_between(2, 3, 1, 30));
  const int64_t axis = some_axis(of);
  const DType dtype = type_of(of).dtype;
  const Value length = scalar(dtype, static_cast<double>(type_of(of).shape[static_cast<size_t>(axis)]));
  const Value mean = graph_.add(Op::div, {reduced_keeping(Op::reduce_sum, of, axis), length});
  const Value centred = graph_.add(Op::sub, {of, mean});
  const Value squares = graph_.add(Op::mul, {centred, centred});
  const Value variance = graph_.add(Op::div, {reduced_keeping(Op::reduce_sum, squares, axis), length});
  const Value scale = graph_.add(Op::rsqrt, {graph_.add(Op::add, {variance, scalar(dtype, 1e-3)})});
  const Value normal = graph_.add(Op::mul, {centred, scale});
  if (chance(2)) graph_.add(Op::mul, {normal, operand(dtype, {type_of(of).shape.back()})});
}

/// Something of every column, of which some have thousands of rows, beside the rows that are moved and scaled
/// by it.
void RandomMaker::add_columns() {
  const bool is_long = options_.large || chance(4);
  Shape shape{is_long ? pick(1000, 5000) : pick(1, 300), chance(8) ? 1 : pick(2, is_long ? 70 : 40)};
  if (chance(4)) shape.insert(shape.begin(), pick(1, 3));
  Value of = operand(chance(5) ? DType::i32 : float_dtype(), shape);
  const DType dtype = type_of(of).dtype;
  if (chance(3)) of = graph_.add(Op::mul, {of, scalar(dtype, 2)});
  const auto rows_axis = static_cast<int64_t>(shape.size()) - 2;
  const Value length = scalar(dtype, static_cast<double>(shape[static_cast<size_t>(rows_axis)]));
  auto mean_of = [&](Value what) {
    Value sum = reduced_keeping(Op::reduce_sum, what, rows_axis);
    if (rows_axis > 0 && chance(2)) sum = reduced_keeping(Op::reduce_sum, sum, 0);
    return dtype == DType::i32 ? sum : graph_.add(Op::div, {sum, length});
  };
  const Value middle =
      chance(3) ? reduced_keeping(chance(2) ? Op::reduce_max : Op::reduce_min, of, rows_axis) : mean_of(of);
  const Value centred = graph_.add(Op::sub, {of, middle});
  if (chance(2)) return;
  const Value spread = mean_of(graph_.add(Op::mul, {centred, centred}));
  if (chance(2) || dtype == DType::i32) return;
  const Value scale = graph_.add(Op::rsqrt, {graph_.add(Op::add, {spread, scalar(dtype, 1e-3)})});
  graph_.add(Op::mul, {centred, scale});
}

/// Often something that can be computed where a product reads it: scaled, or of another type.
Value RandomMaker::made_operand(DType dtype, const Shape& shape) {
  if (dtype == DType::boolean || chance(2)) return operand(dtype, shape);
  const DType narrow = one_of({DType::i8, DType::u8, DType::bf16, DType::f16, DType::f32});
  Value made = operand(chance(2) ? narrow : dtype, shape);
  if (type_of(made).dtype != dtype) made = graph_.add(Op::convert, {made}, {{Attr::dtype, dtype}});
  if (chance(2))
    made = graph_.add(Op::mul, {made, chance(2) ? scalar(dtype, 2) : operand(dtype, {shape.back()})});
  return made;
}

/// A product of matrices with what surrounds one in a network.
void RandomMaker::add_layer() {
  const DType dtype = chance(3) ? this->dtype() : float_dtype();
  const Shape batch = shape_between(0, options_.large ? 0 : 2, 1, 4);
  const int rows = sized(40), columns = sized(40);
  const int depth = chance(6) && batch.empty() ? pick(100, 400) : sized(40);
  Shape left = batch, right;
  left.insert(left.end(), {rows, depth});
  Ints batched;
  if (chance(2)) {  // both have the batch
    right = batch;
    batched.resize(batch.size());
    std::iota(batched.begin(), batched.end(), 0);
  }
  right.insert(right.end(), {depth, columns});
  Value made = matrix_product(made_operand(dtype, left), made_operand(dtype, right), batched, batched);
  if (dtype == DType::boolean) return;
  if (chance(2)) made = graph_.add(Op::add, {made, operand(dtype, {columns})});
  if (chance(2)) made = graph_.add(Op::max, {made, scalar(dtype, 0)});
  if (chance(3)) made = graph_.add(Op::sub, {made, reduced_keeping(Op::reduce_max, made, some_axis(made))});
  if (chance(3)) made = matrix_product(made, operand(dtype, {columns, pick(1, 20)}));
  if (chance(4)) graph_.add(Op::reduce_sum, {made}, {{Attr::axes, some_axes(type_of(made).rank())}});
}

/// Pictures [count, channels, height, width], with factors for every channel of the result behind it.
void RandomMaker::add_convolution() {
  const DType dtype = float_dtype();
  const int count = pick(1, 2), channels = sized(6), made_channels = sized(6);
  const int high = pick(1, 3), wide = chance(2) ? high : pick(1, 3);
  Value picture = operand(dtype, {count, channels, pick(high, 14), pick(wide, 14)});
  if (chance(2)) {
    const int border = pick(0, 2);
    picture = graph_.add(Op::pad, {picture, scalar(dtype, 0)},
                         {{Attr::low, Ints{0, 0, border, border}},
                          {Attr::high, Ints{0, 0, border, pick(0, 2)}},
                          {Attr::interior, Ints{0, 0, 0, chance(6) ? 1 : 0}}});
  }
  const Shape& padded = type_of(picture).shape;
  const int dilation = high * 2 - 1 <= padded[2] && wide * 2 - 1 <= padded[3] && chance(4) ? 2 : 1;
  const int step = chance(3) ? 2 : 1;
  const Value windows = graph_.add(Op::window, {picture},
                                   {{Attr::axes, Ints{2, 3}},
                                    {Attr::steps, Ints{step, step}},
                                    {Attr::sizes, Ints{high, wide}},
                                    {Attr::dilations, Ints{dilation, dilation}}});
  const Shape weights_shape{made_channels, channels, high, wide};
  const Value weights = chance(2) ? constant(dtype, weights_shape) : operand(dtype, weights_shape);
  const Value spread =
      graph_.add(Op::broadcast, {weights}, {{Attr::shape, Ints{count, made_channels, channels, high, wide}}});
  Value made = graph_.add(Op::dot, {spread, windows},
                          {{Attr::lhs_batch, Ints{0}},
                           {Attr::rhs_batch, Ints{0}},
                           {Attr::lhs_contract, Ints{2, 3, 4}},
                           {Attr::rhs_contract, Ints{1, 4, 5}}});
  if (chance(2)) made = graph_.add(Op::mul, {made, constant(dtype, {made_channels, 1, 1})});
  if (chance(2)) made = graph_.add(Op::add, {made, operand(dtype, {made_channels, 1, 1})});
  if (chance(2)) graph_.add(Op::max, {made, scalar(dtype, 0)});
}

Value RandomMaker::transposed_matrices(Value of) {
  Ints permutation(type_of(of).shape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return graph_.add(Op::transpose, {of}, {{Attr::permutation, permutation}});
}

/// softmax(q k' + mask) v over [batch, heads], with or without what is hidden, in any order of the operands.
void RandomMaker::add_attention() {
  const DType dtype = chance(4) ? float_dtype() : DType::f32;
  const Shape batch = shape_between(0, 2, 1, 3);
  const int queries = chance(5) ? 1 : sized(options_.large ? 30 : 70);
  const int keys = chance(2) ? queries : sized(30), depth = sized(8);
  const bool keys_first = chance(3);
  const int rows = keys_first ? keys : queries, columns = keys_first ? queries : keys;
  auto with = [&](std::initializer_list<int64_t> more) {
    Shape all = batch;
    all.insert(all.end(), more);
    return all;
  };
  Ints batched(batch.size());
  std::iota(batched.begin(), batched.end(), 0);
  const Value second = operand(dtype, with({depth, columns}));
  Value scores = matrix_product(operand(dtype, with({rows, depth})), second, batched, batched);
  if (chance(2)) scores = graph_.add(Op::mul, {scores, scalar(dtype, 0.25)});
  if (chance(2)) {  // causal, by index
    auto places = [&](int64_t axis) {
      return graph_.add(Op::iota, {},
                        {{Attr::shape, Ints{rows, columns}}, {Attr::axis, axis}, {Attr::dtype, DType::i64}});
    };
    const Value shown = graph_.add(one_of({Op::le, Op::lt, Op::ge}), {places(1), places(0)});
    const Value fill = scalar(dtype, dtype == DType::f16 ? -60000.0 : one_of({-1e9, -1e30}));
    scores = graph_.add(Op::select, {shown, scores, fill});
  } else if (chance(2)) {
    scores = graph_.add(Op::add, {scores, operand(dtype, {rows, columns})});
  } else if (chance(2)) {  // whatever is shown: nothing, in some rows
    const Value shown = operand(DType::boolean, chance(2) ? Shape{columns} : Shape{rows, columns});
    const Value fill = scalar(dtype, one_of({-60000.0, -std::numeric_limits<double>::infinity()}));
    scores = graph_.add(Op::select, {shown, scores, fill});
  }
  Value weights = softmax(scores, type_of(scores).rank() - (keys_first ? 2 : 1));
  const bool behind = chance(3);
  if (keys_first != behind) weights = transposed_matrices(weights);
  const int features = pick(1, 16);
  Value mixed = behind ? matrix_product(operand(dtype, with({features, keys})), weights, batched, batched)
                       : matrix_product(weights, operand(dtype, with({keys, features})), batched, batched);
  if (chance(4)) mixed = transposed_matrices(mixed);
  if (chance(4)) softmax(mixed, type_of(mixed).rank() - 1);
}

/// x' x, and the diagonal of it.
void RandomMaker::add_symmetric_product() {
  const Shape shape = options_.large ? shape_between(2, 2, 384, 420) : shape_between(2, 2, 1, 50);
  const Value matrix = operand(float_dtype(), shape);
  const int64_t axis = some_axis(matrix);
  graph_.add(Op::dot, {matrix, matrix},
             {{Attr::lhs_batch, Ints{}},
              {Attr::rhs_batch, Ints{}},
              {Attr::lhs_contract, Ints{axis}},
              {Attr::rhs_contract, Ints{axis}}});
}

void RandomMaker::add_part_of_sorted() {
  const Value of = operand(dtype(), shape_between(1, options_.large ? 2 : 3, 1, options_.large ? 300 : 60));
  const int64_t axis = some_axis(of);
  const Value sorted = graph_.add(one_of({Op::sort, Op::argsort}), {of}, {{Attr::axis, axis}});
  for (int parts = pick(1, 2); parts > 0; --parts) {
    Ints starts(type_of(of).shape.size(), 0), limits = type_of(of).shape, steps(starts.size(), 1);
    const auto place = static_cast<size_t>(axis);
    starts[place] = pick(0, static_cast<int>(limits[place]) - 1);
    limits[place] = pick(static_cast<int>(starts[place]) + 1, static_cast<int>(limits[place]));
    steps[place] = pick(1, 2);
    graph_.add(Op::slice, {sorted}, {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, steps}});
  }
}

/// Updates that many places of one array get, in order.
void RandomMaker::add_histogram() {
  const DType dtype = this->dtype();
  const Shape updates = shape_between(1, 2, 0, 60);
  const int bins = pick(1, 12);
  const Word mode = one_of({Word::clamp, Word::drop});
  const Value places = indices({updates[0]}, bins, mode);
  Shape into = updates;
  into[0] = bins;
  graph_.add(
      Op::scatter, {operand(dtype, into), places, operand(dtype, updates)},
      {{Attr::axis, int64_t{0}},
       {Attr::mode, mode},
       {Attr::combine, dtype == DType::boolean ? Word::set : one_of({Word::add, Word::max, Word::set})}});
}

/// Steps that write the inside of an array from its neighbours.
void RandomMaker::add_stencil() {
  const DType dtype = float_dtype();
  const int extent = sized(30) + 2;
  Value grid = operand(dtype, {extent, extent});
  auto part = [&](int64_t down, int64_t right) {
    return graph_.add(Op::slice, {grid},
                      {{Attr::starts, Ints{down, right}},
                       {Attr::limits, Ints{extent - 2 + down, extent - 2 + right}},
                       {Attr::steps, Ints{1, 1}}});
  };
  const bool padded = chance(2);
  for (int steps = pick(1, 3); steps > 0; --steps) {
    const Value across = graph_.add(Op::add, {part(1, 0), part(1, 2)});
    const Value down = graph_.add(Op::add, {part(0, 1), part(2, 1)});
    const Value inner = graph_.add(Op::mul, {graph_.add(Op::add, {across, down}), scalar(dtype, 0.25)});
    if (padded) {
      grid = graph_.add(Op::pad, {inner, scalar(dtype, 0)},
                        {{Attr::low, Ints{1, 1}}, {Attr::high, Ints{1, 1}}, {Attr::interior, Ints{0, 0}}});
    } else {
      const Value one = graph_.add_constant(scalar_tensor(DType::i64, int64_t{1}));
      grid = graph_.add(Op::dynamic_update_slice, {grid, inner, one, one});
    }
  }
}

/// x[...] = y, as front ends write it, and readers of both.
void RandomMaker::add_written_parts() {
  const DType dtype = this->dtype();
  const Shape whole = shape_between(1, 3, 2, 20);
  Value array = operand(dtype, whole);
  for (int writes = pick(1, 3); writes > 0; --writes) {
    Shape window;
    std::vector<Value> starts;
    for (int64_t extent : whole) {
      window.push_back(pick(1, static_cast<int>(extent)));
      starts.push_back(graph_.add_constant(scalar_tensor(DType::i64, int64_t{pick(0, 3)})));
    }
    std::vector<Value> inputs{array, operand(dtype, window)};
    inputs.insert(inputs.end(), starts.begin(), starts.end());
    array = graph_.add(Op::dynamic_update_slice, inputs);
    if (chance(2)) {
      std::vector<Value> read{array};
      for (size_t i = 0; i < whole.size(); ++i)
        read.push_back(chance(2) ? starts[i] : graph_.add_constant(scalar_tensor(DType::i64, int64_t{0})));
      graph_.add(Op::dynamic_slice, read, {{Attr::sizes, window}});
    }
  }
}

/// Slices joined again in another order, as np.roll and friends do.
void RandomMaker::add_pieces() {
  const Value of = operand(dtype(), shape_between(1, 3, 2, 20));
  const int64_t axis = some_axis(of);
  const auto place = static_cast<size_t>(axis);
  const Shape shape = type_of(of).shape;
  const int64_t middle = pick(0, static_cast<int>(shape[place]));
  auto between = [&](int64_t first, int64_t last) {
    Ints starts(shape.size(), 0), limits = shape;
    starts[place] = first;
    limits[place] = last;
    return graph_.add(Op::slice, {of},
                      {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, Ints(shape.size(), 1)}});
  };
  std::vector<Value> pieces{between(middle, shape[place]), between(0, middle)};
  if (chance(3)) pieces.push_back(graph_.add(Op::reverse, {of}, {{Attr::axes, Ints{axis}}}));
  graph_.add(Op::concatenate, pieces, {{Attr::axis, axis}});
}

/// Sums of pieces as differences of running sums.
void RandomMaker::add_running_sums() {
  const Value of = operand(dtype(), shape_between(1, 2, 1, 60));
  if (type_of(of).dtype == DType::boolean) return;
  const int64_t axis = some_axis(of);
  const Value running =
      graph_.add(one_of({Op::cumsum, Op::cummax, Op::cummin, Op::cumprod}), {of}, {{Attr::axis, axis}});
  const Value places = indices({pick(1, 6)}, type_of(of).shape[static_cast<size_t>(axis)], Word::clamp);
  graph_.add(Op::gather, {running, places}, {{Attr::axis, axis}, {Attr::mode, Word::clamp}});
}

}  // namespace tokamak::testing
