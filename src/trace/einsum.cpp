// einsum: subscripts into names, then one contraction per pair of operands.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "trace/contract.h"
#include "trace/contraction_order.h"
#include "trace/operands.h"
#include "trace/promotion.h"

namespace tokamak {
namespace {

/// An axis that an ellipsis stands for, counted from the last one, has the name kEllipsis + i. Letters are
/// their own names.
constexpr int kEllipsis = 256;

/// The subscripts of one operand, or of the result.
struct Term {
  Names letters;
  std::optional<size_t> ellipsis;  ///< how many letters come before it
};

struct Subscripts {
  std::vector<Term> inputs;
  std::optional<Term> output;
};

/// All bytes of a character in UTF-8.
std::string character_at(std::string_view text, size_t i) {
  size_t end = i + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return std::string(text.substr(i, end - i));
}

class Parser {
 public:
  Parser(std::string_view text, const Where& where) : text_(text), where_(where) {}

  Subscripts run() {
    Subscripts result;
    std::string_view rest = text_;
    const size_t arrow = rest.find("->");
    if (arrow != std::string_view::npos) {
      result.output = term(rest.substr(arrow + 2));
      rest = rest.substr(0, arrow);
    }
    while (true) {
      const size_t comma = rest.find(',');
      result.inputs.push_back(term(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(comma + 1);
    }
    return result;
  }

  [[noreturn]] void fail_with(const std::string& message) const {
    fail("einsum", message + " in '" + std::string(text_) + "'", where_);
  }

 private:
  Term term(std::string_view text) const {
    Term result;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == ' ') continue;
      if (c == '.') {
        if (text.substr(i, 3) != "..." || result.ellipsis)
          fail_with("there is a '.' that is not part of one ellipsis ('...')");
        result.ellipsis = result.letters.size();
        i += 2;
      } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        result.letters.push_back(c);
      } else if (c == '-' || c == '>') {
        fail_with("there is a '" + std::string(1, c) + "' that is not part of one '->'");
      } else {
        fail_with("'" + character_at(text, i) + "' is no subscript; they are letters");
      }
    }
    return result;
  }

  std::string_view text_;
  const Where& where_;
};

std::string spelled(int name) {
  return name < kEllipsis ? "the subscript '" + std::string(1, static_cast<char>(name)) + "'"
                          : "an axis of '...'";
}

class Einsum {
 public:
  Einsum(std::string_view text, const std::vector<Operand>& operands, const Where& where)
      : parser_(text, where), where_(where), subscripts_(parser_.run()) {
    if (subscripts_.inputs.size() != operands.size()) {
      parser_.fail_with(std::to_string(operands.size()) + (operands.size() == 1 ? " operand" : " operands") +
                        " for " + std::to_string(subscripts_.inputs.size()) + " lists of subscripts");
    }
    std::vector<Array> arrays;
    for (const Operand& operand : operands) arrays.push_back(as_array(operand));
    DType dtype = arrays[0].dtype();
    for (const Array& array : arrays) dtype = promote(dtype, array.dtype());
    for (size_t i = 0; i < arrays.size(); ++i) add_operand(astype(arrays[i], dtype), i);
    output_ = output_names();
  }

  Array run() {
    for (Named& value : values_) value = without_stretched(value);
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = summed_to(values_[i], needed_of(i), where_);
    if (values_.size() == 1) return summed_to(values_[0], output_, where_).array;
    const size_t count = values_.size();
    const auto steps = order();
    for (const auto& [a, b] : steps) {
      const bool is_last = values_.size() + 2 == 2 * count;
      gone_.insert({a, b});
      const Named &left = values_[a], &right = values_[b];
      const Names names = is_last ? output_ : natural_names(left, right, needed_by_rest(left, right));
      values_.push_back({contract(left, right, names, where_), names});
    }
    return values_.back().array;
  }

 private:
  void add_operand(const Array& array, size_t position) {
    const Term& term = subscripts_.inputs[position];
    const auto letters = static_cast<int64_t>(term.letters.size());
    const std::string operand = to_string(array.type()) + ", operand " + std::to_string(position) + ",";
    if (letters > array.rank()) parser_.fail_with(operand + " has fewer axes than subscripts");
    if (letters < array.rank() && !term.ellipsis)
      parser_.fail_with(operand + " has more axes than subscripts, and no '...' stands for the others");
    const int64_t others = array.rank() - letters;
    ellipsis_rank_ = std::max(ellipsis_rank_, others);
    Named value{array, term.letters};
    for (int64_t i = 0; i < others; ++i) {
      value.names.insert(value.names.begin() + static_cast<int64_t>(term.ellipsis.value_or(0)),
                         kEllipsis + static_cast<int>(i));
    }
    value = with_diagonals(value, position);
    for (size_t i = 0; i < value.names.size(); ++i)
      note_extent(value.names[i], value.array.shape()[i], array.type());
    values_.push_back(std::move(value));
  }

  /// `type` is that of the operand which has it.
  void note_extent(int name, int64_t extent, const TensorType& type) {
    auto [found, is_new] = extents_.insert({name, extent});
    if (is_new || (found->second == 1 && extent != 1)) {
      found->second = extent;
      owners_.insert_or_assign(name, type);
      return;
    }
    if (extent == 1 || found->second == extent) return;
    parser_.fail_with(spelled(name) + " has extents " + std::to_string(found->second) + " and " +
                      std::to_string(extent) + ", of " + to_string(owners_.at(name)) + " and " +
                      to_string(type) + ",");
  }

  /// Axes with the same name become one: the diagonal of [.., n, n] is every (n + 1)th element of [.., n *
  /// n].
  Named with_diagonals(Named x, size_t position) const {
    for (size_t i = 0; i < x.names.size(); ++i) {
      const auto again = std::find(x.names.begin() + static_cast<int64_t>(i) + 1, x.names.end(), x.names[i]);
      if (again == x.names.end()) continue;
      const auto j = static_cast<int64_t>(again - x.names.begin());
      const int64_t extent = x.array.shape()[i];
      const int64_t other = x.array.shape()[static_cast<size_t>(j)];
      if (extent != other) {
        parser_.fail_with(spelled(x.names[i]) + " of " + to_string(x.array.type()) + ", operand " +
                          std::to_string(position) + ", has extents " + std::to_string(extent) + " and " +
                          std::to_string(other));
      }
      const int64_t rank = x.array.rank();
      Array flat = moveaxis(x.array, {static_cast<int64_t>(i), j}, {rank - 2, rank - 1});
      Shape shape(flat.shape().begin(), flat.shape().end() - 2);
      shape.push_back(extent * extent);
      flat = reshaped(flat, shape, where_);
      Ints steps(shape.size(), 1);
      steps.back() = extent + 1;
      x.array = slice(flat, Ints(shape.size(), 0), shape, steps);
      const int name = x.names[i];
      x.names.erase(again);
      x.names.erase(x.names.begin() + static_cast<int64_t>(i));
      x.names.push_back(name);
      --i;
    }
    return x;
  }

  Names output_names() const {
    Names names;
    if (subscripts_.output) {
      const Term& term = *subscripts_.output;
      for (int letter : term.letters) {
        if (extents_.count(letter) == 0)
          parser_.fail_with(spelled(letter) + " of the result is not among the operands'");
        if (has_name(names, letter)) parser_.fail_with(spelled(letter) + " is there twice in the result");
        names.push_back(letter);
      }
      if (ellipsis_rank_ > 0 && !term.ellipsis)
        parser_.fail_with("the result has no '...' for the axes that '...' stands for in the operands");
      add_ellipsis(names, term.ellipsis.value_or(0));
      return names;
    }
    std::map<int, int> counts;
    for (const Term& term : subscripts_.inputs) {
      for (int letter : term.letters) ++counts[letter];
    }
    for (auto [letter, count] : counts) {
      if (count == 1) names.push_back(letter);
    }
    add_ellipsis(names, 0);
    return names;
  }

  void add_ellipsis(Names& names, size_t place) const {
    for (int64_t i = 0; i < ellipsis_rank_; ++i)
      names.insert(names.begin() + static_cast<int64_t>(place), kEllipsis + static_cast<int>(i));
  }

  /// Without the extents of 1 that stretch to what another operand has.
  Named without_stretched(const Named& x) const {
    Named made{x.array, {}};
    Shape shape;
    for (size_t i = 0; i < x.names.size(); ++i) {
      const int64_t extent = x.array.shape()[i];
      if (extent != extents_.at(x.names[i])) continue;
      made.names.push_back(x.names[i]);
      shape.push_back(extent);
    }
    made.array = reshaped(x.array, std::move(shape), where_);
    return made;
  }

  bool is_needed(int name) const { return has_name(output_, name); }

  /// The names of an operand that the result or another operand has; it is summed over the rest at once.
  Names needed_of(size_t operand) const {
    Names names;
    for (int name : values_[operand].names) {
      bool needed = is_needed(name);
      for (size_t i = 0; i < values_.size(); ++i)
        needed = needed || (i != operand && has_name(values_[i].names, name));
      if (needed) names.push_back(name);
    }
    return names;
  }

  Names needed_by_rest(const Named& a, const Named& b) const {
    Names names;
    for (const Named* one : {&a, &b}) {
      for (int name : one->names) {
        bool needed = is_needed(name);
        for (size_t i = 0; i < values_.size(); ++i)
          needed = needed || (gone_.count(i) == 0 && has_name(values_[i].names, name));
        if (needed && !has_name(names, name)) names.push_back(name);
      }
    }
    return names;
  }

  std::vector<std::pair<size_t, size_t>> order() const {
    std::map<int, size_t> places;
    std::vector<int64_t> extents;
    for (auto [name, extent] : extents_) {
      places[name] = extents.size();
      extents.push_back(extent);
    }
    if (extents.size() > kMaxNames)
      parser_.fail_with("there are more than " + std::to_string(kMaxNames) + " axes");
    std::vector<NameSet> sets;
    for (const Named& value : values_) {
      NameSet set;
      for (int name : value.names) set.set(places[name]);
      sets.push_back(set);
    }
    NameSet kept;
    for (int name : output_) kept.set(places[name]);
    return contraction_order(sets, kept, extents);
  }

  Parser parser_;
  const Where& where_;
  Subscripts subscripts_;
  std::vector<Named> values_;  ///< the operands, then the product of every step
  std::set<size_t> gone_;      ///< those that a product has taken in
  std::map<int, int64_t> extents_;
  std::map<int, TensorType> owners_;  ///< the operands that these are of
  int64_t ellipsis_rank_ = 0;
  Names output_;
};

}  // namespace

Array einsum(std::string_view subscripts, const std::vector<Operand>& operands, Where where) {
  AtLine line(where);
  if (operands.empty()) fail("einsum", "there are no operands", where);
  return Einsum(subscripts, operands, where).run();
}

}  // namespace tokamak
