// Smaller programs that fail in the same way.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "fuzz/program.h"
#include "interp/interpreter.h"
#include "support/cpu.h"

namespace tokamak::testing {
namespace {

/// What stands for a value: another one of the same type, or a new parameter with what the interpreter
/// computed.
struct Substitute {
  std::optional<Value> other;
};
using Substitutes = std::map<Value, Substitute>;

/// The program with `outputs`, without what they do not need. Throws UserError where the interpreter does.
FuzzProgram rebuilt(const FuzzProgram& old, const std::vector<Value>& outputs,
                    const Substitutes& substitutes) {
  const Graph& graph = old.graph;
  auto target = [&](Value value) {
    for (auto found = substitutes.find(value); found != substitutes.end() && found->second.other;
         found = substitutes.find(value))
      value = *found->second.other;
    return value;
  };
  auto is_cut = [&](Value value) { return substitutes.contains(value) || graph[value].op == Op::parameter; };
  std::vector<bool> live(graph.size(), false);
  for (Value output : outputs) live[index_of(target(output))] = true;
  for (size_t i = graph.size(); i-- > 0;) {
    const auto value = static_cast<Value>(i);
    if (!live[i] || is_cut(value)) continue;
    for (Value input : graph[value].inputs) live[index_of(target(input))] = true;
  }
  std::vector<Tensor> values(graph.size());
  std::vector<Arrangement> arrangements(graph.size(), Arrangement::dense);
  for (size_t i = 0; i < graph.parameters().size(); ++i) {
    values[index_of(graph.parameters()[i])] = old.arguments[i];
    arrangements[index_of(graph.parameters()[i])] = old.arrangements[i];
  }
  for (size_t i = 0; i < graph.size() && !substitutes.empty(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == Op::parameter) continue;
    std::vector<Tensor> operands;
    for (Value input : node.inputs) operands.push_back(values[index_of(input)]);
    values[i] = interpret_node(node, operands, current_cpu().fma);
  }
  FuzzProgram made{Graph("f"), {}, {}};
  std::vector<Value> place(graph.size());
  for (const bool parameters : {true, false}) {
    for (size_t i = 0; i < graph.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (!live[i] || is_cut(value) != parameters) continue;
      if (parameters) {
        place[i] =
            made.graph.add_parameter("p" + std::to_string(made.arguments.size()), graph.type_of(value));
        made.arguments.push_back(values[i]);
        made.arrangements.push_back(arrangements[i]);
        continue;
      }
      std::vector<Value> inputs;
      for (Value input : graph[value].inputs) inputs.push_back(place[index_of(target(input))]);
      place[i] = made.graph.add_copy(graph, graph[value], std::move(inputs));
    }
  }
  std::vector<Value> made_outputs;
  for (Value output : outputs) made_outputs.push_back(place[index_of(target(output))]);
  made.graph.set_outputs(made_outputs);
  return made;
}

/// The corner of the tensor that has the shape.
Tensor corner(const Tensor& tensor, const Shape& shape) {
  Tensor made(TensorType{tensor.type().dtype, shape});
  const size_t size = size_of(tensor.type().dtype);
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < made.type().elements(); ++i) {
    int64_t from = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) from = from * tensor.type().shape[axis] + index[axis];
    std::memcpy(made.mutable_data() + static_cast<size_t>(i) * size,
                tensor.data() + static_cast<size_t>(from) * size, size);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return made;
}

/// Every axis of one extent made shorter, wherever it occurs. Throws UserError where the types do not fit
/// then.
FuzzProgram shortened(const FuzzProgram& old, int64_t from, int64_t to) {
  auto shorter = [&](Shape shape) {
    std::replace(shape.begin(), shape.end(), from, to);
    return shape;
  };
  FuzzProgram made{Graph("f"), {}, old.arrangements};
  std::vector<Value> place;
  for (const Node& node : old.graph.nodes()) {
    if (node.op == Op::parameter) {
      const Tensor& argument = old.arguments[made.arguments.size()];
      made.arguments.push_back(corner(argument, shorter(argument.type().shape)));
      place.push_back(made.graph.add_parameter("p" + std::to_string(made.arguments.size() - 1),
                                               made.arguments.back().type()));
      continue;
    }
    if (node.op == Op::constant) {
      const Tensor& value = node.attributes.tensor(Attr::value);
      place.push_back(made.graph.add_constant(corner(value, shorter(value.type().shape))));
      continue;
    }
    std::vector<Value> inputs;
    for (Value input : node.inputs) inputs.push_back(place[index_of(input)]);
    Attributes attributes = node.attributes;
    for (Attr name : {Attr::shape, Attr::sizes})
      if (attributes.has(name)) attributes.set(name, shorter(attributes.ints(name)));
    if (node.op == Op::reshape && node.type.rank() == 1)
      attributes.set(Attr::shape, Ints{made.graph.type_of(inputs[0]).elements()});
    if (node.op == Op::slice) {
      const Shape& shape = made.graph.type_of(inputs[0]).shape;
      Ints starts = attributes.ints(Attr::starts), limits = attributes.ints(Attr::limits);
      for (size_t i = 0; i < shape.size(); ++i) {
        limits[i] = std::min(limits[i], shape[i]);
        starts[i] = std::min(starts[i], limits[i]);
      }
      attributes.set(Attr::starts, starts);
      attributes.set(Attr::limits, limits);
    }
    place.push_back(made.graph.add(node.op, inputs, attributes));
  }
  std::vector<Value> outputs;
  for (Value output : old.graph.outputs()) outputs.push_back(place[index_of(output)]);
  made.graph.set_outputs(outputs);
  return made;
}

class Shrinker {
 public:
  Shrinker(FuzzProgram program, Failure& failure, double seconds)
      : program_(std::move(program)),
        failure_(failure),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  FuzzProgram run() {
    bool smaller = true;
    while (smaller && Clock::now() < end_) {
      smaller = fewer_outputs();
      smaller |= fewer_nodes();
      smaller |= smaller_shapes();
      smaller |= simpler_arguments();
    }
    return std::move(program_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::string kind_of(const Failure& failure) {
    for (const char* kind : {"crash", "no end", "other bits", "no error", "an error"})
      if (failure.what.starts_with(kind)) return kind;
    return "";
  }

  /// Takes the program that `make` gives, if that fails too.
  bool accept(const std::function<FuzzProgram()>& make) {
    if (Clock::now() >= end_) return false;
    try {
      FuzzProgram candidate = make();
      std::optional<Failure> found = check_apart(candidate, failure_.way);
      if (!found || kind_of(*found) != kind_of(failure_)) return false;
      found->way = failure_.way;
      failure_ = *found;
      program_ = std::move(candidate);
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  bool fewer_outputs() {
    const std::vector<Value> outputs = program_.graph.outputs();
    for (size_t i = 0; i < outputs.size() && outputs.size() > 1; ++i) {
      if (accept([&] { return rebuilt(program_, {outputs[i]}, {}); })) return true;
    }
    return false;
  }

  bool fewer_nodes() {
    bool any = false;
    for (size_t i = program_.graph.size(); i-- > 0;) {
      if (i >= program_.graph.size()) continue;
      const auto value = static_cast<Value>(i);
      const Node node = program_.graph[value];
      auto with = [&](Substitute substitute) {
        return accept([&] { return rebuilt(program_, program_.graph.outputs(), {{value, substitute}}); });
      };
      bool done = node.inputs.empty() && node.op == Op::parameter;
      for (Value input : node.inputs) {
        if (!done && program_.graph.type_of(input) == node.type) done = with({input});
      }
      if (!done && node.type.rank() + static_cast<int64_t>(node.inputs.size()) > 0) done = with({});
      any |= done && node.op != Op::parameter;
    }
    // An operand of the output instead of the output.
    for (bool moved = true; moved;) {
      moved = false;
      const std::vector<Value> outputs = program_.graph.outputs();
      if (outputs.size() != 1) break;
      for (Value input : program_.graph[outputs[0]].inputs) {
        moved = accept([&] { return rebuilt(program_, {input}, {}); });
        any |= moved;
        if (moved) break;
      }
    }
    return any;
  }

  bool smaller_shapes() {
    bool any = false;
    for (bool again = true; again;) {
      again = false;
      std::set<int64_t, std::greater<>> extents;
      for (const Node& node : program_.graph.nodes())
        extents.insert(node.type.shape.begin(), node.type.shape.end());
      for (int64_t extent : extents) {
        for (int64_t to : {int64_t{1}, int64_t{2}, extent / 4, extent / 2, extent - 1}) {
          if (again || to < 1 || to >= extent) continue;
          again = accept([&] { return shortened(program_, extent, to); });
        }
      }
      any |= again;
    }
    return any;
  }

  bool simpler_arguments() {
    bool any = false;
    for (size_t i = 0; i < program_.arguments.size(); ++i) {
      auto with = [&](const Tensor& argument) {
        if (argument == program_.arguments[i]) return false;
        return accept([&] {
          FuzzProgram made = program_;
          made.arguments[i] = argument;
          return made;
        });
      };
      if (program_.arrangements[i] != Arrangement::dense) {
        any |= accept([&] {
          FuzzProgram made = program_;
          made.arrangements[i] = Arrangement::dense;
          return made;
        });
      }
      const TensorType type = program_.arguments[i].type();
      const size_t size = size_of(type.dtype);
      if (with(Tensor(type))) {
        any = true;
        continue;
      }
      for (int64_t k = 0; k < type.elements() && type.elements() <= 64; ++k) {
        Tensor changed = Tensor::copy_of(type, program_.arguments[i].data());
        std::memset(changed.mutable_data() + static_cast<size_t>(k) * size, 0, size);
        any |= with(changed);
      }
    }
    return any;
  }

  FuzzProgram program_;
  Failure& failure_;
  Clock::time_point end_;
};

}  // namespace

FuzzProgram shrunk(FuzzProgram program, Failure& failure, double seconds) {
  return Shrinker(std::move(program), failure, seconds).run();
}

}  // namespace tokamak::testing
