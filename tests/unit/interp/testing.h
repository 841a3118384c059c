#pragma once

// Shorthand for tests that evaluate one op.

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "interp/interpreter.h"
#include "ir/graph.h"

namespace tokamak::testing {

/// Elements given as doubles, rounded or wrapped to the dtype.
inline Tensor tensor(DType dtype, Shape shape, std::vector<double> values) {
  Tensor made(TensorType{dtype, std::move(shape)});
  EXPECT_EQ(static_cast<size_t>(made.type().elements()), values.size());
  const size_t width = size_of(dtype);
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor element = is_float(dtype) ? scalar_tensor(dtype, values[i])
                                           : scalar_tensor(dtype, static_cast<int64_t>(values[i]));
    std::memcpy(made.mutable_data() + i * width, element.data(), width);
  }
  return made;
}

inline Tensor vector(DType dtype, std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return tensor(dtype, {count}, std::move(values));
}

/// Elements by their bits, so that u64 and i64 are exact.
template <class T>
Tensor exact(DType dtype, std::vector<T> values) {
  return Tensor::copy_of({dtype, {static_cast<int64_t>(values.size())}}, values.data());
}

inline Tensor run(Op op, std::vector<Tensor> operands, Attributes attributes = {}) {
  Graph graph("test");
  std::vector<Value> inputs;
  for (const Tensor& operand : operands) inputs.push_back(graph.add_parameter("p", operand.type()));
  graph.set_outputs({graph.add(op, inputs, std::move(attributes))});
  return interpret(graph, operands, true)[0];
}

inline std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.type().elements(); ++i) values.push_back(element_as_double(tensor, i));
  return values;
}

inline std::vector<int64_t> ints_of(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.type().elements(); ++i) values.push_back(element_as_int(tensor, i));
  return values;
}

/// Same type and bits; prints the elements when not.
inline void expect_same(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(to_string(actual.type()), to_string(expected.type()));
  EXPECT_TRUE(actual == expected) << "got " << ::testing::PrintToString(values_of(actual)) << ", expected "
                                  << ::testing::PrintToString(values_of(expected));
}

}  // namespace tokamak::testing
