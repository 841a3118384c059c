#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tokamak {

enum class OpFamily : uint8_t { Source, Elementwise, View, Index, Reduce, Cumulative, Sort, Contract };

enum class Op : uint8_t {
#define OP(name, family, arity, numpy) name,
#include "ir/ops.def"
#undef OP
};

inline constexpr size_t kOpCount = 0
#define OP(name, family, arity, numpy) +1
#include "ir/ops.def"
#undef OP
    ;

struct OpInfo {
  std::string_view name;
  OpFamily family;
  int arity;  ///< -1 when it varies
  std::string_view numpy;
};

const OpInfo& info(Op op);
inline std::string_view name_of(Op op) { return info(op).name; }
inline OpFamily family_of(Op op) { return info(op).family; }
std::optional<Op> op_named(std::string_view name);

}  // namespace tokamak
