#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/tensor.h"
#include "tokamak/types.h"

namespace tokamak {

/// Names of attributes, as printed. Which op takes which is the business of its type rule.
enum class Attr : uint8_t {
  axes,          ///< ints: reductions, reverse, window
  axis,          ///< int: iota, concatenate, gather, scatter, argmax, cumulative, sort
  shape,         ///< ints: broadcast, reshape, iota
  permutation,   ///< ints: transpose
  starts,        ///< ints: slice
  limits,        ///< ints: slice (exclusive)
  steps,         ///< ints: slice, window, positive
  low,           ///< ints: pad, elements before the first, not negative
  high,          ///< ints: pad, elements after the last, not negative
  interior,      ///< ints: pad, elements between neighbours, not negative
  sizes,         ///< ints: dynamic_slice, window
  dilations,     ///< ints: window, positive
  lhs_batch,     ///< ints: dot, axes of the first operand, in the order of the result
  rhs_batch,     ///< ints: dot, the same of the second, pair by pair
  lhs_contract,  ///< ints: dot, axes of the first operand that are summed over
  rhs_contract,  ///< ints: dot, the same of the second, pair by pair
  dtype,         ///< dtype: convert, iota
  mode,          ///< word: gather and scatter: out of range is "clamp"ed, or a run-time error with "check";
                 ///  "drop" lets a scatter ignore it. Other checks are of what is no index to the user.
  combine,       ///< word: scatter: "set", or the element-wise op that joins an update to what is there
  value,         ///< tensor: constant
};
inline constexpr size_t kAttrCount = static_cast<size_t>(Attr::value) + 1;

std::string_view name_of(Attr attr);

/// The words `mode` and `combine` take; those from `add` on are the names of ops.
enum class Word : uint8_t {
  clamp,
  check,
  check_joined,   ///< the same, of axes that are made one to be indexed
  check_power,    ///< an integer to a negative power
  check_divisor,  ///< one of Python's numbers divided by zero
  check_empty,    ///< the largest of no elements
  check_fits,     ///< one of Python's integers beyond the dtype it is to have
  check_number,   ///< one of Python's floats that is no number, where an integer is stored
  check_bin,      ///< np.bincount: a negative number, or one without a bin
  check_range,    ///< np.histogram: data whose least or largest is no number
  drop,
  set,
  add,
  sub,
  mul,
  div,
  floor_div,
  mod,
  fmod,
  pow,
  min,
  max,
  atan2,
  hypot,
  copysign,
  nextafter,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right
};
inline constexpr size_t kWordCount = static_cast<size_t>(Word::shift_right) + 1;
std::string_view name_of(Word word);
/// Whether an index that is out of range is an error at run time.
inline constexpr bool is_check(Word mode) { return mode >= Word::check && mode < Word::drop; }
inline constexpr bool is_check_of_index(Word mode) { return mode == Word::check || mode == Word::check_joined; }

using Ints = std::vector<int64_t>;
using AttrValue = std::variant<int64_t, Ints, DType, Word, Tensor>;

/// What an attribute holds: the alternatives of AttrValue, in their order.
enum class AttrKind : uint8_t { integer, integers, dtype, word, tensor };
AttrKind kind_of(Attr attr);

/// A few named values, kept sorted by name so that equal sets compare equal.
class Attributes {
 public:
  using Entry = std::pair<Attr, AttrValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  void set(Attr name, AttrValue value);
  bool has(Attr name) const { return find(name) != nullptr; }

  // These require the attribute to be there with that type: type rules check before anyone else asks.
  int64_t integer(Attr name) const;
  const Ints& ints(Attr name) const;
  DType dtype(Attr name) const;
  Word word(Attr name) const;
  const Tensor& tensor(Attr name) const;

  const AttrValue* find(Attr name) const;
  const std::vector<Entry>& entries() const { return entries_; }

  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace tokamak
