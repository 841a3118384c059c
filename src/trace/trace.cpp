#include "trace/trace.h"

#include <utility>

#include "trace/array_impl.h"

namespace tokamak {
namespace {

thread_local Trace* innermost = nullptr;
thread_local bool is_tracking = false;

/// The graph without those of the marked nodes that neither outputs nor other nodes need.
Graph without_unneeded(Graph graph, std::vector<bool> marked) {
  marked.resize(graph.size(), false);
  std::vector<bool> needed(graph.size());
  for (Value output : graph.outputs()) needed[index_of(output)] = true;
  bool all = true;
  for (size_t i = graph.size(); i-- > 0;) {  // operands come before what reads them
    needed[i] = needed[i] || !marked[i];
    all = all && needed[i];
    if (!needed[i]) continue;
    for (Value input : graph.nodes()[i].inputs) needed[index_of(input)] = true;
  }
  if (all) return graph;
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i)
    if (needed[i]) rewriter.copy(static_cast<Value>(i));
  Graph rest = rewriter.finish();
  rest.forget_rewriting();
  return rest;
}

std::string quoted(const std::string& name) { return "'" + name + "'"; }

}  // namespace

std::shared_ptr<Trace> Trace::start(std::string name) {
  std::shared_ptr<Trace> trace(new Trace(std::move(name)));
  trace->outer_ = innermost;
  innermost = trace.get();
  return trace;
}

Trace* Trace::current() { return innermost; }

Trace::~Trace() { abandon(); }

bool Trace::set_tracking(bool on) { return std::exchange(is_tracking, on); }

void Trace::note_tracking(size_t first) {
  if (!is_tracking) return;
  tracking_.resize(first, false);
  tracking_.resize(graph_.size(), true);
}

Array Trace::parameter(std::string name, TensorType type, SourceLocation where) {
  return wrap(graph_.add_parameter(std::move(name), std::move(type), std::move(where)));
}

Array Trace::constant(Tensor value, SourceLocation where, std::string_view by) {
  check_usable(by, where);
  const Value made = graph_.add_constant(std::move(value), std::move(where));
  note_tracking(index_of(made));
  return wrap(made);
}

Array Trace::captured(const Array& array, const SourceLocation& where) {
  check_usable("constant", where);
  return wrap(value_of(array, "constant", where));
}

Array Trace::record(Op op, std::span<const Array> inputs, Attributes attributes,
                    const SourceLocation& where) {
  check_usable(name_of(op), where);
  if (op == Op::constant) return constant(attributes.tensor(Attr::value), where);
  const size_t first = graph_.size();
  std::vector<Value> values;
  values.reserve(inputs.size());
  for (const Array& input : inputs) values.push_back(value_of(input, name_of(op), where));
  const Value made = graph_.add(op, std::move(values), std::move(attributes), where);
  note_tracking(first);
  return wrap(made);
}

Graph Trace::finish(std::span<const Array> outputs) {
  check_usable("jit", {});
  std::vector<Value> values;
  values.reserve(outputs.size());
  for (const Array& output : outputs) values.push_back(value_of(output, "return", {}));
  graph_.set_outputs(std::move(values));
  std::string name = graph_.name();
  Graph graph = std::move(graph_);
  graph_ = Graph(std::move(name));
  abandon();
  return without_unneeded(std::move(graph), std::move(tracking_));
}

void Trace::abandon() {
  if (ended_) return;
  ended_ = true;
  captured_.clear();
  captured_owners_.clear();
  // Usually it is the innermost; when an error left inner ones behind it is unlinked from among them.
  Trace** link = &innermost;
  while (*link != nullptr && *link != this) link = &(*link)->outer_;
  if (*link == this) *link = outer_;
}

void Trace::check_usable(std::string_view by, const SourceLocation& where) const {
  const std::string op(by);
  if (ended_) {
    throw UserError(op + ": an operand is a traced value of " + quoted(name()) +
                        ", whose tracing is over; return the value from the function instead of keeping it",
                    where);
  }
  if (thread_ != std::this_thread::get_id()) {
    throw UserError(op + ": " + quoted(name()) + " is being traced by another thread", where);
  }
}

Value Trace::value_of(const Array& array, std::string_view by, const SourceLocation& where) {
  if (!array.is_valid()) throw UserError(std::string(by) + ": an operand is an empty array", where);
  const Recorded* recorded = array.impl().recorded();
  if (recorded == nullptr) return capture(array, by, where);
  if (recorded->trace.get() == this) return recorded->value;
  recorded->trace->check_usable(by, where);
  throw UserError(std::string(by) + ": operands belong to two functions that are being traced, " +
                      quoted(name()) + " and " + quoted(recorded->trace->name()) +
                      "; pass the value to the inner one as an argument",
                  where);
}

Value Trace::capture(const Array& array, std::string_view by, const SourceLocation& where) {
  const ArrayImpl* impl = &array.impl();
  if (auto found = captured_.find(impl); found != captured_.end()) return found->second;
  if (impl->is_donated()) {
    throw UserError(
        std::string(by) + ": the memory of " + to_string(impl->type()) + " was donated to a call before",
        where);
  }
  // What is the same all along an axis is kept once.
  const Memory& memory = *impl->memory();
  TensorType kept = impl->type();
  for (size_t axis = 0; axis < kept.shape.size(); ++axis) {
    if (memory.strides[axis] == 0 && kept.shape[axis] > 1) kept.shape[axis] = 1;
  }
  Value value;
  if (const AxisOrder order = order_in_memory(kept.shape, memory.strides);
      kept == impl->type() && !order.empty()) {
    // As it lies in memory, for what is made of it lies that way, too.
    const Array turned = make_view({kept.dtype, in_order(kept.shape, order)}, memory, memory.data,
                                   in_order(memory.strides, order));
    value = graph_.add(Op::transpose, {graph_.add_constant(tensor_of(turned), where)},
                       {{Attr::permutation, inverse(order)}}, where);
  } else if (kept == impl->type()) {
    value = graph_.add_constant(tensor_of(array), where);
  } else {
    Tensor once(kept);
    copy_to_dense(kept, memory.data, memory.strides.data(), once.mutable_data());
    value = graph_.add(Op::broadcast, {graph_.add_constant(std::move(once), where)},
                       {{Attr::shape, impl->type().shape}}, where);
  }
  captured_bytes_ += static_cast<size_t>(impl->type().bytes());
  captured_.emplace(impl, value);
  captured_owners_.push_back(array.shared_impl());
  return value;
}

Array Trace::wrap(Value value) {
  return Array(std::make_shared<const ArrayImpl>(graph_.type_of(value), Recorded{shared_from_this(), value}));
}

}  // namespace tokamak
