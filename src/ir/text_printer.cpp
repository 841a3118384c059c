#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_set>

#include "ir/text.h"
#include "ir/text_lexer.h"
#include "ir/text_literal.h"

namespace tokamak {
namespace {

/// A scalar constant that nobody reads gets a line of its own, so that it is not lost.
bool stands_inline(const Graph& graph, Value value, const std::vector<uint32_t>& uses) {
  return graph[value].op == Op::constant && graph[value].type.rank() == 0 && uses[index_of(value)] != 0;
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options)
      : graph_(graph), options_(options), uses_(count_uses(graph)), names_(graph.size()) {}

  std::string run() {
    name_values();
    header();
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Value value = static_cast<Value>(i);
      if (graph_[value].op != Op::parameter && !stands_inline(value)) line(value);
    }
    result();
    return std::move(text_);
  }

  std::vector<PrintedValue> values() {
    name_values();
    std::vector<PrintedValue> all;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Value value = static_cast<Value>(i);
      text_.clear();
      if (stands_inline(value)) {
        names_[i] = format_element(*graph_.constant_value(value), 0);
        text_ = names_[i];
      } else {
        operation(value);
      }
      all.push_back({names_[i], text_});
    }
    return all;
  }

  std::vector<std::string> names() {
    name_values();
    return std::move(names_);
  }

 private:
  bool stands_inline(Value value) const { return tokamak::stands_inline(graph_, value, uses_); }

  void name_values() {
    if (options_.names != nullptr) {
      names_ = *options_.names;
      return;
    }
    std::unordered_set<std::string> taken;
    for (size_t i = 0; i < graph_.parameters().size(); ++i) {
      const std::string& wanted = graph_.parameter_name(i);
      std::string name = wanted.empty() ? "arg" + std::to_string(i) : wanted;
      for (size_t k = 1; !taken.insert(name).second; ++k) name = wanted + "_" + std::to_string(k);
      names_[index_of(graph_.parameters()[i])] = "%" + written_name(name);
    }
    uint64_t next = 0;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Value value = static_cast<Value>(i);
      if (graph_[value].op == Op::parameter || stands_inline(value)) continue;
      std::string number = std::to_string(next++);
      while (taken.contains(number)) number = std::to_string(next++);
      names_[i] = "%" + number;
    }
  }

  void header() {
    text_ += "func @" + written_name(graph_.name()) + "(";
    for (size_t i = 0; i < graph_.parameters().size(); ++i) {
      const Value parameter = graph_.parameters()[i];
      if (i != 0) text_ += ", ";
      text_ += names_[index_of(parameter)] + ": " + to_string(graph_.type_of(parameter));
    }
    text_ += ") {\n";
  }

  void line(Value value) {
    const Node& node = graph_[value];
    text_ += "  " + names_[index_of(value)] + " = ";
    operation(value);
    if (options_.types && node.op != Op::constant) text_ += " : " + to_string(node.type);
    if (options_.locations && node.where.known()) text_ += "  // " + to_string(node.where);
    text_ += "\n";
  }

  void operation(Value value) {
    const Node& node = graph_[value];
    text_ += name_of(node.op);
    if (node.op == Op::constant) {
      text_ += " " + to_string(node.type) + " ";
      elements(node.attributes.tensor(Attr::value));
    } else {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        text_ += i == 0 ? " " : ", ";
        operand(node, i);
      }
      attributes(node.attributes);
    }
  }

  void operand(const Node& node, size_t position) {
    const Value value = node.inputs[position];
    if (!stands_inline(value)) {
      text_ += names_[index_of(value)];
    } else {
      scalar(value, is_bare(node, position));
    }
  }

  /// Whether a reader can tell the dtype of this inline constant without it being written.
  bool is_bare(const Node& node, size_t position) const {
    const DTypeGroup group = dtype_group(node.op, position);
    if (group != DTypeGroup::common) return group == DTypeGroup::boolean;
    const DType dtype = graph_.type_of(node.inputs[position]).dtype;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool fixes = dtype_group(node.op, i) == DTypeGroup::common && !stands_inline(node.inputs[i]);
      if (fixes) return graph_.type_of(node.inputs[i]).dtype == dtype;
    }
    return false;
  }

  void scalar(Value value, bool bare) {
    const Tensor& tensor = *graph_.constant_value(value);
    const DType dtype = tensor.type().dtype;
    if (bare || dtype == DType::boolean) {
      text_ += format_element(tensor, 0);
    } else {
      text_ += std::string(name_of(dtype)) + "(" + format_element(tensor, 0) + ")";
    }
  }

  void elements(const Tensor& tensor) {
    const int64_t count = tensor.type().elements();
    if (tensor.type().rank() == 0 || is_short_splat(tensor)) {
      text_ += format_element(tensor, 0);
      return;
    }
    if (options_.max_constant_elements >= 0 && count > options_.max_constant_elements) {
      text_ += "...";
      return;
    }
    text_ += "[";
    for (int64_t i = 0; i < count; ++i) {
      if (i != 0) text_ += ", ";
      text_ += format_element(tensor, i);
    }
    text_ += "]";
  }

  /// Whether all elements are equal, and few enough to be written as one.
  bool is_short_splat(const Tensor& tensor) {
    const size_t size = size_of(tensor.type().dtype);
    const size_t bytes = tensor.byte_size();
    if (bytes < 2 * size || bytes > splat_bytes_left_) return false;
    if (std::memcmp(tensor.data(), tensor.data() + size, bytes - size) != 0) return false;
    splat_bytes_left_ -= bytes;
    return true;
  }

  void attributes(const Attributes& attributes) {
    if (attributes.entries().empty()) return;
    text_ += " {";
    bool first = true;
    for (const auto& [name, value] : attributes.entries()) {
      if (!first) text_ += ", ";
      first = false;
      text_ += std::string(name_of(name)) + "=";
      std::visit([this](const auto& held) { attribute(held); }, value);
    }
    text_ += "}";
  }

  void attribute(int64_t value) { text_ += std::to_string(value); }
  void attribute(const Ints& values) { text_ += to_string(std::span<const int64_t>(values)); }
  void attribute(DType dtype) { text_ += name_of(dtype); }
  void attribute(Word word) { text_ += name_of(word); }
  void attribute(const Tensor& tensor) { elements(tensor); }

  void result() {
    text_ += "  return";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value output = graph_.outputs()[i];
      text_ += i == 0 ? " " : ", ";
      if (stands_inline(output)) {
        scalar(output, false);
      } else {
        text_ += names_[index_of(output)];
      }
    }
    text_ += "\n}\n";
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::vector<uint32_t> uses_;
  std::vector<std::string> names_;
  size_t splat_bytes_left_ = kMaxPrintedSplatBytes;
  std::string text_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) { return Printer(graph, options).run(); }

std::vector<PrintedValue> print_values(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).values();
}

std::vector<std::string> value_names(const Graph& graph) { return Printer(graph, {}).names(); }

LastingNames::LastingNames(const Graph& first) : first_(value_names(first)) {
  // Arguments of text IR may be called by numbers, too.
  for (const std::string& name : first_) {
    uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + std::min<size_t>(1, name.size()), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size() && number < UINT32_MAX)
      numbered_ = std::max(numbered_, number + 1);
  }
}

std::string LastingNames::unused_name(std::string wanted) const {
  while (std::ranges::find(first_, wanted) != first_.end()) wanted += "_";
  return wanted;
}

std::vector<std::string> LastingNames::of(const Graph& graph) const {
  const std::vector<uint32_t> uses = count_uses(graph);
  std::vector<std::string> names;
  names.reserve(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const size_t origin = graph.origin_of(static_cast<Value>(i));
    const bool is_new = origin >= first_.size();
    names.push_back(is_new ? "%" + std::to_string(numbered_ + origin - first_.size()) : first_[origin]);
    // What stood inline in the first graph has no name there.
    if (names.back().empty() && !stands_inline(graph, static_cast<Value>(i), uses))
      names.back() = unused_name("%number_" + std::to_string(origin));
  }
  return names;
}

}  // namespace tokamak
