#include "tracing.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "array.h"
#include "call_table.h"
#include "guards.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "location.h"
#include "lookup.h"
#include "support/cpu.h"
#include "trace/array_impl.h"
#include "trace/trace.h"

namespace tokamak::python {
namespace {

/// Below this estimated time (in nanoseconds) a program runs with the GIL held.
constexpr double kReleaseCost = 10'000;

/// Above this many elements, constants are not computed while a function is traced.
constexpr int64_t kMostConstantElements = 1 << 18;

/// The leaves of a call, read. `bad` is the position of the first that is no argument, -1 when all are.
struct Leaves {
  std::unique_ptr<Leaf[]> items;
  size_t count;
  std::vector<nb::object> made;
  int64_t bad = -1;

  explicit Leaves(const nb::list& objects) : items(new Leaf[nb::len(objects)]), count(nb::len(objects)) {
    for (size_t i = 0; i < count && bad < 0; ++i) {
      if (!read_any(PyList_GET_ITEM(objects.ptr(), static_cast<Py_ssize_t>(i)), items[i], made)) {
        bad = static_cast<int64_t>(i);
      }
    }
  }
};

/// Bytes that are equal for calls which the same program serves; the position of the leaf that is no argument
/// otherwise.
nb::object key_of(const nb::list& objects) {
  Leaves leaves(objects);
  if (leaves.bad >= 0) return nb::int_(leaves.bad);
  std::string key;
  for (size_t i = 0; i < leaves.count; ++i) append_key(key, leaves.items[i]);
  return nb::bytes(key.data(), key.size());
}

/// The call's result; NotImplemented when there is no program for it.
nb::object call(CallTable& table, const nb::list& objects, bool as_arrays) {
  Leaves leaves(objects);
  Entry* entry = leaves.bad >= 0 ? nullptr : table.find(leaves.items.get(), leaves.count, nullptr, 0);
  if (entry == nullptr) return nb::borrow(Py_NotImplemented);
  PyObject* result = run_entry(*entry, leaves.items.get(), leaves.count, as_arrays);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

nb::object explanation(CallTable& table, const nb::list& objects) {
  Leaves leaves(objects);
  Entry* entry = leaves.bad >= 0 ? nullptr : table.find(leaves.items.get(), leaves.count, nullptr, 0);
  if (entry == nullptr) return nb::none();
  return nb::cast(std::const_pointer_cast<Explanation>(entry->explanation));
}

OutputForm form_named(const std::string& name) {
  if (name == "one") return OutputForm::one;
  if (name == "tuple") return OutputForm::tuple;
  if (name == "list") return OutputForm::list;
  return OutputForm::other;
}

/// An argument, the part of it that is computed, and the places that are written to: see WrittenPart.
using Part = std::pair<std::vector<int64_t>, std::vector<std::pair<int, int64_t>>>;
using Written = std::tuple<int, Part, std::vector<std::pair<Part, std::vector<int64_t>>>>;

WrittenPart written_part(const Written& from) {
  const auto& [argument, part, places] = from;
  WrittenPart to{argument, {part.first, part.second}, {}};
  for (const auto& [place, shape] : places) to.places.push_back({{place.first, place.second}, shape});
  return to;
}

/// Where a part of an argument begins, in elements, and how far it is from one of its elements to the next.
struct PlaceOfPart {
  int64_t offset;
  int64_t step;
};

/// If the argument has no gaps, and a result of that type and order lies as the part does, but for the same
/// gap behind each of its elements.
std::optional<PlaceOfPart> place_of_part(const LeafSpec& spec, const ArgumentPart& part,
                                         const ResultType& result, const AxisOrder& order) {
  if ((!spec.dense && !spec.gapless) || result.type.dtype != spec.dtype) return std::nullopt;
  const std::vector<int64_t> whole = strides_in_order(spec.shape, spec.order);
  const std::vector<int64_t> made = strides_in_order(result.type.shape, order);
  std::optional<int64_t> gap;
  for (size_t axis = 0; axis < made.size(); ++axis) {
    if (result.type.shape[axis] <= 1) continue;
    const auto [along, step] =
        part.starts.empty() ? std::pair(static_cast<int>(axis), int64_t{1}) : part.axes[axis];
    const int64_t stride = step * whole[static_cast<size_t>(along)];
    if (stride <= 0 || stride % made[axis] != 0 || gap.value_or(stride / made[axis]) != stride / made[axis])
      return std::nullopt;
    gap = stride / made[axis];
  }
  int64_t offset = 0;
  for (size_t axis = 0; axis < part.starts.size(); ++axis) offset += part.starts[axis] * whole[axis];
  return PlaceOfPart{offset, gap.value_or(1)};
}

/// Compiles the graph for these arguments and adds the program to `table`; and to `hot` under the static
/// values, when calls of this form can take the hot path. `known` are the numbers among the arguments whose
/// values are part of the program, `orders` those of the axes of the outputs in memory; `tracing` is what
/// recording the graph took, in milliseconds, if it was recorded; `called` is what the user calls the
/// function.
void compile_into(CallTable& table, CallTable* hot, const nb::list& objects, const Graph& graph, bool fuse,
                  bool optimize, bool fast_math, const std::vector<int>& donated,
                  const std::vector<Written>& written, const std::vector<int>& taken, const std::string& form,
                  const nb::object& build, const std::vector<nb::object>& statics, const nb::object& guards,
                  const std::vector<size_t>& known, const std::vector<AxisOrder>& orders,
                  const std::optional<double>& tracing, const std::string& called) {
  Leaves leaves(objects);
  if (leaves.bad >= 0) throw InternalError("compiling for something that is no argument");
  std::vector<Layout> layouts;
  CompileOptions options;
  options.fuse = fuse;
  options.optimize = optimize;
  options.fast_math = fast_math;
  options.donated = donated;
  options.called = called;
  auto entry = std::unique_ptr<Entry, void (*)(Entry*)>(new Entry, [](Entry* made) { made->release(); });
  for (size_t i = 0; i < leaves.count; ++i) {
    entry->specs.push_back(LeafSpec::of(leaves.items[i], false));
    layouts.push_back(entry->specs.back().layout_in_memory(leaves.items[i]));
  }
  for (const size_t i : known) entry->specs[i].know(leaves.items[i]);
  for (const Written& one : written) entry->written.push_back(written_part(one));
  std::erase_if(options.donated, [&](int argument) {  // it is to have its own new elements
    return std::ranges::find(entry->written, argument, &WrittenPart::argument) != entry->written.end();
  });
  for (size_t i = 0; i < orders.size(); ++i)
    entry->results.push_back(ResultType::of(graph.type_of(graph.outputs()[i]), orders[i]));
  const size_t computed = graph.outputs().size() - written.size();
  for (size_t i = 0; i < written.size(); ++i) {
    WrittenPart& part = entry->written[i];
    const bool is_only = std::ranges::count(entry->written, part.argument, &WrittenPart::argument) == 1;
    const size_t output = computed + i;
    const LeafSpec& spec = entry->specs[static_cast<size_t>(part.argument)];
    const std::optional<PlaceOfPart> place =
        place_of_part(spec, part.part, entry->results[output], orders[output]);
    if (!is_only || !place) continue;  // of several parts that overlap the last one counts
    options.written.push_back(
        {static_cast<int>(output), part.argument, place->offset, place->step, !part.places.empty()});
    part.offset = place->offset * static_cast<int64_t>(size_of(spec.dtype));
  }
  Compiled compiled = [&] {
    nb::gil_scoped_release release;
    return compile(graph, layouts, options);
  }();
  if (tracing) compiled.explanation->add_tracing(*tracing);
  for (const Written& one : written)
    compiled.explanation->note_written(static_cast<size_t>(std::get<0>(one)));
  entry->program = std::move(compiled.program);
  entry->explanation = std::move(compiled.explanation);
  for (const std::optional<int>& donor : entry->program->output_donor) {
    if (!donor) continue;
    entry->specs[static_cast<size_t>(*donor)].donated = true;
    entry->has_donated = true;
  }
  entry->releases_gil = entry->program->total_cost > kReleaseCost;
  for (const WrittenInput& one : options.written) {
    const auto output = static_cast<size_t>(one.output);
    WrittenPart& part = entry->written[output - computed];
    part.in_place = entry->program->output_in_place[output];
    if (part.in_place) entry->results[output].spread(one.step);
  }
  entry->taken = taken;
  if (!guards.is_none()) {
    entry->guards = guards;
    entry->checked = nb::cast<const Guards*>(guards);
  }
  entry->form = form_named(form);
  entry->build = build;
  if (nb::isinstance<Recipe>(build)) entry->recipe = nb::cast<const Recipe*>(build);
  if (hot != nullptr) {
    auto alias = new Entry(*entry);
    alias->references = 1;
    alias->statics = statics;
    hot->add(alias);
  }
  table.add(entry.release());
}

std::vector<std::string> types_of(const Graph& graph, const std::vector<Value>& values) {
  std::vector<std::string> types;
  for (Value value : values) types.push_back(to_string(graph.type_of(value)));
  return types;
}

/// For every value of the graph whether `last` is computed from it.
std::vector<bool> values_behind(const Graph& graph, Value last) {
  std::vector<bool> behind(graph.size());
  behind[index_of(last)] = true;
  for (size_t i = index_of(last) + 1; i-- > 0;) {
    if (!behind[i]) continue;
    for (const Value input : graph.nodes()[i].inputs) behind[index_of(input)] = true;
  }
  return behind;
}

/// What `last` is, if it is computed from constants alone, and from not too many elements.
std::optional<Tensor> evaluate_constant(const Graph& graph, Value last) {
  const std::vector<bool> behind = values_behind(graph, last);
  int64_t elements = 0;
  for (size_t i = 0; i <= index_of(last); ++i) {
    if (!behind[i]) continue;
    if (graph.nodes()[i].op == Op::parameter) return std::nullopt;
    elements += graph.nodes()[i].type.elements();
    if (elements > kMostConstantElements) return std::nullopt;
  }
  std::vector<Tensor> values(index_of(last) + 1);
  for (size_t i = 0; i <= index_of(last); ++i) {
    if (!behind[i]) continue;
    const Node& node = graph.nodes()[i];
    if (const Tensor* constant = graph.constant_value(static_cast<Value>(i))) {
      values[i] = *constant;
      continue;
    }
    std::vector<Tensor> operands;
    for (const Value input : node.inputs) operands.push_back(values[index_of(input)]);
    values[i] = interpret_node(node, operands, current_cpu().fma);
  }
  return values[index_of(last)];
}

/// Whether all that values are computed from of a parameter is, for every element, the one of a slice of it.
class SliceReads {
 public:
  SliceReads(const Graph& graph, Value parameter, Ints starts, Ints steps)
      : graph_(graph), parameter_(parameter), starts_(std::move(starts)), steps_(std::move(steps)) {}

  bool only_for(Value last) const {
    std::vector<bool> is_read(graph_.size());  // what depends on the parameter ...
    std::vector<bool> is_fine(graph_.size());  // ... and, element by element, on the slice alone
    for (size_t i = 0; i <= index_of(last); ++i) {
      const auto value = static_cast<Value>(i);
      const Node& node = graph_[value];
      is_read[i] = value == parameter_ ||
                   std::ranges::any_of(node.inputs, [&](Value in) { return is_read[index_of(in)]; });
      if (node.type.shape != graph_.type_of(last).shape) continue;
      if (is_slice(node)) {
        const std::optional<Value> written = written_to_slice(node.inputs[0]);
        is_fine[i] = node.inputs[0] == parameter_ || (written && is_fine[index_of(*written)]);
      } else if (family_of(node.op) == OpFamily::Elementwise) {
        is_fine[i] = std::ranges::all_of(
            node.inputs, [&](Value in) { return !is_read[index_of(in)] || is_fine[index_of(in)]; });
      }
    }
    return !is_read[index_of(last)] || is_fine[index_of(last)];
  }

 private:
  bool is_slice(const Node& node) const {
    return node.op == Op::slice && node.attributes.ints(Attr::starts) == starts_ &&
           node.attributes.ints(Attr::steps) == steps_;
  }

  /// What an array has in place of the slice, when it was written there: `select inside, pad(new), old`.
  std::optional<Value> written_to_slice(Value array) const {
    const Node& select = graph_[array];
    if (select.op != Op::select || graph_[select.inputs[1]].op != Op::pad) return std::nullopt;
    const Node& pad = graph_[select.inputs[1]];
    Ints steps = pad.attributes.ints(Attr::interior);
    for (int64_t& step : steps) ++step;
    const bool is_there = pad.attributes.ints(Attr::low) == starts_ && steps == steps_;
    return is_there ? std::optional(pad.inputs[0]) : std::nullopt;
  }

  const Graph& graph_;
  Value parameter_;
  Ints starts_;
  Ints steps_;
};

/// A recording, as Python drives it.
class PythonTrace {
 public:
  explicit PythonTrace(std::string name) : trace_(Trace::start(std::move(name))), outer_(innermost) {
    take_over_lookups();
    innermost = this;
  }
  ~PythonTrace() { abandon(); }
  PythonTrace(const PythonTrace&) = delete;
  PythonTrace& operator=(const PythonTrace&) = delete;

  nb::object parameter(const std::string& name, const nb::object& like) {
    nb::list one;
    one.append(like);
    Leaves leaves(one);
    if (leaves.bad >= 0) throw InternalError("a parameter that is no argument");
    const Leaf& leaf = leaves.items[0];
    const LeafSpec spec = LeafSpec::of(leaf, false);
    Array made = trace_->parameter(name, spec.type_in_memory(), user_python_line());
    return make_python_array(in_axis_order(made, inverse(spec.order)), leaf.weak);
  }

  /// The positions of the parameters that a value is computed from; None for values of other traces.
  nb::object sources(nb::handle object) const {
    const PythonArray* array = as_python_array(object.ptr());
    const Recorded* recorded = array == nullptr ? nullptr : array->array.impl().recorded();
    if (recorded == nullptr || recorded->trace != trace_) return nb::none();
    const Graph& graph = trace_->graph();
    const std::vector<bool> behind = values_behind(graph, recorded->value);
    nb::list found;
    for (size_t i = 0; i < graph.parameters().size(); ++i)
      if (behind[index_of(graph.parameters()[i])]) found.append(i);
    return found;
  }

  /// See SliceReads.
  bool reads_only_slice(nb::handle object, size_t argument, const Ints& starts, const Ints& steps) const {
    const PythonArray* array = as_python_array(object.ptr());
    const Recorded* recorded = array == nullptr ? nullptr : array->array.impl().recorded();
    if (recorded == nullptr || recorded->trace != trace_) return false;
    const Graph& graph = trace_->graph();
    return SliceReads(graph, graph.parameters()[argument], starts, steps).only_for(recorded->value);
  }

  /// The elements of a value that is computed from constants alone; None for others, and where that would
  /// take long.
  nb::object constant_value(nb::handle object) const {
    const PythonArray* array = as_python_array(object.ptr());
    const Recorded* recorded = array == nullptr ? nullptr : array->array.impl().recorded();
    if (recorded == nullptr || recorded->trace != trace_) return nb::none();
    const std::optional<Tensor> value = evaluate_constant(trace_->graph(), recorded->value);
    return value ? make_python_array(array_of(*value), array->weak) : nb::none();
  }

  /// The graph, and in which order the axes of its outputs lie in memory, given the strides that NumPy would
  /// give them. The graph computes them as they lie there.
  std::pair<Graph, std::vector<AxisOrder>> finish(const std::vector<nb::object>& outputs,
                                                  const std::vector<std::vector<int64_t>>& strides) {
    std::vector<Array> arrays;
    std::vector<AxisOrder> orders;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Array& array = as_python_array(outputs[i].ptr())->array;
      orders.push_back(order_in_memory(array.shape(), strides[i]));
      arrays.push_back(in_axis_order(array, orders.back()));
    }
    return {trace_->finish(arrays), std::move(orders)};
  }

  void abandon() {
    trace_->abandon();
    if (innermost == this) innermost = outer_;
  }

  /// Weak references to the ndarrays whose memory became constants: those that own it, where they were views.
  nb::list captured() const { return captured_; }

  static void note(PyObject* ndarray) {
    if (innermost == nullptr) return;
    for (PyObject* base = ndarray; base != nullptr && PyArray_Check(base);
         base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base))) {
      ndarray = base;
    }
    PyObject* reference = PyWeakref_NewRef(ndarray, nullptr);
    if (reference == nullptr) throw nb::python_error();
    innermost->captured_.append(nb::steal(reference));
  }

 private:
  /// Its axes in another order, at the line that made it; itself when there is none.
  Array in_axis_order(const Array& array, const AxisOrder& order) {
    if (order.empty()) return array;
    const Recorded* recorded = array.impl().recorded();
    const bool is_made_here = recorded != nullptr && recorded->trace == trace_;
    const SourceLocation where = is_made_here ? trace_->graph()[recorded->value].where : user_python_line();
    return trace_->record(Op::transpose, std::span(&array, 1), {{Attr::permutation, order}}, where);
  }

  static thread_local PythonTrace* innermost;

  std::shared_ptr<Trace> trace_;
  PythonTrace* outer_;
  nb::list captured_;
};

thread_local PythonTrace* PythonTrace::innermost = nullptr;

int traverse_table(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<CallTable>(self)->traverse(visit, arg) : 0;
}

int clear_table(PyObject* self) {
  nb::inst_ptr<CallTable>(self)->clear();
  return 0;
}

PyType_Slot kTableSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_table)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_table)},
    {0, nullptr},
};

}  // namespace

void note_captured(PyObject* ndarray) { PythonTrace::note(ndarray); }

void bind_tracing(nb::module_& module) {
  nb::class_<Graph>(module, "Graph")
      .def("__str__", [](const Graph& graph) { return print(graph); })
      .def_prop_ro("name", &Graph::name)
      .def_prop_ro("parameter_types", [](const Graph& graph) { return types_of(graph, graph.parameters()); })
      .def_prop_ro("output_types", [](const Graph& graph) { return types_of(graph, graph.outputs()); });
  module.def(
      "parse",
      [](const nb::bytes& text, const std::string& file) {
        return parse({text.c_str(), text.size()}, file);
      },
      nb::arg("text"), nb::arg("file"));

  nb::class_<PythonTrace>(module, "Trace")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def("parameter", &PythonTrace::parameter, nb::arg("name"), nb::arg("like"))
      .def("sources", &PythonTrace::sources, nb::arg("array"))
      .def("constant_value", &PythonTrace::constant_value, nb::arg("array"))
      .def("reads_only_slice", &PythonTrace::reads_only_slice, nb::arg("array"), nb::arg("argument"),
           nb::arg("starts"), nb::arg("steps"))
      .def("finish", &PythonTrace::finish, nb::arg("outputs"), nb::arg("strides"))
      .def("abandon", &PythonTrace::abandon)
      .def("captured", &PythonTrace::captured);

  nb::class_<CallTable>(module, "CallTable", nb::type_slots(kTableSlots))
      .def(nb::init<size_t>(), nb::arg("capacity"))
      .def("call", call, nb::arg("leaves"), nb::arg("as_arrays"))
      .def("explanation", explanation, nb::arg("leaves"))
      .def("compile", compile_into, nb::arg("hot").none(), nb::arg("leaves"), nb::arg("graph"),
           nb::arg("fuse"), nb::arg("optimize"), nb::arg("fast_math"), nb::arg("donated"), nb::arg("written"),
           nb::arg("taken"), nb::arg("form"), nb::arg("build").none(), nb::arg("statics"),
           nb::arg("guards").none(), nb::arg("known"), nb::arg("orders"), nb::arg("tracing").none(),
           nb::arg("called"))
      .def("clear", &CallTable::clear)
      .def("__len__", &CallTable::size)
      .def_rw("hits", &CallTable::hits)
      .def_rw("misses", &CallTable::misses);

  module.def("key_of", key_of, nb::arg("leaves"));
  module.def(
      "order_in_memory",
      [](const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
        return order_in_memory(shape, strides);
      },
      nb::arg("shape"), nb::arg("strides"));
  module.def("common_order", common_order, nb::arg("strides"), nb::arg("rank"));
  module.def("set_tracking", Trace::set_tracking, nb::arg("on"));
  module.def("is_tracing", [] { return Trace::current() != nullptr; });
}

}  // namespace tokamak::python
