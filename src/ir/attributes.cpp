#include "ir/attributes.h"

#include <algorithm>
#include <array>

#include "tokamak/errors.h"

namespace tokamak {
namespace {

constexpr std::array<std::string_view, kAttrCount> kAttrNames = {
    "axes",         "axis",         "shape",    "permutation", "starts",    "limits",    "steps",
    "low",          "high",         "interior", "sizes",       "dilations", "lhs_batch", "rhs_batch",
    "lhs_contract", "rhs_contract", "dtype",    "mode",        "combine",   "value"};

constexpr std::array<std::string_view, kWordCount> kWordNames = {
    "clamp",      "check",        "check_joined", "check_power", "check_divisor", "check_empty",
    "check_fits", "check_number", "check_bin",    "check_range", "drop",          "set",
    "add",        "sub",          "mul",          "div",         "floor_div",     "mod",
    "fmod",       "pow",          "min",          "max",         "atan2",         "hypot",
    "copysign",   "nextafter",    "bit_and",      "bit_or",      "bit_xor",       "shift_left",
    "shift_right"};

template <class T>
const T& get(const Attributes& attributes, Attr name) {
  const AttrValue* value = attributes.find(name);
  if (value == nullptr || !std::holds_alternative<T>(*value)) {
    throw InternalError("attribute '" + std::string(name_of(name)) + "' is missing or of another type");
  }
  return std::get<T>(*value);
}

}  // namespace

std::string_view name_of(Attr attr) { return kAttrNames[static_cast<size_t>(attr)]; }
std::string_view name_of(Word word) { return kWordNames[static_cast<size_t>(word)]; }

AttrKind kind_of(Attr attr) {
  switch (attr) {
    case Attr::axis:
      return AttrKind::integer;
    case Attr::axes:
    case Attr::shape:
    case Attr::permutation:
    case Attr::starts:
    case Attr::limits:
    case Attr::steps:
    case Attr::low:
    case Attr::high:
    case Attr::interior:
    case Attr::sizes:
    case Attr::dilations:
    case Attr::lhs_batch:
    case Attr::rhs_batch:
    case Attr::lhs_contract:
    case Attr::rhs_contract:
      return AttrKind::integers;
    case Attr::dtype:
      return AttrKind::dtype;
    case Attr::mode:
    case Attr::combine:
      return AttrKind::word;
    case Attr::value:
      return AttrKind::tensor;
  }
  return AttrKind::tensor;
}

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

void Attributes::set(Attr name, AttrValue value) {
  auto place = std::lower_bound(entries_.begin(), entries_.end(), name,
                                [](const Entry& entry, Attr wanted) { return entry.first < wanted; });
  if (place != entries_.end() && place->first == name) {
    place->second = std::move(value);
  } else {
    entries_.insert(place, {name, std::move(value)});
  }
}

const AttrValue* Attributes::find(Attr name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

int64_t Attributes::integer(Attr name) const { return get<int64_t>(*this, name); }
const Ints& Attributes::ints(Attr name) const { return get<Ints>(*this, name); }
DType Attributes::dtype(Attr name) const { return get<DType>(*this, name); }
Word Attributes::word(Attr name) const { return get<Word>(*this, name); }
const Tensor& Attributes::tensor(Attr name) const { return get<Tensor>(*this, name); }

}  // namespace tokamak
