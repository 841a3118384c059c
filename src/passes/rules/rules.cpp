#include "passes/rules/rules.h"

namespace tokamak {

std::string to_string(const Rule& rule) { return to_string(rule.from) + " => " + to_string(rule.to); }

const std::vector<Rule>& simplify_rules() {
  static const auto* const rules = [] {
    auto* all = new std::vector<Rule>;
    for (auto table : {arithmetic_rules, logic_rules, convert_rules}) {
      for (Rule& rule : table()) all->push_back(std::move(rule));
    }
    return all;
  }();
  return *rules;
}

}  // namespace tokamak
