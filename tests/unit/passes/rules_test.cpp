// Visits every rule of simplify: makes graphs of its left side, applies it, and compares both sides by
// interpretation.

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <functional>
#include <random>

#include "interp/interpreter.h"
#include "ir/random_graph.h"
#include "ir/text.h"
#include "passes/compare.h"
#include "passes/rules/rules.h"
#include "passes/simplify.h"

namespace tokamak {
namespace {

/// Which shapes the variables of one graph have; they broadcast together.
constexpr int kShapeChoices = 4;
Shape shape_of_variable(int choice, int index) {
  switch (choice) {
    case 0:
      return {};
    case 1:
      return {64};
    case 2:
      return index == 0 ? Shape{9} : Shape{7, 9};
    default:
      return index == 0 ? Shape{7, 9} : Shape{};
  }
}

/// Makes a graph of a term, with every part of it that is free chosen by the caller.
class Instance {
 public:
  Instance(DType dtype, int shapes, double constant, std::array<DType, 2> conversions, bool wide_constants)
      : dtype_(dtype),
        shapes_(shapes),
        constant_(constant),
        conversions_(conversions),
        wide_constants_(wide_constants),
        graph_("rule") {}

  Graph graph_of(const Term& term) {
    declare(term);
    graph_.set_outputs({build(term, dtype_)});
    return std::move(graph_);
  }

 private:
  void declare(const Term& term) {
    const auto index = static_cast<size_t>(term.index);
    if (term.kind == Term::Kind::variable && !variables_[index]) {
      variables_[index] =
          graph_.add_parameter("x" + std::to_string(index), {dtype_, shape_of_variable(shapes_, term.index)});
    }
    if (term.kind == Term::Kind::condition && !conditions_[index]) {
      conditions_[index] =
          graph_.add_parameter("p" + std::to_string(index), {DType::boolean, shape_of_variable(shapes_, 1)});
    }
    for (const Term& operand : term.operands) declare(operand);
  }

  Value number(DType dtype, double value) {
    const Value scalar = graph_.add_constant(scalar_tensor(dtype, value));
    if (!wide_constants_) return scalar;
    return graph_.add(Op::broadcast, {scalar}, {{Attr::shape, Shape{2, 7, 9}}});
  }

  Value build(const Term& term, DType dtype) {
    const auto index = static_cast<size_t>(term.index);
    switch (term.kind) {
      case Term::Kind::variable:
        return *variables_[index];
      case Term::Kind::condition:
        return *conditions_[index];
      case Term::Kind::constant:
        return number(dtype, constant_);
      case Term::Kind::number:
        return number(dtype, term.number);
      case Term::Kind::computed:
        throw InternalError("computed constants stand on the right side only");
      case Term::Kind::operation:
        break;
    }
    std::vector<Value> inputs;
    for (size_t i = 0; i < term.operands.size(); ++i) {
      const bool is_condition = term.op == Op::select && i == 0;
      inputs.push_back(build(term.operands[i], is_condition ? DType::boolean : dtype));
    }
    Attributes attributes;
    if (term.op == Op::convert) attributes.set(Attr::dtype, conversions_[index]);
    return graph_.add(term.op, std::move(inputs), std::move(attributes));
  }

  DType dtype_;
  int shapes_;
  double constant_;
  std::array<DType, 2> conversions_;
  bool wide_constants_;
  Graph graph_;
  std::array<std::optional<Value>, kMaxVariables> variables_;
  std::array<std::optional<Value>, kMaxVariables> conditions_;
};

bool has(const Term& term, const std::function<bool(const Term&)>& what) {
  if (what(term)) return true;
  for (const Term& operand : term.operands) {
    if (has(operand, what)) return true;
  }
  return false;
}

class RuleTest : public ::testing::TestWithParam<size_t> {
 protected:
  /// Applies the rule to one instance; whether it did anything.
  bool check(const Rule& rule, DType dtype, int shapes, double constant, std::array<DType, 2> conversions,
             bool wide) {
    std::optional<Graph> left;
    try {
      left = Instance(dtype, shapes, constant, conversions, wide).graph_of(rule.from);
    } catch (const UserError&) {
      return false;  // the operation is not defined for this dtype
    }
    const Graph right = simplify_by(*left, std::span(&rule, 1));
    if (same_structure(*left, right)) return false;
    const std::vector<Tensor> arguments = testing::random_arguments(*left, random_);
    for (bool fma : {false, true}) {
      const Tensor before = interpret(*left, arguments, fma)[0];
      const Tensor after = interpret(right, arguments, fma)[0];
      EXPECT_EQ(testing::difference(before, after, rule.approximate ? 2 : 0), "")
          << print(*left) << print(right);
    }
    return true;
  }

  std::mt19937 random_{GetParam() != 0 ? static_cast<uint32_t>(GetParam()) : 99};
};

TEST_P(RuleTest, KeepsEveryBit) {
  const Rule& rule = simplify_rules()[GetParam()];
  const bool converts = has(rule.from, [](const Term& t) { return t.op == Op::convert; });
  const bool has_constant = has(rule.from, [](const Term& t) { return t.kind == Term::Kind::constant; });
  std::vector<double> constants = {0};
  if (has_constant) constants = {1, -2, 0.5, 4, -0.25, 1024, 3, 0x1p-14, 0x1p15, 0x1p127, 0x1p-126, 0x1p1000};
  std::vector<std::array<DType, 2>> conversions = {{DType::f32, DType::f32}};
  if (converts) {
    conversions.clear();
    for (DType a : kAllDTypes) {
      for (DType b : kAllDTypes) conversions.push_back({a, b});
    }
  }
  int applied = 0;
  for (DType dtype : kAllDTypes) {
    if (!contains(rule.dtypes, dtype)) continue;
    for (int shapes = 0; shapes < (converts ? 2 : kShapeChoices); ++shapes) {
      for (double constant : constants) {
        for (const auto& conversion : conversions) {
          for (bool wide : {false, true}) {
            if (wide && (converts || shapes == 1)) continue;
            applied += check(rule, dtype, shapes, constant, conversion, wide) ? 1 : 0;
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(applied, 0) << "never applied: " << to_string(rule);
}

TEST(Rules, MatchCommutedOperands) {
  const Graph graph = parse_one(
      "func @f(%x: f32[4], %y: f32[4]) {\n %0 = neg %y\n %1 = add %0, %x\n %2 = mul 1, %1\n return %2\n}");
  EXPECT_NE(print(simplify(graph)).find("sub %x, %y"), std::string::npos);
}

/// Rules that would be wrong, and must not come in.
TEST(Rules, RespectIeee) {
  for (const char* line :
       {"add %x, 0.0", "sub %x, -0.0", "mul %x, 0.0", "sub %x, %x", "eq %x, %x", "le %x, %x", "pow %x, 0.5",
        "div %x, 3.0", "mul %x, 2.0", "max %x, inf", "div %x, 0.0"}) {
    const Graph graph =
        parse_one(std::string("func @f(%x: f32[4]) {\n  %0 = ") + line + "\n  return %0\n}\n");
    EXPECT_EQ(print(simplify(graph)), print(graph));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, ::testing::Range<size_t>(0, simplify_rules().size()),
                         [](const auto& info) {
                           std::string name;
                           for (char c : to_string(simplify_rules()[info.param])) {
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0)
                               name += c;
                             else if (c == '-')
                               name += "minus";
                             else if (!name.empty() && name.back() != '_')
                               name += '_';
                           }
                           return std::to_string(info.param) + "_" + name;
                         });

}  // namespace
}  // namespace tokamak
