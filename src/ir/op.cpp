#include "ir/op.h"

#include <array>
#include <unordered_map>

namespace tokamak {
namespace {

constexpr std::array<OpInfo, kOpCount> kOps = {{
#define OP(name, family, arity, numpy) {#name, OpFamily::family, arity, numpy},
#include "ir/ops.def"
#undef OP
}};

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }

std::optional<Op> op_named(std::string_view name) {
  static const auto* const by_name = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (size_t i = 0; i < kOpCount; ++i) map->emplace(kOps[i].name, static_cast<Op>(i));
    return map;
  }();
  auto found = by_name->find(name);
  if (found == by_name->end()) return std::nullopt;
  return found->second;
}

}  // namespace tokamak
