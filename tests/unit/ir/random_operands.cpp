// What the ops and patterns of random graphs are applied to.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/random_maker.h"

namespace tokamak::testing {

/// Half of the time one of the latest, so that chains grow.
Value RandomMaker::any_value() {
  const int last = static_cast<int>(graph_.size()) - 1;
  return static_cast<Value>(pick(chance(2) ? std::max(0, last - 5) : 0, last));
}

Value RandomMaker::any_value_of(bool (*wanted)(DType)) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Value value = any_value();
    if (wanted(type_of(value).dtype)) return value;
  }
  DType found = dtype();
  while (!wanted(found)) found = dtype();
  return operand(found, shape());
}

Value RandomMaker::parameter(DType dtype, const Shape& shape) {
  return graph_.add_parameter("p" + std::to_string(graph_.parameters().size()), {dtype, shape});
}

Value RandomMaker::constant(DType dtype, const Shape& shape) {
  return graph_.add_constant(random_tensor({dtype, shape}, random_, options_.numbers));
}

Value RandomMaker::companion(Value other) {
  const DType wanted = type_of(other).dtype;
  for (int attempt = 0; attempt < 8 && pick(0, 3) != 0; ++attempt) {
    const Value value = any_value();
    if (type_of(value).dtype == wanted && type_of(value).elements() <= most_elements_) return value;
  }
  return constant(wanted, pick(0, 2) == 0 ? type_of(other).shape : Shape{});
}

Value RandomMaker::operand(DType dtype, const Shape& shape) {
  const TensorType wanted{dtype, shape};
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Value value = any_value();
    if (type_of(value) == wanted) return value;
  }
  if (chance(2)) return fitted(any_value(), dtype, shape);
  if (chance(3)) return viewed_operand(dtype, shape);
  return chance(5) && element_count(shape) <= most_elements_ ? constant(dtype, shape)
                                                             : parameter(dtype, shape);
}

/// The elements of any value, as many as are wanted, in another type.
Value RandomMaker::fitted(Value value, DType dtype, const Shape& shape) {
  const int64_t wanted = element_count(shape);
  const int64_t there = type_of(value).elements();
  if (there > 100 * wanted) return parameter(dtype, shape);
  if (type_of(value).dtype != dtype) value = graph_.add(Op::convert, {value}, {{Attr::dtype, dtype}});
  if (type_of(value).rank() != 1) value = graph_.add(Op::reshape, {value}, {{Attr::shape, Ints{there}}});
  if (there > wanted) {
    const int64_t first = pick(0, static_cast<int>(there - wanted));
    value = graph_.add(
        Op::slice, {value},
        {{Attr::starts, Ints{first}}, {Attr::limits, Ints{first + wanted}}, {Attr::steps, Ints{1}}});
  } else if (there < wanted) {
    value = graph_.add(Op::pad, {value, constant(dtype, {})},
                       {{Attr::low, Ints{0}}, {Attr::high, Ints{wanted - there}}, {Attr::interior, Ints{0}}});
  }
  return graph_.add(Op::reshape, {value}, {{Attr::shape, shape}});
}

Value RandomMaker::viewed_operand(DType dtype, const Shape& shape) {
  switch (pick(0, 6)) {
    case 0: {  // a slice
      Shape larger = shape;
      Ints starts, limits, steps;
      for (int64_t& extent : larger) {
        starts.push_back(pick(0, 2));
        steps.push_back(pick(1, 2));
        limits.push_back(starts.back() + std::max<int64_t>(extent - 1, 0) * steps.back() +
                         (extent > 0 ? 1 : 0));
        extent = limits.back() + pick(0, 1);
      }
      return graph_.add(Op::slice, {parameter(dtype, larger)},
                        {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, steps}});
    }
    case 1:
      return graph_.add(Op::reverse, {parameter(dtype, shape)},
                        {{Attr::axes, some_axes(static_cast<int64_t>(shape.size()))}});
    case 2: {  // something around it
      Shape inner = shape;
      Ints low, high;
      for (int64_t& extent : inner) {
        low.push_back(extent > 1 ? pick(0, 1) : 0);
        high.push_back(extent - low.back() > 1 ? pick(0, 1) : 0);
        extent -= low.back() + high.back();
      }
      const Value around = chance(2) ? scalar(dtype, 0) : constant(dtype, {});
      return graph_.add(Op::pad, {parameter(dtype, inner), around},
                        {{Attr::low, low}, {Attr::high, high}, {Attr::interior, Ints(shape.size(), 0)}});
    }
    case 3:
      return graph_.add(Op::reshape, {parameter(dtype, {element_count(shape)})}, {{Attr::shape, shape}});
    case 4: {
      if (dtype == DType::boolean) return parameter(dtype, shape);
      return graph_.add(one_of({Op::add, Op::max, Op::mul}),
                        {parameter(dtype, shape), parameter(dtype, shape)});
    }
    case 5: {  // the same for all of one axis
      Shape one = shape;
      if (!one.empty()) one[static_cast<size_t>(pick(0, static_cast<int>(one.size()) - 1))] = 1;
      return graph_.add(Op::broadcast, {parameter(dtype, one)}, {{Attr::shape, shape}});
    }
    default: {
      Ints order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random_);
      Shape turned(shape.size());
      for (size_t i = 0; i < order.size(); ++i) turned[static_cast<size_t>(order[i])] = shape[i];
      return graph_.add(Op::transpose, {parameter(dtype, turned)}, {{Attr::permutation, order}});
    }
  }
}

Value RandomMaker::indices(const Shape& shape, int64_t extent, Word mode) {
  const DType dtype = one_of({DType::i64, DType::i64, DType::i32, DType::u8, DType::i8, DType::u64});
  const bool may_be_outside = !is_check(mode) || chance(8);
  const auto last = static_cast<int>(std::max<int64_t>(extent - 1, 0));
  if (chance(3)) {  // computed
    const Value any = operand(dtype, shape);
    if (may_be_outside) return any;
    return graph_.add(Op::clamp, {scalar(dtype, 0), any, scalar(dtype, std::min(last, 100))});
  }
  Tensor tensor({dtype, shape});
  const size_t size = size_of(dtype);
  for (int64_t i = 0; i < tensor.type().elements(); ++i) {
    const int place = may_be_outside && chance(6) ? pick(-2, last + 3) : pick(0, last);
    std::memcpy(tensor.mutable_data() + static_cast<size_t>(i) * size,
                scalar_tensor(dtype, static_cast<int64_t>(place)).data(), size);
  }
  return graph_.add_constant(tensor);
}

}  // namespace tokamak::testing
