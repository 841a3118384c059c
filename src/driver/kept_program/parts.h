#pragma once

// What programs consist of. Every structure is taken apart by name, so that a new member does not compile
// until it is kept, too.

#include "driver/kept_program/archive.h"
#include "runtime/program.h"

namespace tokamak::kept {

template <class A, class T>
requires(std::is_arithmetic_v<std::remove_const_t<T>> ||
         std::is_enum_v<std::remove_const_t<T>>) void transfer(A& archive, T& value) {
  archive.value(value);
}

template <class A>
void transfer(A& archive, Part<A, std::string> text) {
  archive.text(text);
}

template <class A>
void transfer(A& archive, Part<A, TensorType> type) {
  auto& [dtype, shape] = type;
  transfer(archive, dtype), transfer(archive, shape);
}

inline void transfer(Writer& archive, const Tensor& tensor) {
  transfer(archive, tensor.type());
  archive.tensor(tensor);
}
inline void transfer(Reader& archive, Tensor& tensor) {
  TensorType type;
  transfer(archive, type);
  archive.tensor(type, tensor);
}

template <class A>
void transfer(A& archive, Part<A, std::shared_ptr<const NativeKernel>> code) {
  archive.code(code);
}

template <class A>
void transfer(A& archive, Part<A, std::vector<bool>> flags) {
  const size_t count = archive.count(flags.size());
  if constexpr (A::kReads) flags.resize(count);
  for (size_t i = 0; i < count; ++i) {
    bool flag = flags[i];
    archive.value(flag);
    if constexpr (A::kReads) flags[i] = flag;
  }
}

template <class A, class T>
requires(!std::is_same_v<T, bool>) void transfer(A& archive, std::vector<T>& items) {
  const size_t count = archive.count(0);
  for (size_t i = 0; i < count && archive.is_good(); ++i) transfer(archive, items.emplace_back());
}
template <class A, class T>
requires(!std::is_same_v<T, bool>) void transfer(A& archive, const std::vector<T>& items) {
  archive.count(items.size());
  for (const T& item : items) transfer(archive, item);
}

template <class A, class T>
void transfer(A& archive, std::optional<T>& item) {
  bool is_there = false;
  archive.value(is_there);
  if (is_there) transfer(archive, item.emplace());
}
template <class A, class T>
void transfer(A& archive, const std::optional<T>& item) {
  archive.value(item.has_value());
  if (item) transfer(archive, *item);
}

/// A structure that is kept as what it points to.
template <class T>
concept PointedTo = !std::is_same_v<T, NativeKernel> && !std::is_same_v<T, ProductMethod>;

template <class A, PointedTo T>
void transfer(A& archive, std::shared_ptr<const T>& item) {
  bool is_there = false;
  archive.value(is_there);
  if (!is_there) return;
  auto made = std::make_shared<T>();
  transfer(archive, *made);
  item = std::move(made);
}
template <class A, PointedTo T>
void transfer(A& archive, const std::shared_ptr<const T>& item) {
  archive.value(item != nullptr);
  if (item != nullptr) transfer(archive, *item);
}

template <class A>
void transfer(A& archive, Part<A, SweptRange> range) {
  auto& [first, end, first_unit, end_unit] = range;
  transfer(archive, first), transfer(archive, end), transfer(archive, first_unit);
  transfer(archive, end_unit);
}

template <class A>
void transfer(A& archive, Part<A, SourceLocation> where) {
  auto& [file, line, column, function] = where;
  transfer(archive, file), transfer(archive, line), transfer(archive, column), transfer(archive, function);
}
inline void transfer(Writer& archive, const std::vector<RuntimeCheck>& checks) {
  archive.count(checks.size());
  for (const auto& [error] : checks) {
    archive.text(error.message());
    transfer(archive, error.where());
    archive.value(error.kind());
  }
}
inline void transfer(Reader& archive, std::vector<RuntimeCheck>& checks) {
  for (size_t count = archive.count(0); checks.size() < count && archive.is_good();) {
    std::string message;
    SourceLocation where;
    UserError::Kind kind{};
    archive.text(message);
    transfer(archive, where);
    archive.value(kind);
    archive.require(kind <= UserError::Kind::floating_point);
    checks.push_back({UserError(message, std::move(where), kind)});
  }
}

/// What running takes of the loops: all else is in the code.
template <class A>
void transfer(A& archive, Part<A, LoopKernel> kernel) {
  auto& [name, buffers, values, accumulators, variables, extents, checks, nests, lane_loops, range, numbers,
         scratch_bytes, relaxed_math, bounds_checked] = kernel;
  transfer(archive, name), transfer(archive, range), transfer(archive, scratch_bytes);
  transfer(archive, checks);
  const size_t count = archive.count(nests.size());
  if constexpr (A::kReads) nests.resize(count);
  for (auto& nest : nests) transfer(archive, nest.root.extent);
}

template <class A>
void transfer(A& archive, Part<A, Place> place) {
  auto& [kind, at, offset] = place;
  transfer(archive, kind), transfer(archive, at), transfer(archive, offset);
}

template <class A>
void transfer(A& archive, Part<A, OperandRead::Axis> axis) {
  auto& [extent, coefficients] = axis;
  transfer(archive, extent), transfer(archive, coefficients);
}
template <class A>
void transfer(A& archive, Part<A, OperandRead::Bound> bound) {
  auto& [offset, coefficients, extent] = bound;
  transfer(archive, offset), transfer(archive, coefficients), transfer(archive, extent);
}
template <class A>
void transfer(A& archive, Part<A, OperandRead> read) {
  auto& [array, passed, offsets, batch, lines, contracted, bounds] = read;  // the first two are of the graph
  transfer(archive, offsets), transfer(archive, batch), transfer(archive, lines);
  transfer(archive, contracted), transfer(archive, bounds);
}

template <class A>
void transfer(A& archive, Part<A, BlockMaker> maker) {
  auto& [code, kernel, buffers, strided_inputs, sites, tasks_per_row, rows_are_lines, rows, rows_at_once,
         row_bytes] = maker;  // no sites: code that is checked is not kept
  transfer(archive, code), transfer(archive, kernel), transfer(archive, buffers);
  transfer(archive, strided_inputs), transfer(archive, tasks_per_row), transfer(archive, rows_are_lines);
  transfer(archive, rows), transfer(archive, rows_at_once), transfer(archive, row_bytes);
}

template <class A>
void transfer(A& archive, Part<A, BlockOperand> operand) {
  auto& [dtype, read, place, strides, strided_input, lines, packed, copies, maker, in_rows, windows] =
      operand;
  transfer(archive, dtype), transfer(archive, read), transfer(archive, place), transfer(archive, strides);
  transfer(archive, strided_input), transfer(archive, lines), transfer(archive, packed);
  transfer(archive, copies), transfer(archive, maker), transfer(archive, in_rows);
  transfer(archive, windows);
}

template <class A>
void transfer(A& archive, Part<A, ProductChoice> choice) {
  auto& [kind, type, rows, columns, k, picture] = choice;
  auto& [height, width, channels] = picture;
  transfer(archive, kind), transfer(archive, type), transfer(archive, rows), transfer(archive, columns);
  transfer(archive, k), transfer(archive, height), transfer(archive, width), transfer(archive, channels);
}
inline void transfer(Writer& archive, const std::shared_ptr<const ProductMethod>& method) {
  archive.value(method != nullptr);
  if (method != nullptr) transfer(archive, method->choice);
}
inline void transfer(Reader& archive, std::shared_ptr<const ProductMethod>& method) {
  bool is_there = false;
  archive.value(is_there);
  if (!is_there) return;
  ProductChoice choice;
  transfer(archive, choice);
  archive.method(method, choice);
}

template <class A>
void transfer(A& archive, Part<A, StoredSums::Axis> axis) {
  auto& [extent, stride] = axis;
  transfer(archive, extent), transfer(archive, stride);
}
template <class A>
void transfer(A& archive, Part<A, StoredSums> stored) {
  auto& [batch, row_stride] = stored;
  transfer(archive, batch), transfer(archive, row_stride);
}

template <class A>
void transfer(A& archive, Part<A, BlockStage> stage) {
  auto& [method, lhs, rhs, columns, depth, element_bytes, code, kernel, buffers, strided_inputs, sites,
         tasks_per_row, columns_per_task, result, stored, result_dtype, result_row_bytes, over_sums,
         sums_in_result] = stage;
  transfer(archive, method), transfer(archive, lhs), transfer(archive, rhs), transfer(archive, columns);
  transfer(archive, depth), transfer(archive, element_bytes), transfer(archive, code);
  transfer(archive, kernel), transfer(archive, buffers), transfer(archive, strided_inputs);
  transfer(archive, tasks_per_row), transfer(archive, columns_per_task), transfer(archive, result);
  transfer(archive, stored), transfer(archive, result_dtype), transfer(archive, result_row_bytes);
  transfer(archive, over_sums), transfer(archive, sums_in_result);
}

template <class A>
void transfer(A& archive, Part<A, VisibleRange> range) {
  auto& [first, end] = range;
  transfer(archive, first), transfer(archive, end);
}
template <class A>
void transfer(A& archive, Part<A, VisibleColumns> visible) {
  auto& [rows, largest_product] = visible;
  transfer(archive, rows), transfer(archive, largest_product);
}

template <class A>
void transfer(A& archive, Part<A, BlockStep> step) {
  auto& [batch, rows, block_rows, block_columns, slice_rows, block_cost, part_depth, chunk_depth,
         mirrored_rows, stages, visible] = step;
  transfer(archive, batch), transfer(archive, rows), transfer(archive, block_rows);
  transfer(archive, block_columns), transfer(archive, slice_rows), transfer(archive, block_cost);
  transfer(archive, part_depth);
  transfer(archive, chunk_depth), transfer(archive, mirrored_rows), transfer(archive, stages);
  transfer(archive, visible);
}

template <class A>
void transfer(A& archive, Part<A, Program::Step::CopyNest> copy) {
  auto& [nest, from, to] = copy;
  transfer(archive, nest), transfer(archive, from), transfer(archive, to);
}
template <class A>
void transfer(A& archive, Part<A, Program::Step> step) {
  auto& [code, kernel, buffers, strided_inputs, numbers, grains, first_nest, end_nest, copy, sites, block,
         sort, bytes_read, bytes_written, flops, cost, tasks] = step;  // no sites, and no sorts
  transfer(archive, code), transfer(archive, kernel), transfer(archive, buffers);
  transfer(archive, strided_inputs), transfer(archive, numbers), transfer(archive, grains);
  transfer(archive, first_nest), transfer(archive, end_nest), transfer(archive, copy);
  transfer(archive, block), transfer(archive, bytes_read), transfer(archive, bytes_written);
  transfer(archive, flops), transfer(archive, cost), transfer(archive, tasks);
}

template <class A>
void transfer(A& archive, Part<A, StepChain> chain) {
  auto& [first, shifts, block_tasks, blocks] = chain;
  transfer(archive, first), transfer(archive, shifts), transfer(archive, block_tasks);
  transfer(archive, blocks);
}
template <class A>
void transfer(A& archive, Part<A, Program::Copy> copy) {
  auto& [output, source] = copy;
  transfer(archive, output), transfer(archive, source);
}

template <class A>
void transfer(A& archive, Part<A, Program> program) {
  // Who looks at it, and what it is called, is up to who asks for it.
  auto& [name, inputs, outputs, output_donor, output_in_place, output_keeps, constants, steps, chains, copies,
         observer, with_program, arena_bytes, total_cost] = program;
  transfer(archive, inputs), transfer(archive, outputs), transfer(archive, output_donor);
  transfer(archive, output_in_place), transfer(archive, output_keeps), transfer(archive, constants);
  transfer(archive, steps), transfer(archive, chains), transfer(archive, copies);
  transfer(archive, arena_bytes), transfer(archive, total_cost);
}

}  // namespace tokamak::kept
