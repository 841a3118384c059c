// Arrays large enough to be tiled, shared among threads and joined again; and the promise that none of that
// shows.

#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/text.h"
#include "native/check.h"
#include "native/op_lists.h"
#include "native/reference_sums.h"
#include "native/values.h"
#include "runtime/thread_pool.h"
#include "support/cpu.h"

namespace tokamak::testing {
namespace {

using enum Arrangement;

/// Sets the number of threads, and back.
class Threads {
 public:
  explicit Threads(int count) : before_(ThreadPool::instance().num_threads()) {
    ThreadPool::instance().set_num_threads(count);
  }
  ~Threads() { ThreadPool::instance().set_num_threads(before_); }

 private:
  int before_;
};

/// Few long rows, long columns, many rows, axes in between.
const std::pair<Shape, Ints> kSweeps[] = {
    {{100003}, {0}},         {{3, 70001}, {1}},    {{70001, 5}, {0}}, {{300, 7, 200}, {0, 2}},
    {{300, 7, 200}, {0, 1}}, {{2, 33000, 3}, {1}}, {{300, 201}, {1}}, {{40, 41, 42}, {0, 1, 2}},
    {{301, 1100}, {0}},      {{9, 37, 900}, {1}},  {{1000, 301}, {1}}};

std::string sweep_name(const ::testing::TestParamInfo<Op>& info) { return std::string(name_of(info.param)); }

class LargeSweeps : public ::testing::TestWithParam<Op> {};

TEST_P(LargeSweeps, AreRight) {
  const Op op = GetParam();
  const bool one_axis = contains(record_of(op).attributes, Attr::axis);
  std::mt19937 random(5);
  size_t turn = 0;
  for (const auto& [shape, axes] : kSweeps) {
    const std::vector<DType> dtypes = representative_dtypes(op);
    const TensorType type{dtypes[turn++ % dtypes.size()], shape};
    const TestRange range =
        op == Op::reduce_prod || op == Op::cumprod ? TestRange{0.999, 1.001} : record_of(op).test;
    Attributes attributes = {{Attr::axes, axes}};
    if (one_axis) attributes = {{Attr::axis, axes[0]}};
    const Case c{op, {plain_tensor(type, range, random)}, attributes};
    const Threads threads(turn % 2 == 0 ? 3 : 1);
    ASSERT_EQ(check(c, {dense}), "");
    ASSERT_EQ(check(c, {kArrangements[1 + turn % 6]}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, LargeSweeps,
                         ::testing::ValuesIn(ops_of({OpFamily::Reduce, OpFamily::Cumulative})), sweep_name);

TEST(LargeSweeps, FindTheFirstOfEqualsAcrossTasks) {
  for (DType dtype : {DType::f32, DType::i8, DType::f64}) {
    for (Op op : {Op::argmax, Op::argmin}) {
      for (int64_t first : {0, 1, 8191, 8192, 40000, 99999, 100002}) {
        Tensor x(TensorType{dtype, {100003}});
        const Tensor best = scalar_tensor(dtype, int64_t{op == Op::argmax ? 1 : -1});
        for (int64_t at : {first, std::min<int64_t>(first + 5, 100002), int64_t{100002}})
          std::memcpy(x.mutable_data() + static_cast<size_t>(at) * size_of(dtype), best.data(),
                      size_of(dtype));
        ASSERT_EQ(check({op, {x}, {{Attr::axis, int64_t{0}}}}, {dense}), "");
        if (!is_float(dtype)) continue;
        const Tensor nan = scalar_tensor(dtype, std::nan(""));
        for (int64_t at : {first / 2, first})
          std::memcpy(x.mutable_data() + static_cast<size_t>(at) * size_of(dtype), nan.data(),
                      size_of(dtype));
        ASSERT_EQ(check({op, {x}, {{Attr::axis, int64_t{0}}}}, {dense}), "");
      }
    }
  }
}

TEST(LargeMoves, AreRight) {
  std::mt19937 random(6);
  const Threads threads(3);
  for (DType dtype : {DType::f32, DType::i8, DType::f64}) {
    const auto data = [&](const Shape& shape) { return mixed_tensor({dtype, shape}, {}, random); };
    for (const Shape& shape : {Shape{257, 130}, Shape{33, 1100}, Shape{1100, 33}, Shape{32, 64}}) {
      ASSERT_EQ(check({Op::transpose, {data(shape)}, {{Attr::permutation, Ints{1, 0}}}}, {dense}), "");
      ASSERT_EQ(check({Op::max, {data(shape), data(shape)}}, {dense, transposed}), "");
      ASSERT_EQ(check({Op::max, {data(shape), data(shape)}}, {permuted, reversed}), "");
    }
    ASSERT_EQ(check({Op::transpose, {data({5, 70, 90})}, {{Attr::permutation, Ints{2, 0, 1}}}}, {dense}), "");
    ASSERT_EQ(check({Op::max, {data({70001}), data({70001})}}, {dense, flipped}), "");
    ASSERT_EQ(check({Op::max, {data({3, 33001}), data({33001})}}, {gapped, unaligned}), "");
    ASSERT_EQ(
        check({Op::concatenate, {data({300, 40}), data({300, 91})}, {{Attr::axis, int64_t{1}}}}, {dense}),
        "");
    const Tensor at = index_tensor({DType::i32, {9000}}, 0, 299, random);
    ASSERT_EQ(check({Op::gather, {data({300, 7}), at}, {{Attr::axis, int64_t{0}}, {Attr::mode, Word::check}}},
                    {dense}),
              "");
    const Attributes adding = {
        {Attr::axis, int64_t{0}}, {Attr::mode, Word::drop}, {Attr::combine, Word::add}};
    ASSERT_EQ(check({Op::scatter, {data({300, 7}), at, data({9000, 7})}, adding}, {dense}), "");
  }
}

/// Outputs beyond the last cache are written around it.
TEST(LargeMoves, AreRightWhenTheOutputIsStreamed) {
  const int64_t count = current_cpu().l3_bytes / 8 + 1000003;
  Tensor x(TensorType{DType::f64, {count}});
  for (int64_t i = 0; i < count; ++i) x.as_mutable<double>()[static_cast<size_t>(i)] = static_cast<double>(i);
  const Case c{Op::neg, {x}};
  for (Arrangement arrangement : {dense, unaligned}) {
    const std::vector<Arranged> arguments = arrange_all(c.operands, {arrangement});
    const Tensor found = run(*compile_for(graph_of(c), arguments).program, arguments)[0];
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(found.as<double>()[static_cast<size_t>(i)], -x.as<double>()[static_cast<size_t>(i)]) << i;
    }
  }
}

struct NamedSum {
  const char* name;
  const char* text;
  TestRange range = {-1, 1};
};

class Determinism : public ::testing::TestWithParam<NamedSum> {};

/// The same bits with any number of threads, wherever the argument lies, and call after call.
TEST_P(Determinism, HoldsForThreadsAlignmentAndRepetition) {
  const Graph graph = parse_one(GetParam().text);
  const TensorType type = graph.type_of(graph.parameters()[0]);
  std::mt19937 random(9);
  const Tensor x = plain_tensor(type, GetParam().range, random);
  const Compiled compiled = compile(graph, std::vector<Layout>(1));
  const std::vector<int64_t> strides = dense_strides(type);
  GuardedMemory memory(static_cast<size_t>(type.bytes()) + 64);
  std::vector<Tensor> first;
  for (int64_t offset : {0, 1, 4, 8, 16, 24, 32, 60}) {
    Arranged argument;
    std::memcpy(memory.begin() + offset, x.data(), x.byte_size());
    argument.data = memory.begin() + offset;
    argument.strides = strides;
    for (int threads : {1, 2, 7}) {
      const Threads set(threads);
      for (int call = 0; call < (offset == 0 ? 5 : 1); ++call) {
        const std::vector<Tensor> found = run(*compiled.program, {argument});
        if (first.empty()) first = found;
        for (size_t i = 0; i < found.size(); ++i)
          ASSERT_EQ(compare(found[i], first[i]), "")
              << threads << " threads, offset " << offset << ", call " << call;
      }
    }
  }
}

void PrintTo(const NamedSum& sum, std::ostream* to) { *to << sum.name; }

const NamedSum kSums[] = {
    {"f32", "func @f(%x: f32[1000003]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }"},
    {"f64_with_product",
     "func @f(%x: f64[300001]) { %0 = reduce_sum %x {axes=[0]}\n %1 = reduce_prod %x {axes=[0]}\n return %0, "
     "%1 }",
     {0.999, 1.001}},
    {"f16", "func @f(%x: f16[200001]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }"},
    {"long_columns", "func @f(%x: f32[100003,9]) { %0 = reduce_sum %x {axes=[0]}\n return %0 }"},
    {"long_rows", "func @f(%x: f32[9,100003]) { %0 = reduce_sum %x {axes=[1]}\n return %0 }"},
    {"outer_and_inner", "func @f(%x: f32[300,7,400]) { %0 = reduce_sum %x {axes=[0,2]}\n return %0 }"},
    {"outer_two", "func @f(%x: f64[300,7,200]) { %0 = reduce_sum %x {axes=[0,1]}\n return %0 }"},
    {"all_of_three", "func @f(%x: f32[70,90,110]) { %0 = reduce_sum %x {axes=[0,1,2]}\n return %0 }"},
    {"bf16_both_ways",
     "func @f(%x: bf16[400,500]) { %0 = reduce_sum %x {axes=[1]}\n %1 = reduce_sum %x {axes=[0]}\n return "
     "%0, "
     "%1 }"},
    {"normalised_rows",
     "func @f(%x: f32[100,3000]) { %0 = mul %x, %x\n %1 = reduce_sum %0 {axes=[1]}\n %2 = reshape %1 "
     "{shape=[100,1]}\n"
     " %3 = div %x, %2\n %4 = cumsum %3 {axis=1}\n return %3, %4, %1 }"},
};
INSTANTIATE_TEST_SUITE_P(Sums, Determinism, ::testing::ValuesIn(kSums),
                         [](const auto& info) { return std::string(info.param.name); });

/// A sum that meets an infinity or a NaN says so, wherever it stands.
TEST(Sums, KeepInfinitiesAndNaN) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> kinds[] = {{inf}, {-inf}, {inf, -inf}, {std::nan("")}, {std::nan(""), inf},
                                       {-0.0}};
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
      for (const std::vector<double>& specials : kinds) {
        for (size_t step : {1, 3, 17, 36}) {
          std::mt19937 random(2);
          Tensor x = plain_tensor({dtype, {3, 37}}, {-1, 1}, random);
          for (size_t i = 0; i < specials.size(); ++i) {
            const Tensor value = scalar_tensor(dtype, specials[i]);
            std::memcpy(x.mutable_data() + (37 + i * step) * size_of(dtype), value.data(), size_of(dtype));
          }
          ASSERT_EQ(check({Op::reduce_sum, {x}, {{Attr::axes, axes}}}, {dense}), "");
        }
      }
    }
  }
}

TEST(Sums, OfNegativeZerosArePositive) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
      Tensor zeros(TensorType{dtype, {2, 67}});
      for (size_t i = 0; i < 2 * 67; ++i) {
        const Tensor zero = scalar_tensor(dtype, -0.0);
        std::memcpy(zeros.mutable_data() + i * size_of(dtype), zero.data(), size_of(dtype));
      }
      const Case c{Op::reduce_sum, {zeros}, {{Attr::axes, axes}}};
      const std::vector<Arranged> arguments = arrange_all(c.operands, {dense});
      const Tensor found = run(*compile_for(graph_of(c), arguments).program, arguments)[0];
      EXPECT_EQ(compare(found, Tensor(found.type())), "");
    }
  }
}

}  // namespace
}  // namespace tokamak::testing
