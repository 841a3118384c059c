#pragma once

#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "tokamak/array.h"
#include "tokamak/errors.h"
#include "trace/numpy_strides.h"

namespace tokamak {

/// A function while it is being recorded: the graph, and the rules of who may add to it.
///
///   auto trace = Trace::start("f");
///   Array x = trace->parameter("x", type);
///   Array y = ...;                          // operations on x are recorded
///   Graph graph = trace->finish({{y}});     // from here on x and y are unusable
///
/// A trace belongs to the thread that started it. Arrays with memory that meet traced ones become constants:
/// their elements are copied, once per array.
class Trace : public std::enable_shared_from_this<Trace> {
 public:
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Starts recording on this thread, inside whatever it records already.
  static std::shared_ptr<Trace> start(std::string name);
  /// The innermost trace of this thread; nullptr when there is none. Operations without array operands go
  /// there.
  static Trace* current();

  Array parameter(std::string name, TensorType type, SourceLocation where = {});
  /// `by` is the operation that an error names.
  Array constant(Tensor value, SourceLocation where = {}, std::string_view by = "constant");
  /// An array with memory as a value of this trace.
  Array captured(const Array& array, const SourceLocation& where);
  /// Adds an operation; the operands are values of this trace or have memory.
  Array record(Op op, std::span<const Array> inputs, Attributes attributes, const SourceLocation& where);
  /// While it is on, what this thread records only keeps track of what arrays become that the function writes
  /// to. finish() drops as much of it as neither the outputs nor the function's own operations need: it is
  /// not the function that left it unused. Gives what it was before.
  static bool set_tracking(bool on);
  /// Ends the trace and hands over the graph.
  Graph finish(std::span<const Array> outputs);
  /// Ends it without a result. Harmless when it has ended.
  void abandon();

  const std::string& name() const { return graph_.name(); }
  const Graph& graph() const { return graph_; }
  /// The strides that NumPy would give a value of this trace; in elements.
  std::vector<int64_t> numpy_strides(Value value) { return numpy_strides_.of(graph_, value); }
  /// Those of the memory it gets when it is a result: NumPy's, but for what is said only of NumPy's.
  std::vector<int64_t> given_strides(Value value) { return given_strides_.of(graph_, value); }
  void say_numpy_strides(Value value, std::vector<int64_t> strides) {
    numpy_strides_.say(value, std::move(strides));
  }
  void give_numpy_strides(Value value) { given_strides_.say(value, numpy_strides(value)); }
  size_t captured_bytes() const { return captured_bytes_; }

 private:
  explicit Trace(std::string name) : graph_(std::move(name)), thread_(std::this_thread::get_id()) {}
  void check_usable(std::string_view by, const SourceLocation& where) const;
  Value value_of(const Array& array, std::string_view by, const SourceLocation& where);
  Value capture(const Array& array, std::string_view by, const SourceLocation& where);
  Array wrap(Value value);
  /// Notes that the nodes from `first` on were recorded to keep track, if they were.
  void note_tracking(size_t first);

  Graph graph_;
  std::vector<bool> tracking_;  ///< by node; those behind its end are the function's own
  std::thread::id thread_;
  bool ended_ = false;
  Trace* outer_ = nullptr;
  size_t captured_bytes_ = 0;
  NumpyStrides numpy_strides_;
  NumpyStrides given_strides_;
  std::unordered_map<const ArrayImpl*, Value> captured_;
  std::vector<std::shared_ptr<const ArrayImpl>> captured_owners_;  ///< so that their addresses stay theirs
};

}  // namespace tokamak
