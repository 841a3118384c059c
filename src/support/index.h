#pragma once

// Integer expressions over loop variables: where in a buffer an access falls.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tokamak {

enum class LoopVar : uint32_t {};
/// A scalar value of a kernel, in single-assignment form.
enum class ValueId : uint32_t {};

struct Index;

/// floor(numerator / divisor). The divisor is positive; where an access really happens the numerator is not
/// negative.
struct Quotient {
  std::shared_ptr<const Index> numerator;
  int64_t divisor;
};
/// numerator mod divisor, in [0, divisor).
struct Remainder {
  std::shared_ptr<const Index> numerator;
  int64_t divisor;
};
/// factor * index, the factor being a number that is known at run time only (LoopKernel::numbers).
struct Scaled {
  LoopVar factor;
  std::shared_ptr<const Index> index;
};
/// A ValueId is an integer read from data (a gather's index), as i64.
using IndexAtom = std::variant<LoopVar, Quotient, Remainder, ValueId, Scaled>;

struct IndexTerm {
  int64_t coefficient;
  IndexAtom atom;
};

/// constant + sum of coefficient * atom. Kept simplified: no zero coefficients, no atom twice, atoms in a
/// fixed order.
struct Index {
  int64_t constant = 0;
  std::vector<IndexTerm> terms;

  Index() = default;
  Index(int64_t value) : constant(value) {}  // NOLINT: a number is an index
  static Index of(LoopVar var) { return of_atom(var); }
  static Index of(ValueId value) { return of_atom(value); }
  static Index of_atom(IndexAtom atom);
  static Index scaled(LoopVar factor, Index index);

  bool is_constant() const { return terms.empty(); }
  /// The variable, when the index is exactly that.
  std::optional<LoopVar> as_variable() const;
};

bool operator==(const Index& a, const Index& b);
bool operator==(const IndexAtom& a, const IndexAtom& b);

Index operator+(const Index& a, const Index& b);
Index operator*(const Index& a, int64_t factor);
Index operator-(const Index& a, const Index& b);

/// low <= index < high
struct Condition {
  Index index;
  int64_t low;
  int64_t high;
};
/// Holds when all conditions do; empty always holds.
using Guard = std::vector<Condition>;
/// Whether the second holds wherever the first does, as far as a look at each condition by itself tells.
bool implies(const Guard& strong, const Condition& weak);
bool implies(const Guard& strong, const Guard& weak);
/// Holds where both do, with one condition for all that say something of the same index, or of one that
/// differs from it by a number.
Guard both(const Guard& a, const Guard& b);

/// The index where the guard holds: d * (n / d) is n where n mod d is 0.
Index where_holds(const Index& index, const Guard& guard);

/// Upper bounds of variables: var lies in [0, extent(var)).
using Extents = std::function<int64_t(LoopVar)>;

/// a / divisor and a mod divisor, simplified with what the extents tell: (8*i + j) / 8 is i when j < 8.
Index divide(const Index& a, int64_t divisor, const Extents& extents);
Index modulo(const Index& a, int64_t divisor, const Extents& extents);

/// The least and greatest value over all iterations; nullopt when it depends on data.
struct Bounds {
  int64_t low;
  int64_t high;  ///< inclusive
};
std::optional<Bounds> bounds_of(const Index& index, const Extents& extents);

/// Whether the condition holds wherever the guard does, or nowhere there; nullopt when that is not known.
std::optional<bool> decided(const Condition& condition, const Guard& where, const Extents& extents);

/// `index` with every variable replaced; quotients and remainders are simplified anew.
Index substitute(const Index& index, const std::function<Index(LoopVar)>& replacement,
                 const Extents& extents);

/// `index` with every value replaced.
Index renamed(const Index& index, const std::function<ValueId(ValueId)>& name);

/// The coefficient of `var` when the index is linear in it; nullopt when var also stands inside a quotient or
/// remainder, or is scaled.
std::optional<int64_t> linear_coefficient(const Index& index, LoopVar var);
bool mentions(const Index& index, LoopVar var);
void for_each_variable(const Index& index, const std::function<void(LoopVar)>& visit);
void for_each_value(const Index& index, const std::function<void(ValueId)>& visit);

/// "4*i + j/8 + 1"; variables are named by `name`, values print as v7.
std::string to_string(const Index& index, const std::function<std::string(LoopVar)>& name);

}  // namespace tokamak
