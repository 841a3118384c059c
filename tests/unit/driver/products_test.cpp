// Products with all that surrounds them, compared with the interpreter to the bit: in integers, whose sums do
// not depend on the order.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "driver/harness.h"
#include "ops/contract.h"
#include "runtime/thread_pool.h"

namespace tokamak::testing {
namespace {

/// Writes random programs around one product or two.
class ProductPrograms {
 public:
  explicit ProductPrograms(uint32_t seed) : random_(seed) {}

  Graph program() {
    dtype_ = pick({DType::i32, DType::i32, DType::i64, DType::i8, DType::u16});
    const Shape batch = shape(0, 2, 1, 4);
    const Shape rows = shape(1, 2, 1, 13);
    const Shape columns = shape(1, 2, 1, 13);
    const Shape depth = shape(1, 2, 1, 9);
    Value result = dot(batch, rows, columns, depth);
    result = mapped(result);
    if (chance(3)) result = second_product(result);
    std::vector<Value> outputs{result};
    if (chance(4)) outputs.push_back(reduced(result));
    if (chance(3)) outputs.push_back(transposed(result));
    graph_.set_outputs(std::move(outputs));
    return std::move(graph_);
  }

 private:
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool chance(int64_t in) { return number(1, in) == 1; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + number(0, static_cast<int64_t>(of.size()) - 1));
  }
  Shape shape(int64_t least_axes, int64_t most_axes, int64_t low, int64_t high) {
    Shape made(static_cast<size_t>(number(least_axes, most_axes)));
    for (int64_t& extent : made) extent = number(low, high);
    return made;
  }
  Value add(Op op, std::vector<Value> inputs, Attributes attributes = {}) {
    return graph_.add(op, std::move(inputs), std::move(attributes), {});
  }
  Value parameter(const Shape& shape) {
    return graph_.add_parameter("p" + std::to_string(graph_.parameters().size()), {dtype_, shape}, {});
  }

  /// A value of the shape that is read through some view of a parameter.
  Value operand(const Shape& shape) {
    switch (number(0, 6)) {
      case 0: {  // a slice
        Shape larger = shape;
        Ints starts, limits, steps;
        for (int64_t& extent : larger) {
          const int64_t start = number(0, 2);
          const int64_t step = number(1, 2);
          starts.push_back(start);
          limits.push_back(start + (extent - 1) * step + 1);
          steps.push_back(step);
          extent = limits.back() + number(0, 1);
        }
        return add(Op::slice, {parameter(larger)},
                   {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, steps}});
      }
      case 1: {  // turned around
        Ints axes;
        for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
          if (chance(2)) axes.push_back(axis);
        }
        return add(Op::reverse, {parameter(shape)}, {{Attr::axes, axes}});
      }
      case 2: {  // zeros around it
        Shape inner = shape;
        Ints low, high;
        for (int64_t& extent : inner) {
          low.push_back(extent > 1 ? number(0, 1) : 0);
          high.push_back(extent - low.back() > 1 ? number(0, 1) : 0);
          extent -= low.back() + high.back();
        }
        const Value zero = graph_.add_constant(scalar_tensor(dtype_, int64_t{0}), {});
        return add(Op::pad, {parameter(inner), zero},
                   {{Attr::low, low}, {Attr::high, high}, {Attr::interior, Ints(shape.size(), 0)}});
      }
      case 3: {  // flat in memory
        const Value flat = parameter({element_count(shape)});
        return add(Op::reshape, {flat}, {{Attr::shape, shape}});
      }
      case 4:  // computed
        return add(Op::add, {parameter(shape), parameter(shape)});
      case 5: {  // the same for all of the first axis
        Shape one = shape;
        if (!one.empty()) one[0] = 1;
        return add(Op::broadcast, {parameter(one)}, {{Attr::shape, shape}});
      }
      default:
        return parameter(shape);
    }
  }

  /// The axes of an operand in random order: where each of the wanted ones ended up.
  Ints shuffle(Shape& shape) {
    Ints order(shape.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    Shape made;
    Ints place(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      made.push_back(shape[static_cast<size_t>(order[i])]);
      place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    shape = made;
    return place;
  }

  Value dot(const Shape& batch, const Shape& rows, const Shape& columns, const Shape& depth) {
    auto joined = [](const Shape& a, const Shape& b, const Shape& c) {
      Shape all = a;
      all.insert(all.end(), b.begin(), b.end());
      all.insert(all.end(), c.begin(), c.end());
      return all;
    };
    Shape lhs = joined(batch, rows, depth);
    Shape rhs = joined(batch, columns, depth);
    const Ints left = shuffle(lhs);
    const Ints right = shuffle(rhs);
    auto part = [](const Ints& of, size_t first, size_t count) {
      return Ints(of.begin() + static_cast<int64_t>(first), of.begin() + static_cast<int64_t>(first + count));
    };
    return add(Op::dot, {operand(lhs), operand(rhs)},
               {{Attr::lhs_batch, part(left, 0, batch.size())},
                {Attr::rhs_batch, part(right, 0, batch.size())},
                {Attr::lhs_contract, part(left, batch.size() + rows.size(), depth.size())},
                {Attr::rhs_contract, part(right, batch.size() + columns.size(), depth.size())}});
  }

  /// The result of some element-wise operations, and of reductions of the last axis that are spread again.
  Value mapped(Value value) {
    for (int64_t steps = number(0, 3); steps > 0; --steps) {
      const Shape shape = graph_.type_of(value).shape;
      switch (number(0, 4)) {
        case 0:
          value = add(Op::add, {value, parameter({shape.back()})});
          break;
        case 1:
          value = add(Op::max, {value, parameter(shape)});
          break;
        case 2: {
          Shape rows = shape;
          rows.back() = 1;
          value = add(Op::sub, {value, parameter(rows)});
          break;
        }
        case 3: {
          Shape rows = shape;
          rows.back() = 1;
          const Value most =
              add(Op::reduce_max, {value}, {{Attr::axes, Ints{static_cast<int64_t>(shape.size()) - 1}}});
          value = add(Op::sub, {value, add(Op::reshape, {most}, {{Attr::shape, rows}})});
          break;
        }
        default:
          value = add(Op::mul, {value, value});
      }
    }
    return value;
  }

  Value second_product(Value value) {
    const Shape shape = graph_.type_of(value).shape;
    const auto last = static_cast<int64_t>(shape.size()) - 1;
    return mapped(add(Op::dot, {value, operand({shape.back(), number(1, 20)})},
                      {{Attr::lhs_batch, Ints{}},
                       {Attr::rhs_batch, Ints{}},
                       {Attr::lhs_contract, Ints{last}},
                       {Attr::rhs_contract, Ints{0}}}));
  }

  Value reduced(Value value) {
    const int64_t axis = number(0, graph_.type_of(value).rank() - 1);
    return add(Op::reduce_sum, {value}, {{Attr::axes, Ints{axis}}});
  }

  Value transposed(Value value) {
    Ints order(static_cast<size_t>(graph_.type_of(value).rank()));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    return add(Op::transpose, {value}, {{Attr::permutation, order}});
  }

  std::mt19937 random_;
  DType dtype_ = DType::i32;
  Graph graph_{"f"};
};

TEST(Products, AgreeWithTheInterpreterToTheBit) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Graph graph = ProductPrograms(seed).program();
    ASSERT_EQ(compare_with_interpreter(graph, seed), "") << "seed " << seed;
    if (seed % 4 == 0) {
      ASSERT_EQ(compare_with_interpreter(graph, seed, 0, {.fuse = false}), "") << "seed " << seed;
    }
  }
}

TEST(Products, HaveTheSameBitsForAnyNumberOfThreads) {
  const Graph graph = parse_one(R"(
func @f(%x: f32[333,257], %w: f32[257,301], %b: f32[301], %v: f32[301,65]) {
  %0 = dot %x, %w {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %1 = add %0, %b
  %2 = reduce_max %1 {axes=[1]}
  %3 = reshape %2 {shape=[333,1]}
  %4 = sub %1, %3
  %5 = exp %4
  %6 = dot %5, %v {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %1, %6
})");
  std::mt19937 random(1);
  const std::vector<Tensor> arguments = random_arguments(graph, random);
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.num_threads();
  std::vector<std::vector<Tensor>> results;
  for (int threads : {1, 2, 7}) {
    pool.set_num_threads(threads);
    results.push_back(run_native(graph, arguments));
  }
  pool.set_num_threads(before);
  for (const std::vector<Tensor>& other : results) {
    for (size_t i = 0; i < other.size(); ++i) EXPECT_EQ(difference(other[i], results[0][i], 0), "");
  }
}

}  // namespace
}  // namespace tokamak::testing
