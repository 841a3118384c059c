#include "driver/share_code.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "driver/report.h"
#include "ir/text.h"

namespace tokamak {
namespace {

/// Numbers that differ are read from memory when this many kernels become one that way ...
constexpr size_t kKernelsWorthReadingNumbers = 3;
/// ... and each reads no more of them than registers can hold.
constexpr size_t kMaxNumbersRead = 32;

bool is_number(const Node& node) { return node.op == Op::constant && node.type.elements() == 1; }

bool is_plain(const FusedKernel& kernel) {
  return !kernel.product && !kernel.sort && kernel.feeder == nullptr;
}

/// What of a parameter a kernel reads.
struct Part {
  TensorType type;
  Ints starts;  ///< by axis: the first element of it
};

/// The parts of the parameters that are read through slices only; nullopt for the others.
class Parts {
 public:
  Parts(const Graph& body, const std::vector<bool>& dense)
      : body_(body), starts_(body.size()), limits_(body.size()) {
    std::vector<bool> whole(body.size(), false);
    for (size_t i = 0; i < dense.size(); ++i) whole[index_of(body.parameters()[i])] = !dense[i];
    for (Value output : body.outputs()) whole[index_of(output)] = true;
    for (const Node& node : body.nodes()) {
      for (Value input : node.inputs) {
        if (body[input].op != Op::parameter) continue;
        if (node.op == Op::slice) {
          include(input, node);
        } else {
          whole[index_of(input)] = true;
        }
      }
    }
    for (Value parameter : body.parameters())
      parts_.push_back(whole[index_of(parameter)] ? std::nullopt : part_of(parameter));
  }

  const std::optional<Part>& operator[](size_t parameter) const { return parts_[parameter]; }
  bool any() const {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.has_value(); });
  }

 private:
  void include(Value parameter, const Node& slice) {
    Ints& starts = starts_[index_of(parameter)];
    Ints& limits = limits_[index_of(parameter)];
    const Ints& from = slice.attributes.ints(Attr::starts);
    const Ints& to = slice.attributes.ints(Attr::limits);
    if (starts.empty()) {
      starts = from;
      limits = to;
    }
    for (size_t axis = 0; axis < from.size(); ++axis) {
      starts[axis] = std::min(starts[axis], from[axis]);
      limits[axis] = std::max(limits[axis], to[axis]);
    }
  }

  /// The outermost axis ends where the part does. The extents of the others say where rows begin.
  std::optional<Part> part_of(Value parameter) const {
    Part part{body_.type_of(parameter), starts_[index_of(parameter)]};
    if (part.starts.empty() || part.type.elements() == 0) return std::nullopt;
    size_t outermost = 0;
    while (outermost + 1 < part.starts.size() && part.type.shape[outermost] == 1) ++outermost;
    part.type.shape[outermost] = limits_[index_of(parameter)][outermost] - part.starts[outermost];
    const bool is_all = part.type == body_.type_of(parameter) &&
                        std::all_of(part.starts.begin(), part.starts.end(), [](int64_t s) { return s == 0; });
    return is_all ? std::nullopt : std::optional(part);
  }

  const Graph& body_;
  std::vector<Ints> starts_;
  std::vector<Ints> limits_;
  std::vector<std::optional<Part>> parts_;
};

/// Copies a body node by node.
class BodyCopy {
 public:
  explicit BodyCopy(const Graph& old) : old_(old), made_(old.name()), mapping_(old.size()) {}

  void add_parameter(size_t position, TensorType type) {
    const Value old = old_.parameters()[position];
    mapping_[index_of(old)] =
        made_.add_parameter(old_.parameter_name(position), std::move(type), old_[old].where);
  }
  void add_parameters() {
    for (size_t i = 0; i < old_.parameters().size(); ++i)
      add_parameter(i, old_.type_of(old_.parameters()[i]));
  }
  void copy_constant(Value value) {
    mapping_[index_of(value)] = made_.add_constant(*old_.constant_value(value), old_[value].where);
  }
  void copy(Value value, std::vector<Value> inputs, Attributes attributes) {
    mapping_[index_of(value)] =
        made_.add(old_[value].op, std::move(inputs), std::move(attributes), old_[value].where);
  }
  std::vector<Value> mapped(const std::vector<Value>& values) const {
    std::vector<Value> result;
    for (Value value : values) result.push_back((*this)[value]);
    return result;
  }

  Value operator[](Value old) const { return mapping_[index_of(old)]; }
  Graph& made() { return made_; }
  Graph finish() {
    made_.set_outputs(mapped(old_.outputs()));
    return std::move(made_);
  }

 private:
  const Graph& old_;
  Graph made_;
  std::vector<Value> mapping_;
};

/// Copies what is no parameter into `copy`, which has the parameters, and puts the new body into `result`:
/// `copy_operation` copies all but constants.
template <class CopyOperation>
void rebuild(const FusedKernel& kernel, BodyCopy& copy, FusedKernel& result, CopyOperation copy_operation) {
  result.numbers.clear();
  size_t number = 0;
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Op op = kernel.body[value].op;
    if (op == Op::constant) {
      copy.copy_constant(value);
      result.numbers.push_back({copy[value], kernel.numbers[number++].source});
    } else if (op != Op::parameter) {
      copy_operation(value);
    }
  }
  result.body = copy.finish();
}

/// The kernel with parts for parameters.
FusedKernel with_parts(const FusedKernel& kernel, const Parts& parts) {
  const Graph& body = kernel.body;
  FusedKernel result = kernel;
  result.offsets.assign(kernel.inputs.size(), 0);
  BodyCopy copy(body);
  std::map<Value, const Part*> part_of;
  for (size_t i = 0; i < body.parameters().size(); ++i) {
    const Value parameter = body.parameters()[i];
    if (!parts[i]) {
      copy.add_parameter(i, body.type_of(parameter));
      continue;
    }
    copy.add_parameter(i, parts[i]->type);
    part_of[parameter] = &*parts[i];
    const std::vector<int64_t> strides = dense_strides(body.type_of(parameter));
    for (size_t axis = 0; axis < strides.size(); ++axis)
      result.offsets[i] += parts[i]->starts[axis] * strides[axis];
  }
  rebuild(kernel, copy, result, [&](Value value) {
    const Node& node = body[value];
    Attributes attributes = node.attributes;
    const auto found = node.op == Op::slice ? part_of.find(node.inputs[0]) : part_of.end();
    if (found != part_of.end()) {
      Ints starts = node.attributes.ints(Attr::starts);
      Ints limits = node.attributes.ints(Attr::limits);
      for (size_t axis = 0; axis < starts.size(); ++axis) {
        starts[axis] -= found->second->starts[axis];
        limits[axis] -= found->second->starts[axis];
      }
      attributes.set(Attr::starts, std::move(starts));
      attributes.set(Attr::limits, std::move(limits));
    }
    copy.copy(value, copy.mapped(node.inputs), std::move(attributes));
  });
  return result;
}

/// Where the operations of a body have numbers for operands, in order.
std::vector<Value> number_operands(const Graph& body) {
  std::vector<Value> found;
  for (const Node& node : body.nodes()) {
    for (Value input : node.inputs) {
      if (is_number(body[input])) found.push_back(input);
    }
  }
  return found;
}

/// For the constants of a body what they are in the graph.
std::map<Value, Value> sources_of(const FusedKernel& kernel) {
  std::map<Value, Value> source;
  for (const FusedKernel::Number& number : kernel.numbers) source[number.constant] = number.source;
  return source;
}

/// The body with a number of its type in place of each number: bodies that differ only in numbers give the
/// same text.
std::string text_without_numbers(const Graph& body) {
  BodyCopy copy(body);
  copy.add_parameters();
  for (size_t i = 0; i < body.size(); ++i) {
    const auto value = static_cast<Value>(i);
    const Node& node = body[value];
    if (node.op == Op::parameter || is_number(node)) continue;
    std::vector<Value> inputs;
    for (Value input : node.inputs)
      inputs.push_back(is_number(body[input]) ? copy.made().add_constant(Tensor(body.type_of(input)))
                                              : copy[input]);
    copy.copy(value, std::move(inputs), node.attributes);
  }
  for (Value output : body.outputs()) {
    if (is_number(body[output])) copy.copy_constant(output);
  }
  return print(copy.finish());
}

/// The kernel with parameters in place of numbers: `read[i]` is the new parameter that operand i of
/// number_operands becomes, or -1.
FusedKernel with_numbers_read(const FusedKernel& kernel, const std::vector<int>& read, int count) {
  const Graph& body = kernel.body;
  FusedKernel result = kernel;
  const std::map<Value, Value> source = sources_of(kernel);
  const std::vector<Value> operands = number_operands(body);
  BodyCopy copy(body);
  copy.add_parameters();
  std::vector<Value> parameters;
  result.offsets.resize(result.inputs.size(), 0);
  for (int i = 0; i < count; ++i) {
    const auto first = static_cast<size_t>(std::find(read.begin(), read.end(), i) - read.begin());
    const Value number = operands[first];
    parameters.push_back(copy.made().add_parameter("a" + std::to_string(result.inputs.size()),
                                                   body.type_of(number), body[number].where));
    result.inputs.push_back(source.at(number));
    result.constant.push_back(true);
    result.offsets.push_back(0);
  }
  size_t operand = 0;
  rebuild(kernel, copy, result, [&](Value value) {
    std::vector<Value> inputs;
    for (Value input : body[value].inputs) {
      const int parameter = is_number(body[input]) ? read[operand++] : -1;
      inputs.push_back(parameter < 0 ? copy[input] : parameters[static_cast<size_t>(parameter)]);
    }
    copy.copy(value, std::move(inputs), body[value].attributes);
  });
  return result;
}

/// Kernels with the same text, by their position.
using Group = std::vector<size_t>;

class Sharing {
 public:
  Sharing(const Graph& graph, std::span<const Layout> layouts, std::vector<FusedKernel>& kernels)
      : graph_(graph), layouts_(layouts), kernels_(kernels) {}

  void run() {
    std::vector<Group> groups = equal_kernels();
    if (groups.size() < 2) return;
    if (share_parts(groups)) groups = equal_kernels();
    if (groups.size() >= kKernelsWorthReadingNumbers) share_numbers(groups);
  }

 private:
  std::string about(const FusedKernel& kernel) const {
    std::string text;
    for (const Layout& layout : input_layouts(graph_, kernel, layouts_)) text += layout.dense ? "d" : "s";
    for (bool swept : kernel.domain.swept) text += swept ? "-" : "|";
    return text;
  }

  std::vector<Group> equal_kernels() const {
    std::vector<Group> groups;
    std::unordered_map<std::string, size_t> known;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (!is_plain(kernels_[i])) continue;
      const auto [place, is_new] =
          known.try_emplace(about(kernels_[i]) + print(kernels_[i].body), groups.size());
      if (is_new) groups.emplace_back();
      groups[place->second].push_back(i);
    }
    return groups;
  }

  /// Whether any kernel changed.
  bool share_parts(const std::vector<Group>& groups) {
    std::vector<std::optional<FusedKernel>> made(groups.size());
    std::unordered_map<std::string, std::vector<size_t>> alike;
    for (size_t i = 0; i < groups.size(); ++i) {
      const FusedKernel& kernel = kernels_[groups[i][0]];
      std::vector<bool> dense;
      for (const Layout& layout : input_layouts(graph_, kernel, layouts_)) dense.push_back(layout.dense);
      const Parts parts(kernel.body, dense);
      if (!parts.any()) continue;
      made[i] = with_parts(kernel, parts);
      alike[about(kernel) + text_without_numbers(made[i]->body)].push_back(i);
    }
    bool changed = false;
    for (const auto& [text, members] : alike) {
      if (members.size() < 2) continue;
      changed = true;
      for (size_t member : members) {
        for (size_t kernel : groups[member]) {
          kernels_[kernel].body = made[member]->body;
          kernels_[kernel].offsets = made[member]->offsets;
          kernels_[kernel].numbers = made[member]->numbers;
        }
      }
    }
    return changed;
  }

  void share_numbers(const std::vector<Group>& groups) {
    std::unordered_map<std::string, std::vector<size_t>> alike;
    for (size_t i = 0; i < groups.size(); ++i) {
      const FusedKernel& kernel = kernels_[groups[i][0]];
      if (!kernel.numbers.empty()) alike[about(kernel) + text_without_numbers(kernel.body)].push_back(i);
    }
    for (const auto& [text, members] : alike) {
      if (members.size() >= kKernelsWorthReadingNumbers) read_numbers(groups, members);
    }
  }

  void read_numbers(const std::vector<Group>& groups, const std::vector<size_t>& members) {
    std::vector<std::vector<Value>> columns;  // by operand: the number of each kernel, a value of the graph
    for (size_t member : members) {
      const FusedKernel& kernel = kernels_[groups[member][0]];
      const std::map<Value, Value> source = sources_of(kernel);
      const std::vector<Value> operands = number_operands(kernel.body);
      columns.resize(operands.size());
      for (size_t i = 0; i < operands.size(); ++i) columns[i].push_back(source.at(operands[i]));
    }
    std::vector<int> read(columns.size(), -1);
    std::map<std::vector<Value>, int> known;  // operands that are equal in every kernel are read once
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool differs = std::any_of(columns[i].begin(), columns[i].end(), [&](Value number) {
        return !(*graph_.constant_value(number) == *graph_.constant_value(columns[i][0]));
      });
      if (differs) read[i] = known.try_emplace(columns[i], static_cast<int>(known.size())).first->second;
    }
    if (known.empty() || known.size() > kMaxNumbersRead) return;
    for (size_t member : members) {
      for (size_t kernel : groups[member])
        kernels_[kernel] = with_numbers_read(kernels_[kernel], read, static_cast<int>(known.size()));
    }
  }

  const Graph& graph_;
  std::span<const Layout> layouts_;
  std::vector<FusedKernel>& kernels_;
};

}  // namespace

void share_code(const Graph& graph, std::span<const Layout> layouts, std::vector<FusedKernel>& kernels) {
  Sharing(graph, layouts, kernels).run();
}

}  // namespace tokamak
