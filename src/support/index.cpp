#include "support/index.h"

#include <algorithm>
#include <compare>
#include <numeric>

namespace tokamak {
namespace {

std::strong_ordering compare(const Index& a, const Index& b);

std::strong_ordering compare(const IndexAtom& a, const IndexAtom& b) {
  if (a.index() != b.index()) return a.index() <=> b.index();
  struct Visitor {
    const IndexAtom& other;
    std::strong_ordering operator()(LoopVar var) const { return var <=> std::get<LoopVar>(other); }
    std::strong_ordering operator()(ValueId value) const { return value <=> std::get<ValueId>(other); }
    std::strong_ordering operator()(const Quotient& q) const {
      const auto& o = std::get<Quotient>(other);
      if (q.divisor != o.divisor) return q.divisor <=> o.divisor;
      return compare(*q.numerator, *o.numerator);
    }
    std::strong_ordering operator()(const Remainder& r) const {
      const auto& o = std::get<Remainder>(other);
      if (r.divisor != o.divisor) return r.divisor <=> o.divisor;
      return compare(*r.numerator, *o.numerator);
    }
    std::strong_ordering operator()(const Scaled& s) const {
      const auto& o = std::get<Scaled>(other);
      if (s.factor != o.factor) return s.factor <=> o.factor;
      return compare(*s.index, *o.index);
    }
  };
  return std::visit(Visitor{b}, a);
}

std::strong_ordering compare(const Index& a, const Index& b) {
  if (a.terms.size() != b.terms.size()) return a.terms.size() <=> b.terms.size();
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (auto order = compare(a.terms[i].atom, b.terms[i].atom); order != 0) return order;
    if (a.terms[i].coefficient != b.terms[i].coefficient)
      return a.terms[i].coefficient <=> b.terms[i].coefficient;
  }
  return a.constant <=> b.constant;
}

void add_term(Index& sum, int64_t coefficient, const IndexAtom& atom) {
  if (coefficient == 0) return;
  auto place =
      std::lower_bound(sum.terms.begin(), sum.terms.end(), atom,
                       [](const IndexTerm& term, const IndexAtom& a) { return compare(term.atom, a) < 0; });
  if (place != sum.terms.end() && compare(place->atom, atom) == 0) {
    place->coefficient += coefficient;
    if (place->coefficient == 0) sum.terms.erase(place);
  } else {
    sum.terms.insert(place, {coefficient, atom});
  }
}

Index add_all(const Index& a, const Index& b, int64_t factor) {
  Index sum = a;
  sum.constant += b.constant * factor;
  for (const IndexTerm& term : b.terms) add_term(sum, term.coefficient * factor, term.atom);
  return sum;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
int64_t floor_mod(int64_t a, int64_t b) { return a - b * floor_div(a, b); }

/// The quotient as an atom; floor(floor(n / a) / b) is floor(n / (a * b)).
IndexAtom quotient_atom(const Index& numerator, int64_t divisor) {
  if (numerator.constant == 0 && numerator.terms.size() == 1 && numerator.terms[0].coefficient == 1) {
    if (const auto* inner = std::get_if<Quotient>(&numerator.terms[0].atom)) {
      return Quotient{inner->numerator, inner->divisor * divisor};
    }
  }
  return Quotient{std::make_shared<const Index>(numerator), divisor};
}

/// divisor * (n / divisor) + n mod divisor is n: undoes a split that a reshape made and the buffer's strides
/// unmake.
void recombine(Index& sum) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const IndexTerm& term : sum.terms) {
      const auto* remainder = std::get_if<Remainder>(&term.atom);
      if (remainder == nullptr) continue;
      const IndexAtom quotient = quotient_atom(*remainder->numerator, remainder->divisor);
      const int64_t wanted = term.coefficient * remainder->divisor;
      auto partner = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const IndexTerm& other) {
        return other.coefficient == wanted && compare(other.atom, quotient) == 0;
      });
      if (partner == sum.terms.end()) continue;
      const Index whole = *remainder->numerator;
      const int64_t coefficient = term.coefficient;
      const IndexAtom remainder_atom = term.atom;
      add_term(sum, -wanted, quotient);
      add_term(sum, -coefficient, remainder_atom);
      sum = add_all(sum, whole, coefficient);
      changed = true;
      break;
    }
  }
}

/// A number that the index is never below. Data is not negative where an access happens; how large it may be
/// is not known.
std::optional<int64_t> least_of(const Index& index, const Extents& extents) {
  Index known(index.constant);
  for (const IndexTerm& term : index.terms) {
    if (!std::holds_alternative<ValueId>(term.atom)) {
      known.terms.push_back(term);
    } else if (term.coefficient < 0) {
      return std::nullopt;
    }
  }
  const std::optional<Bounds> bounds = bounds_of(known, extents);
  return bounds ? std::optional(bounds->low) : std::nullopt;
}

/// Splits a into divisor * multiple + rest, moving into `multiple` whatever divides evenly. The rest is not
/// negative, as generated code divides it as an unsigned number; where that cannot be told, it is all of a.
struct Parts {
  Index multiple;
  Index rest;
};
Parts split_multiples(const Index& a, int64_t divisor, const Extents& extents) {
  Parts parts;
  parts.multiple.constant = floor_div(a.constant, divisor);
  parts.rest.constant = floor_mod(a.constant, divisor);
  for (const IndexTerm& term : a.terms) {
    if (term.coefficient % divisor == 0) {
      parts.multiple.terms.push_back({term.coefficient / divisor, term.atom});
    } else {
      parts.rest.terms.push_back(term);
    }
  }
  const std::optional<int64_t> least = least_of(parts.rest, extents);
  if (!least) return {{}, a};
  if (*least < 0) {
    const int64_t raise = -floor_div(*least, divisor);
    parts.rest.constant += raise * divisor;
    parts.multiple.constant -= raise;
  }
  return parts;
}

bool lies_in(const Index& index, int64_t high, const Extents& extents) {
  const std::optional<Bounds> bounds = bounds_of(index, extents);
  return bounds && bounds->low >= 0 && bounds->high < high;
}

int64_t common_factor(const Index& index, int64_t start) {
  int64_t factor = start;
  for (const IndexTerm& term : index.terms) factor = std::gcd(factor, term.coefficient);
  return factor;
}

Index scaled_down(const Index& index, int64_t factor) {
  Index result = index;
  result.constant = floor_div(result.constant, factor);
  for (IndexTerm& term : result.terms) term.coefficient /= factor;
  return result;
}

}  // namespace

Index Index::of_atom(IndexAtom atom) {
  Index index;
  index.terms.push_back({1, std::move(atom)});
  return index;
}

Index Index::scaled(LoopVar factor, Index index) {
  return of_atom(Scaled{factor, std::make_shared<const Index>(std::move(index))});
}

std::optional<LoopVar> Index::as_variable() const {
  if (constant != 0 || terms.size() != 1 || terms[0].coefficient != 1) return std::nullopt;
  if (const auto* var = std::get_if<LoopVar>(&terms[0].atom)) return *var;
  return std::nullopt;
}

bool operator==(const Index& a, const Index& b) { return compare(a, b) == 0; }
bool operator==(const IndexAtom& a, const IndexAtom& b) { return compare(a, b) == 0; }

Index operator+(const Index& a, const Index& b) {
  Index sum = add_all(a, b, 1);
  recombine(sum);
  return sum;
}

Index operator-(const Index& a, const Index& b) {
  Index sum = add_all(a, b, -1);
  recombine(sum);
  return sum;
}

Index operator*(const Index& a, int64_t factor) {
  if (factor == 0) return {};
  Index product = a;
  product.constant *= factor;
  for (IndexTerm& term : product.terms) term.coefficient *= factor;
  return product;
}

namespace {

/// What `condition` says of `index`, when the two indices differ by nothing but a number.
std::optional<Condition> restated(const Condition& condition, const Index& index) {
  const Index shift = index - condition.index;
  Condition same{index, 0, 0};
  const bool is_far = __builtin_add_overflow(condition.low, shift.constant, &same.low) ||
                      __builtin_add_overflow(condition.high, shift.constant, &same.high);
  return shift.is_constant() && !is_far ? std::optional(std::move(same)) : std::nullopt;
}

}  // namespace

bool implies(const Guard& strong, const Condition& weak) {
  return std::ranges::any_of(strong, [&](const Condition& one) {
    const std::optional<Condition> same = restated(one, weak.index);
    return same && same->low >= weak.low && same->high <= weak.high;
  });
}

bool implies(const Guard& strong, const Guard& weak) {
  return std::ranges::all_of(weak, [&](const Condition& one) { return implies(strong, one); });
}

Guard both(const Guard& a, const Guard& b) {
  Guard guard = a;
  for (const Condition& condition : b) {
    bool is_said = false;
    for (Condition& known : guard) {
      const std::optional<Condition> same = restated(condition, known.index);
      if (!same) continue;
      known.low = std::max(known.low, same->low);
      known.high = std::min(known.high, same->high);
      is_said = true;
      break;
    }
    if (!is_said) guard.push_back(condition);
  }
  return guard;
}

std::optional<bool> decided(const Condition& condition, const Guard& where, const Extents& extents) {
  Bounds bounds = bounds_of(condition.index, extents).value_or(Bounds{INT64_MIN, INT64_MAX});
  for (const Condition& known : where) {
    const std::optional<Condition> same = restated(known, condition.index);
    if (!same) continue;
    bounds.low = std::max(bounds.low, same->low);
    bounds.high = std::min(bounds.high, same->high - 1);
  }
  if (bounds.low >= condition.low && bounds.high < condition.high) return true;
  if (bounds.high < condition.low || bounds.low >= condition.high || bounds.high < bounds.low) return false;
  return std::nullopt;
}

Index where_holds(const Index& index, const Guard& guard) {
  Index result = index;
  for (const Condition& condition : guard) {
    const bool is_zero = condition.low == 0 && condition.high == 1 && condition.index.constant == 0 &&
                         condition.index.terms.size() == 1;
    const auto* remainder = is_zero ? std::get_if<Remainder>(&condition.index.terms[0].atom) : nullptr;
    if (remainder == nullptr) continue;
    const IndexAtom quotient = quotient_atom(*remainder->numerator, remainder->divisor);
    for (const IndexTerm& term : index.terms) {
      if (term.coefficient % remainder->divisor != 0 || compare(term.atom, quotient) != 0) continue;
      result = result - Index::of_atom(quotient) * term.coefficient +
               *remainder->numerator * (term.coefficient / remainder->divisor);
    }
  }
  return result;
}

Index divide(const Index& a, int64_t divisor, const Extents& extents) {
  if (divisor == 1) return a;
  Parts parts = split_multiples(a, divisor, extents);
  if (lies_in(parts.rest, divisor, extents)) return parts.multiple;
  // (6*i + 3*j + 1) / 9 is (2*i + j) / 3: what lies below the common factor cannot carry.
  const int64_t factor = common_factor(parts.rest, divisor);
  if (factor > 1) {
    return parts.multiple + divide(scaled_down(parts.rest, factor), divisor / factor, extents);
  }
  return parts.multiple + Index::of_atom(quotient_atom(parts.rest, divisor));
}

Index modulo(const Index& a, int64_t divisor, const Extents& extents) {
  if (divisor == 1) return {};
  Index rest = split_multiples(a, divisor, extents).rest;
  if (lies_in(rest, divisor, extents)) return rest;
  const int64_t factor = common_factor(rest, divisor);
  if (factor > 1) {
    const int64_t offset = floor_mod(rest.constant, factor);
    rest.constant -= offset;
    return modulo(scaled_down(rest, factor), divisor / factor, extents) * factor + Index(offset);
  }
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].coefficient == 1) {
    if (const auto* inner = std::get_if<Remainder>(&rest.terms[0].atom);
        inner && inner->divisor % divisor == 0) {
      return modulo(*inner->numerator, divisor, extents);
    }
  }
  return Index::of_atom(Remainder{std::make_shared<const Index>(std::move(rest)), divisor});
}

std::optional<Bounds> bounds_of(const Index& index, const Extents& extents) {
  Bounds total{index.constant, index.constant};
  for (const IndexTerm& term : index.terms) {
    Bounds bounds{0, 0};
    if (const auto* var = std::get_if<LoopVar>(&term.atom)) {
      bounds.high = std::max<int64_t>(extents(*var) - 1, 0);
    } else if (const auto* remainder = std::get_if<Remainder>(&term.atom)) {
      bounds.high = remainder->divisor - 1;
    } else if (const auto* quotient = std::get_if<Quotient>(&term.atom)) {
      const std::optional<Bounds> inner = bounds_of(*quotient->numerator, extents);
      if (!inner) return std::nullopt;
      bounds = {floor_div(inner->low, quotient->divisor), floor_div(inner->high, quotient->divisor)};
    } else if (const auto* scaled = std::get_if<Scaled>(&term.atom)) {
      const std::optional<Bounds> inner = bounds_of(*scaled->index, extents);
      if (!inner) return std::nullopt;
      const int64_t factor = std::max<int64_t>(extents(scaled->factor) - 1, 0);
      bounds = {std::min<int64_t>(inner->low * factor, 0), std::max<int64_t>(inner->high * factor, 0)};
    } else {
      return std::nullopt;
    }
    const int64_t low = bounds.low * term.coefficient;
    const int64_t high = bounds.high * term.coefficient;
    total.low += std::min(low, high);
    total.high += std::max(low, high);
  }
  return total;
}

Index substitute(const Index& index, const std::function<Index(LoopVar)>& replacement,
                 const Extents& extents) {
  Index result(index.constant);
  for (const IndexTerm& term : index.terms) {
    Index part;
    if (const auto* var = std::get_if<LoopVar>(&term.atom)) {
      part = replacement(*var);
    } else if (const auto* quotient = std::get_if<Quotient>(&term.atom)) {
      part = divide(substitute(*quotient->numerator, replacement, extents), quotient->divisor, extents);
    } else if (const auto* remainder = std::get_if<Remainder>(&term.atom)) {
      part = modulo(substitute(*remainder->numerator, replacement, extents), remainder->divisor, extents);
    } else if (const auto* scaled = std::get_if<Scaled>(&term.atom)) {
      part = Index::scaled(scaled->factor, substitute(*scaled->index, replacement, extents));
    } else {
      part = Index::of_atom(term.atom);
    }
    result = result + part * term.coefficient;
  }
  return result;
}

void for_each_variable(const Index& index, const std::function<void(LoopVar)>& visit) {
  for (const IndexTerm& term : index.terms) {
    if (const auto* var = std::get_if<LoopVar>(&term.atom)) visit(*var);
    if (const auto* quotient = std::get_if<Quotient>(&term.atom))
      for_each_variable(*quotient->numerator, visit);
    if (const auto* remainder = std::get_if<Remainder>(&term.atom))
      for_each_variable(*remainder->numerator, visit);
    if (const auto* scaled = std::get_if<Scaled>(&term.atom)) {
      visit(scaled->factor);
      for_each_variable(*scaled->index, visit);
    }
  }
}

void for_each_value(const Index& index, const std::function<void(ValueId)>& visit) {
  for (const IndexTerm& term : index.terms) {
    if (const auto* value = std::get_if<ValueId>(&term.atom)) visit(*value);
    if (const auto* quotient = std::get_if<Quotient>(&term.atom)) for_each_value(*quotient->numerator, visit);
    if (const auto* remainder = std::get_if<Remainder>(&term.atom))
      for_each_value(*remainder->numerator, visit);
    if (const auto* scaled = std::get_if<Scaled>(&term.atom)) for_each_value(*scaled->index, visit);
  }
}

bool mentions(const Index& index, LoopVar var) {
  bool found = false;
  for_each_variable(index, [&](LoopVar seen) { found = found || seen == var; });
  return found;
}

std::optional<int64_t> linear_coefficient(const Index& index, LoopVar var) {
  int64_t coefficient = 0;
  for (const IndexTerm& term : index.terms) {
    if (const auto* seen = std::get_if<LoopVar>(&term.atom)) {
      if (*seen == var) coefficient = term.coefficient;
    } else if (mentions(Index::of_atom(term.atom), var)) {
      return std::nullopt;
    }
  }
  return coefficient;
}

std::string to_string(const Index& index, const std::function<std::string(LoopVar)>& name) {
  std::string text;
  auto atom_text = [&](const IndexAtom& atom) -> std::string {
    if (const auto* var = std::get_if<LoopVar>(&atom)) return name(*var);
    if (const auto* value = std::get_if<ValueId>(&atom))
      return "v" + std::to_string(static_cast<uint32_t>(*value));
    auto in_brackets = [&](const Index& inside) {
      const bool is_atom =
          inside.terms.size() == 1 && inside.constant == 0 && inside.terms[0].coefficient == 1;
      return is_atom ? to_string(inside, name) : "(" + to_string(inside, name) + ")";
    };
    if (const auto* scaled = std::get_if<Scaled>(&atom))
      return name(scaled->factor) + "*" + in_brackets(*scaled->index);
    if (const auto* quotient = std::get_if<Quotient>(&atom))
      return in_brackets(*quotient->numerator) + "/" + std::to_string(quotient->divisor);
    const auto& remainder = std::get<Remainder>(atom);
    return in_brackets(*remainder.numerator) + "%" + std::to_string(remainder.divisor);
  };
  for (const IndexTerm& term : index.terms) {
    const int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    if (text.empty()) {
      if (term.coefficient < 0) text += "-";
    } else {
      text += term.coefficient < 0 ? " - " : " + ";
    }
    if (magnitude != 1) text += std::to_string(magnitude) + "*";
    text += atom_text(term.atom);
  }
  if (text.empty()) return std::to_string(index.constant);
  if (index.constant > 0) text += " + " + std::to_string(index.constant);
  if (index.constant < 0) text += " - " + std::to_string(-index.constant);
  return text;
}

Index renamed(const Index& index, const std::function<ValueId(ValueId)>& name) {
  Index result(index.constant);
  auto inner = [&](const Index& numerator) {
    return std::make_shared<const Index>(renamed(numerator, name));
  };
  for (const IndexTerm& term : index.terms) {
    IndexAtom atom = term.atom;
    if (const auto* value = std::get_if<ValueId>(&atom)) atom = name(*value);
    if (const auto* q = std::get_if<Quotient>(&atom)) atom = Quotient{inner(*q->numerator), q->divisor};
    if (const auto* r = std::get_if<Remainder>(&atom)) atom = Remainder{inner(*r->numerator), r->divisor};
    if (const auto* s = std::get_if<Scaled>(&atom)) atom = Scaled{s->factor, inner(*s->index)};
    result = result + Index::of_atom(atom) * term.coefficient;
  }
  return result;
}

}  // namespace tokamak
