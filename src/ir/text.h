#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace tokamak {

struct PrintOptions {
  bool types = false;                  ///< append ": f32[4,8]" to every line
  bool locations = false;              ///< append "// model.py:12" to every line that has one
  int64_t max_constant_elements = -1;  ///< longer constants print as "..." (not parseable); -1: all
  /// By value, with the sign: "%3"; nullptr: numbered in their order.
  const std::vector<std::string>* names = nullptr;
};

/// A constant of equal elements may be written as one of them, but a short text must not ask for much memory:
/// printing writes so many bytes of them per function that way, parsing takes so many per text.
inline constexpr int64_t kMaxPrintedSplatBytes = int64_t{1} << 24;
inline constexpr int64_t kMaxParsedSplatBytes = int64_t{1} << 28;

/// func @f(%w: f64[8], %x: f64[8]) {
///   %0 = mul %w, %x
///   %1 = max %0, 0.0
///   %2 = reduce_sum %1 {axes=[0]}
///   return %2
/// }
/// Scalar constants stand inline where they are used, bare where the other operands fix their dtype, as
/// `f32(0.0)` where not. Other constants are `constant f32[2] [1.0, 2.0]`, or `constant f32[2] 1.0` when all
/// elements are equal. Parsing the text gives an equal graph back, but for scalar constants: equal ones
/// become one node.
std::string print(const Graph& graph, const PrintOptions& options = {});

/// A value as print() writes it: "%1" and "max %0, 0.0". One that stands inline is a number: "0.0".
struct PrintedValue {
  std::string name;
  std::string text;
};
/// All values of the graph.
std::vector<PrintedValue> print_values(const Graph& graph, const PrintOptions& options = {});

/// Their names alone.
std::vector<std::string> value_names(const Graph& graph);

/// Names for the values of a graph and of what passes make of it: a value keeps the name that it has in the
/// first graph, new ones get numbers that none had before.
class LastingNames {
 public:
  explicit LastingNames(const Graph& first);
  /// Of the first graph, or one that it was rewritten to.
  std::vector<std::string> of(const Graph& graph) const;

 private:
  std::string unused_name(std::string wanted) const;

  std::vector<std::string> first_;
  uint64_t numbered_ = 0;  ///< no number from there on is taken
};

/// Parses one or more functions. Throws UserError with file, line and column for every syntax and type error.
std::vector<Graph> parse(std::string_view text, const std::string& file_name = "<text>");

/// Parses text holding exactly one function.
Graph parse_one(std::string_view text, const std::string& file_name = "<text>");

}  // namespace tokamak
