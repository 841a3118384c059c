#include <array>

#include "ops/contract.h"
#include "ops/cumulative.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bits.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/float_parts.h"
#include "ops/elementwise/transcendental.h"
#include "ops/index.h"
#include "ops/record.h"
#include "ops/reduce.h"
#include "ops/sort.h"
#include "ops/source.h"
#include "ops/type_rules.h"
#include "ops/view.h"

namespace tokamak {
namespace {

using Records = std::array<const OpRecord*, kOpCount>;

struct Collected {
  Records records = {};
  std::array<bool, kOpCount> present = {};
  bool duplicates = false;

  template <size_t N>
  constexpr void put(const OpRecord (&table)[N]) {
    for (const OpRecord& record : table) {
      const auto place = static_cast<size_t>(record.op);
      duplicates = duplicates || present[place];
      present[place] = true;
      records[place] = &record;
    }
  }
  constexpr bool complete() const {
    for (bool has_record : present) {
      if (!has_record) return false;
    }
    return true;
  }
};

constexpr Collected collect() {
  Collected all;
  all.put(rules::kSources);
  all.put(rules::kArithmetic);
  all.put(rules::kFloatParts);
  all.put(rules::kTranscendental);
  all.put(rules::kComparisons);
  all.put(rules::kBits);
  all.put(rules::kConversions);
  all.put(rules::kViews);
  all.put(rules::kIndexing);
  all.put(rules::kReductions);
  all.put(rules::kCumulative);
  all.put(rules::kSorting);
  all.put(rules::kContractions);
  return all;
}

constexpr Collected kCollected = collect();
static_assert(kCollected.complete(), "an op of ops.def has no record");
static_assert(!kCollected.duplicates, "an op has two records");

constexpr std::string_view kKindNames[] = {"an integer", "a list of integers", "a dtype", "a word",
                                           "a tensor"};
static_assert(std::size(kKindNames) == std::variant_size_v<AttrValue>);

void check_attributes(const TypeContext& context) {
  const AttrSet wanted = record_of(context.op).attributes;
  const AttrSet allowed = wanted | record_of(context.op).optional;
  for (const auto& [name, value] : context.attributes.entries()) {
    const std::string quoted = "attribute '" + std::string(name_of(name)) + "'";
    if (!contains(allowed, name)) context.fail("takes no " + quoted, UserError::Kind::type);
    if (value.index() != static_cast<size_t>(kind_of(name))) {
      context.fail(quoted + " must be " + std::string(kKindNames[static_cast<size_t>(kind_of(name))]) +
                       ", not " + std::string(kKindNames[value.index()]),
                   UserError::Kind::type);
    }
  }
  for (size_t i = 0; i < kAttrCount; ++i) {
    const auto name = static_cast<Attr>(i);
    if (contains(wanted, name) && !context.attributes.has(name)) {
      context.fail("attribute '" + std::string(name_of(name)) + "' is missing", UserError::Kind::type);
    }
  }
}

}  // namespace

const OpRecord& record_of(Op op) { return *kCollected.records[static_cast<size_t>(op)]; }

TensorType infer_type(Op op, std::span<const TensorType> inputs, const Attributes& attributes,
                      const SourceLocation& where) {
  const TypeContext context{op, inputs, attributes, where};
  // A parameter is given its declared type to check, see rules::parameter.
  const int arity = op == Op::parameter ? 1 : info(op).arity;
  if (arity >= 0 && inputs.size() != static_cast<size_t>(arity)) {
    context.fail("takes " + std::to_string(arity) + (arity == 1 ? " operand, not " : " operands, not ") +
                     std::to_string(inputs.size()),
                 UserError::Kind::type);
  }
  check_attributes(context);
  TensorType type = record_of(op).type(context);
  require_size(context, type);
  return type;
}

}  // namespace tokamak
