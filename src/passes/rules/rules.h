#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/record.h"
#include "passes/rules/term.h"

namespace tokamak {

/// What the parts of a rule's left side stand for.
struct Bindings {
  std::array<std::optional<Value>, kMaxVariables> variables;
  std::array<std::optional<Value>, kMaxVariables> conditions;
  std::array<std::optional<Tensor>, kMaxVariables> constants;  ///< rank 0
  std::array<std::optional<DType>, kMaxVariables> dtypes;      ///< of conversions
  DType dtype = DType::boolean;                                ///< of variable 0, or bool when there is none
};

/// `from` may be replaced by `to` where x, variable 0, has a dtype of the set and `when` holds.
/// The replacement has the same bits, signed zeros included; a NaN stays a NaN, of whatever sign and payload.
struct Rule {
  Term from;
  Term to;
  DTypes dtypes = DTypes::any;
  bool (*when)(const Bindings&) = nullptr;
  /// The right side may differ in the last places: `from` is a function that promises no more.
  bool approximate = false;
};

std::string to_string(const Rule& rule);

/// The tables, one file each.
std::vector<Rule> arithmetic_rules();
std::vector<Rule> logic_rules();
std::vector<Rule> convert_rules();

/// All of them.
const std::vector<Rule>& simplify_rules();

}  // namespace tokamak
