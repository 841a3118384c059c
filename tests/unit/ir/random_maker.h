#pragma once

// Makes random graphs, op by op (random_graph.cpp) and pattern by pattern (random_idioms.cpp,
// random_array_idioms.cpp).

#include "ir/random_graph.h"

namespace tokamak::testing {

class RandomMaker {
 public:
  RandomMaker(uint32_t seed, const RandomGraphOptions& options);

  Graph run();

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int in) { return pick(1, in) == 1; }
  /// Of an axis of a pattern, `most` in small ones.
  int sized(int most) { return pick(1, options_.large ? 8 * most : most); }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + pick(0, static_cast<int>(choices.size()) - 1));
  }
  DType dtype();
  DType float_dtype() { return one_of({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16}); }
  Shape shape();
  Shape shape_between(int least_axes, int most_axes, int low, int high);
  const TensorType& type_of(Value value) const { return graph_.type_of(value); }
  int64_t some_axis(Value of);
  Ints some_axes(int64_t rank);

  Value any_value();
  Value any_value_of(bool (*wanted)(DType));
  Value parameter(DType dtype, const Shape& shape);
  Value constant(DType dtype, const Shape& shape);
  Value scalar(DType dtype, double value) { return graph_.add_constant(scalar_tensor(dtype, value)); }
  /// A value that can stand next to `other`: of its dtype, often a scalar constant.
  Value companion(Value other);
  /// A value of that type: a parameter, a constant, or one of them behind a view.
  Value operand(DType dtype, const Shape& shape);
  Value fitted(Value value, DType dtype, const Shape& shape);
  Value viewed_operand(DType dtype, const Shape& shape);
  /// Integers that are places of an axis of that extent; some beyond it where those have a meaning.
  Value indices(const Shape& shape, int64_t extent, Word mode);

  // One op
  void add_op();
  void add_elementwise(Op op);
  void add_view(Op op, Value of);
  void add_index(Op op, Value of);
  void add_scatter(Value of, int64_t axis);
  void add_reduction(Op op, Value of);
  void add_product(Op op, Value lhs);
  Shape reshaped(const Shape& from);
  DType other_as_large(DType like);
  Shape few_places();

  // A pattern of several: of networks (random_idioms.cpp) and of arrays (random_array_idioms.cpp)
  void add_idiom();
  Value matrix_product(Value lhs, Value rhs, Ints lhs_batch = {}, Ints rhs_batch = {});
  Value reduced_keeping(Op op, Value of, int64_t axis);
  Value softmax(Value of, int64_t axis);
  Value transposed_matrices(Value of);
  Shape rows_of_whole_lines();
  void add_softmax();
  void add_normalisation();
  void add_layer();
  void add_convolution();
  void add_attention();
  void add_symmetric_product();
  void add_part_of_sorted();
  void add_histogram();
  void add_stencil();
  void add_written_parts();
  void add_pieces();
  void add_running_sums();
  void add_columns();
  void add_strided_writes();
  void add_narrow_reductions();
  void add_all_pairs();
  void add_gathered_rows();
  void add_block_sum();
  Value made_operand(DType dtype, const Shape& shape);

  std::mt19937 random_;
  RandomGraphOptions options_;
  int64_t most_elements_ = 64;  ///< of operands that an op may multiply
  Graph graph_;
};

}  // namespace tokamak::testing
