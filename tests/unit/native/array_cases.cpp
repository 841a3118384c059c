#include "native/array_cases.h"

#include "native/op_lists.h"
#include "native/values.h"
#include "ops/index.h"
#include "ops/record.h"

namespace tokamak::testing {
namespace {

/// Makes the cases of one op.
struct Maker {
  Op op;
  DType dtype;
  std::mt19937& random;
  std::vector<Case> cases = {};

  Tensor data(const Shape& shape) {
    const TensorType type{dtype, shape};
    TestRange range = record_of(op).test;
    // A long product stays in range even of one number many times.
    if (op == Op::reduce_prod && type.elements() > 200) range = {0.99, 1.01};
    // Overflow on the way and infinities of both signs would depend on the order of adding.
    const Agreement agreement = agreement_for(op, dtype);
    if (agreement == Agreement::rounding || agreement == Agreement::products)
      return plain_tensor(type, range, random);
    return mixed_tensor(type, range, random);
  }
  void add(const Shape& shape, Attributes attributes) { cases.push_back({op, {data(shape)}, attributes}); }
  void add(std::vector<Tensor> operands, Attributes attributes) {
    cases.push_back({op, std::move(operands), std::move(attributes)});
  }
  Tensor indices(DType of, const Shape& shape, int64_t low, int64_t high) {
    return index_tensor({of, shape}, low, high, random);
  }
};

void iota(Maker& m) {
  for (const Shape& shape : shapes_for(m.dtype)) {
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
      m.add(std::vector<Tensor>{}, {{Attr::shape, shape}, {Attr::axis, axis}, {Attr::dtype, m.dtype}});
  }
  // Longer than the narrow integers can count.
  m.add(std::vector<Tensor>{},
        {{Attr::shape, Ints{70000}}, {Attr::axis, int64_t{0}}, {Attr::dtype, m.dtype}});
}

void broadcast(Maker& m) {
  const std::pair<Shape, Shape> shapes[] = {{{5, 1}, {5, 37}},
                                            {{37}, {5, 37}},
                                            {{}, {}},
                                            {{}, {19}},
                                            {{}, {0}},
                                            {{1}, {0, 3}},
                                            {{0}, {3, 0}},
                                            {{1, 1}, {1, 1}},
                                            {{3, 1, 5}, {2, 3, 4, 5}},
                                            {{1, 3, 1, 2, 1}, {2, 3, 2, 2, 5}},
                                            {{17, 1}, {17, 1}},
                                            {{1, 65}, {3, 65}}};
  for (const auto& [from, to] : shapes) m.add(from, {{Attr::shape, to}});
}

void reshape(Maker& m) {
  const std::pair<Shape, Shape> shapes[] = {{{6, 35}, {10, 21}},
                                            {{}, {1, 1}},
                                            {{1}, {}},
                                            {{0, 3}, {5, 0}},
                                            {{37}, {37, 1}},
                                            {{4, 9}, {36}},
                                            {{36}, {4, 9}},
                                            {{2, 3, 4}, {4, 3, 2}},
                                            {{2, 3, 2, 3, 5}, {12, 15}},
                                            {{7, 11}, {1, 7, 1, 11, 1}}};
  for (const auto& [from, to] : shapes) m.add(from, {{Attr::shape, to}});
}

void transpose(Maker& m) {
  const std::pair<Shape, Ints> shapes[] = {{{17, 37}, {1, 0}},
                                           {{}, {}},
                                           {{9}, {0}},
                                           {{0, 3}, {1, 0}},
                                           {{1, 5}, {1, 0}},
                                           {{3, 5, 17}, {0, 2, 1}},
                                           {{3, 5, 17}, {1, 0, 2}},
                                           {{3, 5, 17}, {2, 0, 1}},
                                           {{2, 3, 2, 3, 5}, {4, 2, 0, 3, 1}},
                                           {{64, 64}, {1, 0}},
                                           {{33, 8}, {1, 0}},
                                           {{3, 7}, {0, 1}}};
  for (const auto& [shape, permutation] : shapes) m.add(shape, {{Attr::permutation, permutation}});
}

void slice(Maker& m) {
  struct Slice {
    Shape shape;
    Ints starts, limits, steps;
  };
  const Slice slices[] = {{{7, 131}, {1, 3}, {7, 130}, {2, 3}},
                          {{}, {}, {}, {}},
                          {{0}, {0}, {0}, {1}},
                          {{37}, {0}, {37}, {1}},
                          {{37}, {36}, {37}, {5}},
                          {{37}, {5}, {5}, {1}},
                          {{65}, {1}, {64}, {2}},
                          {{9, 33}, {2, 0}, {5, 33}, {1, 1}},
                          {{9, 33}, {0, 31}, {9, 33}, {4, 1}},
                          {{2, 3, 4, 3, 5}, {1, 0, 1, 0, 1}, {2, 3, 4, 3, 4}, {1, 2, 2, 1, 1}}};
  for (const Slice& s : slices)
    m.add(s.shape, {{Attr::starts, s.starts}, {Attr::limits, s.limits}, {Attr::steps, s.steps}});
}

void reverse(Maker& m) {
  const std::pair<Shape, Ints> shapes[] = {{{5, 37}, {1}}, {{5, 37}, {0}}, {{5, 37}, {0, 1}},
                                           {{}, {}},       {{0}, {0}},     {{1}, {0}},
                                           {{8}, {0}},     {{129}, {0}},   {{2, 3, 2, 3, 5}, {0, 2, 4}},
                                           {{4, 5}, {}}};
  for (const auto& [shape, axes] : shapes) m.add(shape, {{Attr::axes, axes}});
}

void window(Maker& m) {
  struct Sliding {
    Shape shape;
    Ints axes, sizes, steps, dilations;
  };
  const Sliding kinds[] = {{{5, 37}, {1}, {3}, {1}, {1}},
                           {{}, {}, {}, {}, {}},
                           {{5, 3}, {}, {}, {}, {}},
                           {{0, 5}, {1}, {2}, {1}, {1}},
                           {{1}, {0}, {1}, {1}, {1}},
                           {{37}, {0}, {1}, {1}, {1}},
                           {{37}, {0}, {37}, {1}, {1}},
                           {{37}, {0}, {4}, {3}, {2}},
                           {{65}, {0}, {16}, {1}, {1}},
                           {{65}, {0}, {2}, {40}, {40}},
                           {{9, 17}, {0}, {3}, {2}, {1}},
                           {{9, 17}, {0, 1}, {3, 4}, {2, 1}, {1, 3}},
                           {{2, 3, 8, 9}, {2, 3}, {3, 3}, {1, 1}, {1, 1}},
                           {{2, 3, 8, 9}, {2, 3}, {3, 2}, {2, 3}, {2, 1}},
                           {{2, 2, 4, 3, 5}, {2, 3, 4}, {2, 1, 3}, {1, 2, 1}, {1, 1, 2}}};
  for (const Sliding& k : kinds) {
    m.add(k.shape, {{Attr::axes, k.axes},
                    {Attr::sizes, k.sizes},
                    {Attr::steps, k.steps},
                    {Attr::dilations, k.dilations}});
  }
}

void pad(Maker& m) {
  struct Pad {
    Shape shape;
    Ints low, high, interior;
  };
  const Pad pads[] = {{{5, 33}, {1, 2}, {3, 0}, {0, 2}},
                      {{}, {}, {}, {}},
                      {{0}, {2}, {3}, {4}},
                      {{1}, {0}, {0}, {3}},
                      {{16}, {0}, {0}, {0}},
                      {{17}, {15}, {0}, {0}},
                      {{17}, {0}, {1}, {1}},
                      {{3, 0}, {1, 1}, {0, 2}, {1, 0}},
                      {{4, 9}, {0, 0}, {0, 0}, {2, 0}},
                      {{4, 9}, {40, 0}, {0, 70}, {0, 0}},
                      {{2, 1, 2, 3, 5}, {1, 0, 0, 1, 2}, {0, 1, 0, 0, 1}, {1, 2, 0, 0, 1}}};
  for (const Pad& p : pads) {
    m.add({m.data(p.shape), m.data({})},
          {{Attr::low, p.low}, {Attr::high, p.high}, {Attr::interior, p.interior}});
  }
}

void concatenate(Maker& m) {
  const std::pair<std::vector<Shape>, int64_t> kinds[] = {
      {{{5, 17}, {5, 20}}, 1},
      {{{5, 17}, {3, 17}, {1, 17}}, 0},
      {{{37}}, 0},
      {{{0}, {0}}, 0},
      {{{3}, {0}, {16}, {1}, {7}}, 0},
      {{{4, 0}, {4, 5}}, 1},
      {{{2, 3, 1, 3, 5}, {2, 3, 4, 3, 5}}, 2},
      {{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1}};
  for (const auto& [shapes, axis] : kinds) {
    std::vector<Tensor> operands;
    for (const Shape& shape : shapes) operands.push_back(m.data(shape));
    m.add(operands, {{Attr::axis, axis}});
  }
}

struct Indexed {
  Shape shape;
  Shape indices;
  int64_t axis;
};
const Indexed kIndexed[] = {
    {{9, 17}, {21}, 0},     {{9, 17}, {21}, 1},        {{50}, {33}, 0},        {{50}, {}, 0},
    {{50}, {0}, 0},         {{1, 5}, {3}, 0},          {{0, 5}, {0}, 0},       {{4, 0}, {3}, 0},
    {{3, 5, 9}, {2, 4}, 1}, {{2, 3, 2, 3, 5}, {2}, 3}, {{6, 3}, {2, 3, 2}, 0}, {{5, 33}, {1}, 0}};

/// Names no element out of range, for "check"; may do so otherwise.
Tensor places(Maker& m, const Indexed& i, DType index_dtype, Word mode) {
  const int64_t extent = i.shape[static_cast<size_t>(i.axis)];
  const int64_t beyond = mode == Word::check ? 0 : 3;
  const int64_t low = is_signed_integer(index_dtype) ? -beyond : 0;
  return m.indices(index_dtype, i.indices, low, std::max<int64_t>(extent - 1 + beyond, low));
}

DType next_index_dtype(const Maker& m) {
  constexpr DType kIndexDTypes[] = {DType::i64, DType::i32, DType::i8,  DType::i16,
                                    DType::u8,  DType::u16, DType::u32, DType::u64};
  return kIndexDTypes[m.cases.size() % std::size(kIndexDTypes)];
}

void gather(Maker& m) {
  for (const Indexed& i : kIndexed) {
    for (Word mode : {Word::clamp, Word::check}) {
      m.add({m.data(i.shape), places(m, i, next_index_dtype(m), mode)},
            {{Attr::axis, i.axis}, {Attr::mode, mode}});
    }
  }
}

void scatter(Maker& m) {
  size_t turn = 0;
  for (const Indexed& i : kIndexed) {
    Shape updates = i.shape;
    updates.erase(updates.begin() + i.axis);
    updates.insert(updates.begin() + i.axis, i.indices.begin(), i.indices.end());
    const bool all_pairs = &i - kIndexed < 2;  // every combine in every mode; then each combine in turn
    constexpr Word kCombines[] = {Word::set, Word::add,    Word::max,     Word::mul,    Word::min,
                                  Word::sub, Word::bit_or, Word::bit_xor, Word::bit_and};
    for (Word mode : {Word::clamp, Word::check, Word::drop}) {
      for (size_t k = 0; k < std::size(kCombines); ++k) {
        const std::optional<Op> op = rules::combining_op(kCombines[k]);
        if (op && !contains(record_of(*op).dtypes, m.dtype)) continue;
        if (!all_pairs && k != turn % std::size(kCombines)) continue;
        m.add({m.data(i.shape), places(m, i, next_index_dtype(m), mode), m.data(updates)},
              {{Attr::axis, i.axis}, {Attr::mode, mode}, {Attr::combine, kCombines[k]}});
      }
      ++turn;
    }
  }
}

struct Window {
  Shape shape;
  Shape sizes;
};
const Window kWindows[] = {{{9, 50}, {3, 33}}, {{}, {}},         {{0}, {0}},
                           {{17}, {17}},       {{17}, {0}},      {{65}, {16}},
                           {{4, 9}, {1, 9}},   {{4, 9}, {4, 1}}, {{2, 3, 4, 3, 5}, {1, 3, 2, 2, 4}}};

void append_starts(Maker& m, std::vector<Tensor>& operands, const Shape& shape) {
  const DType index_dtype = next_index_dtype(m);
  for (int64_t extent : shape)
    operands.push_back(m.indices(index_dtype, {}, is_signed_integer(index_dtype) ? -2 : 0, extent + 1));
}

void dynamic_slice(Maker& m) {
  for (int turn = 0; turn < 2; ++turn) {
    for (const Window& w : kWindows) {
      std::vector<Tensor> operands = {m.data(w.shape)};
      append_starts(m, operands, w.shape);
      m.add(operands, {{Attr::sizes, w.sizes}});
    }
  }
}

void dynamic_update_slice(Maker& m) {
  for (int turn = 0; turn < 2; ++turn) {
    for (const Window& w : kWindows) {
      std::vector<Tensor> operands = {m.data(w.shape), m.data(w.sizes)};
      append_starts(m, operands, w.shape);
      m.add(operands, {});
    }
  }
}

void reduce(Maker& m) {
  const std::pair<Shape, Ints> kinds[] = {{{7, 37}, {1}},
                                          {{7, 37}, {0}},
                                          {{7, 37}, {0, 1}},
                                          {{37}, {0}},
                                          {{1}, {0}},
                                          {{}, {}},
                                          {{5, 3}, {}},
                                          {{3, 5, 19}, {0}},
                                          {{3, 5, 19}, {1}},
                                          {{3, 5, 19}, {2}},
                                          {{3, 5, 19}, {0, 2}},
                                          {{3, 5, 19}, {0, 1}},
                                          {{3, 5, 19}, {1, 2}},
                                          {{2, 3, 2, 3, 5}, {1, 3}},
                                          {{2, 3, 2, 3, 5}, {0, 2, 4}},
                                          {{2, 3, 2, 3, 5}, {0, 1, 2, 3, 4}},
                                          {{0, 3}, {1}},
                                          {{1, 9}, {0}},
                                          {{9, 1}, {1}},
                                          {{4}, {0}},
                                          {{8}, {0}},
                                          {{15}, {0}},
                                          {{16}, {0}},
                                          {{33}, {0}},
                                          {{64}, {0}},
                                          {{127}, {0}},
                                          {{2, 129}, {1}},
                                          {{129, 3}, {0}},
                                          {{515, 2}, {0}},
                                          {{2000}, {0}},
                                          {{3, 1500}, {1}},
                                          {{1500, 3}, {0}}};
  for (const auto& [shape, axes] : kinds) m.add(shape, {{Attr::axes, axes}});
  const bool has_identity = m.op != Op::reduce_max && m.op != Op::reduce_min;
  if (!has_identity) return;
  m.add(Shape{0}, {{Attr::axes, Ints{0}}});
  m.add(Shape{0, 5}, {{Attr::axes, Ints{0}}});
  m.add(Shape{3, 0}, {{Attr::axes, Ints{0, 1}}});
}

/// Values that repeat, so that the first of equals must be found; and NaNs, of which the first wins.
Tensor ties(Maker& m, const Shape& shape) {
  const std::vector<Tensor> specials = special_values(m.dtype);
  const size_t size = size_of(m.dtype);
  Tensor tensor(TensorType{m.dtype, shape});
  for (int64_t i = 0; i < tensor.type().elements(); ++i) {
    const size_t from = is_float(m.dtype) && m.cases.size() % 2 == 0 ? 1 : 0;  // the first special is NaN
    const Tensor& chosen = specials[from + m.random() % std::min<size_t>(specials.size() - from, 4)];
    std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size, chosen.data(), size);
  }
  return tensor;
}

const Shape kAxisShapes[] = {{7, 37}, {37}, {1},    {5, 1}, {1, 5},   {3, 5, 19}, {2, 3, 2, 3, 5}, {4},
                             {16},    {33}, {0, 3}, {129},  {600, 2}, {2, 600},   {64, 17}};

void arg_reduce(Maker& m) {
  for (const Shape& shape : kAxisShapes) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 0) continue;
      const Attributes attributes = {{Attr::axis, static_cast<int64_t>(axis)}};
      m.add(shape, attributes);
      m.add({ties(m, shape)}, attributes);
      m.add({ties(m, shape)}, attributes);
    }
  }
}

void cumulative(Maker& m) {
  for (const Shape& shape : kAxisShapes) {
    for (size_t axis = 0; axis < shape.size(); ++axis)
      m.add(shape, {{Attr::axis, static_cast<int64_t>(axis)}});
  }
}

void dot(Maker& m) {
  struct Product {
    Shape lhs, rhs;
    Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  };
  const Product kinds[] = {{{9, 17}, {17, 21}, {}, {}, {1}, {0}},
                           {{3, 5, 17}, {3, 17, 7}, {0}, {0}, {2}, {1}},
                           {{37}, {37}, {}, {}, {0}, {0}},
                           {{}, {}, {}, {}, {}, {}},
                           {{5}, {3}, {}, {}, {}, {}},
                           {{5, 3}, {3, 5}, {0, 1}, {1, 0}, {}, {}},
                           {{5, 37}, {37}, {}, {}, {1}, {0}},
                           {{37}, {37, 5}, {}, {}, {0}, {0}},
                           {{17, 9}, {17, 21}, {}, {}, {0}, {0}},
                           {{9, 17}, {21, 17}, {}, {}, {1}, {1}},
                           {{17, 9}, {21, 17}, {}, {}, {0}, {1}},
                           {{1, 1}, {1, 1}, {}, {}, {1}, {0}},
                           {{1, 65}, {65, 33}, {}, {}, {1}, {0}},
                           {{33, 65}, {65, 1}, {}, {}, {1}, {0}},
                           {{33, 1}, {1, 16}, {}, {}, {1}, {0}},
                           {{4, 0}, {0, 5}, {}, {}, {1}, {0}},
                           {{0, 4}, {4, 5}, {}, {}, {1}, {0}},
                           {{0, 4, 3}, {0, 3, 5}, {0}, {0}, {2}, {1}},
                           {{2, 3, 4, 5}, {4, 2, 6, 5}, {0}, {1}, {2, 3}, {0, 3}},
                           {{2, 3, 4, 5}, {5, 3, 7}, {1}, {1}, {3}, {0}},
                           {{4, 2, 7}, {7, 2, 4}, {1}, {1}, {0, 2}, {2, 0}},
                           {{8, 4, 16}, {16, 5}, {}, {}, {2}, {0}},
                           {{40, 8, 8}, {40, 8, 8}, {0}, {0}, {2}, {1}},
                           {{64, 33}, {33, 64}, {}, {}, {1}, {0}},
                           {{70, 300}, {300, 50}, {}, {}, {1}, {0}}};
  for (const Product& k : kinds) {
    m.add({m.data(k.lhs), m.data(k.rhs)}, {{Attr::lhs_batch, k.lhs_batch},
                                           {Attr::rhs_batch, k.rhs_batch},
                                           {Attr::lhs_contract, k.lhs_contract},
                                           {Attr::rhs_contract, k.rhs_contract}});
  }
}

struct Entry {
  Op op;
  void (*make)(Maker&);
};
constexpr Entry kMakers[] = {{Op::iota, iota},
                             {Op::broadcast, broadcast},
                             {Op::reshape, reshape},
                             {Op::transpose, transpose},
                             {Op::slice, slice},
                             {Op::reverse, reverse},
                             {Op::window, window},
                             {Op::pad, pad},
                             {Op::concatenate, concatenate},
                             {Op::gather, gather},
                             {Op::scatter, scatter},
                             {Op::dynamic_slice, dynamic_slice},
                             {Op::dynamic_update_slice, dynamic_update_slice},
                             {Op::reduce_sum, reduce},
                             {Op::reduce_prod, reduce},
                             {Op::reduce_max, reduce},
                             {Op::reduce_min, reduce},
                             {Op::reduce_any, reduce},
                             {Op::reduce_all, reduce},
                             {Op::argmax, arg_reduce},
                             {Op::argmin, arg_reduce},
                             {Op::cumsum, cumulative},
                             {Op::cumprod, cumulative},
                             {Op::cummax, cumulative},
                             {Op::cummin, cumulative},
                             {Op::sort, cumulative},
                             {Op::argsort, cumulative},
                             {Op::dot, dot}};

}  // namespace

std::vector<Case> array_cases(Op op, DType dtype, std::mt19937& random) {
  Maker maker{op, dtype, random};
  for (const Entry& entry : kMakers) {
    if (entry.op == op) entry.make(maker);
  }
  return std::move(maker.cases);
}

}  // namespace tokamak::testing
