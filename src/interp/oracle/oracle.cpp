#include "interp/oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "interp/interpreter.h"
#include "interp/oracle/moves.h"
#include "ir/elements.h"

namespace tokamak {
namespace {

/// Few decide most differences; one that they do not allow is looked at again with many.
constexpr size_t kFewSamples = 7;
constexpr size_t kManySamples = 200;

/// How far beyond the samples a value may lie, in units of the distance between the outermost two.
constexpr double kBeyond = 4;

}  // namespace

Oracle::Oracle(const Graph& graph, const std::vector<Tensor>& arguments, bool fma, Looseness looseness)
    : graph_(graph), arguments_(arguments), fma_(fma), looseness_(looseness) {
  samples_.push_back(sample(false));
}

std::vector<Tensor> Oracle::sample(bool moved) {
  std::vector<Tensor> values(graph_.size());
  for (size_t i = 0; i < arguments_.size(); ++i) values[index_of(graph_.parameters()[i])] = arguments_[i];
  for (size_t i = 0; i < graph_.size(); ++i) {
    const Node& node = graph_.nodes()[i];
    if (node.op == Op::parameter) continue;
    std::vector<Tensor> operands;
    for (Value input : node.inputs) {
      operands.push_back(values[index_of(input)]);
      if (moved && looseness_.contracted && (node.op == Op::add || node.op == Op::sub))
        operands.back() = moved_factor(graph_, input, operands.back(), random_);
    }
    values[i] = interpret_node(node, operands, fma_);
    if (moved) values[i] = moved_result(graph_, node, operands, values[i], looseness_, random_);
  }
  std::vector<Tensor> results;
  for (Value output : graph_.outputs()) results.push_back(values[index_of(output)]);
  return results;
}

bool Oracle::agrees(const Tensor& found, size_t output, int64_t element) const {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool vary = false;
  bool open = false;
  for (const std::vector<Tensor>& results : samples_) {
    const Tensor& one = results[output];
    if (is_same(found, one, element)) return true;
    vary = vary || !is_same(one, samples_[0][output], element);
    const double value = element_as_double(one, element);
    open = open || !std::isfinite(value);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!vary) return false;
  if (open || !is_float(found.type().dtype)) return true;
  const double value = element_as_double(found, element);
  const double beyond = kBeyond * (high - low);
  return value >= low - beyond && value <= high + beyond;
}

std::optional<Difference> Oracle::first_difference(const std::vector<Tensor>& found) {
  for (size_t output = 0; output < found.size(); ++output) {
    const Tensor& one = found[output];
    const Tensor& expected = samples_[0][output];
    if (one.type() != expected.type())
      return Difference{output, "it is " + to_string(one.type()) + ", not " + to_string(expected.type())};
    for (int64_t i = 0; i < one.type().elements(); ++i) {
      if (is_same(one, expected, i)) continue;
      for (const size_t samples : {kFewSamples, kManySamples}) {
        while (samples_.size() < samples && !agrees(one, output, i)) samples_.push_back(sample(true));
      }
      if (agrees(one, output, i)) continue;
      return Difference{output, "element " + std::to_string(i) + " of " + to_string(one.type()) + " is " +
                                    element_text(one, i) + ", not " + element_text(expected, i)};
    }
  }
  return std::nullopt;
}

std::string Oracle::compare(const std::vector<Tensor>& found) {
  const std::optional<Difference> difference = first_difference(found);
  return difference ? "output " + std::to_string(difference->output) + ", " + difference->text : "";
}

}  // namespace tokamak
