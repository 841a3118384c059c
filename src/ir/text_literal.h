#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/op.h"
#include "ir/tensor.h"

namespace tokamak {

/// Element `i` as text: the shortest decimal that reads back as the same bits. A NaN that is not the plain
/// one of its sign shows its bits, `nan(0x7fc00001)`.
std::string format_element(const Tensor& tensor, int64_t i);

/// A number, true, false, inf or nan as it stands in the source, its dtype not yet known.
struct LiteralText {
  std::string_view text;             ///< without the payload
  std::optional<uint64_t> nan_bits;  ///< of nan(0x...)
};

/// Writes the literal's value to `out`, which has room for one element. Says what is wrong, or nothing when
/// it fits.
std::string store_literal(const LiteralText& literal, DType dtype, std::byte* out);

/// The dtype a literal has whatever stands next to it: true and false are bool.
std::optional<DType> own_dtype(const LiteralText& literal);

/// Operands of one group share a dtype, so that one of them tells a bare literal what it is.
enum class DTypeGroup : uint8_t {
  common,   ///< the dtype of all operands of this group
  boolean,  ///< the condition of select
  alone,    ///< indices: any integer dtype
};
DTypeGroup dtype_group(Op op, size_t operand);

}  // namespace tokamak
