#include "ops/sort.h"

#include "ops/type_rules.h"

namespace tokamak {

SortRange range_of_sort(const Attributes& sort, int64_t length) {
  if (!sort.has(Attr::starts) || !sort.has(Attr::limits)) return {0, length};
  return {sort.ints(Attr::starts)[0], sort.ints(Attr::limits)[0]};
}

}  // namespace tokamak

namespace tokamak::rules {
namespace {

TensorType sorted(const TypeContext& context, DType dtype) {
  const auto axis = static_cast<size_t>(require_axis(context, context.inputs[0]));
  TensorType type{dtype, context.inputs[0].shape};
  if (context.attributes.has(Attr::starts) != context.attributes.has(Attr::limits))
    context.fail("starts and limits come together");
  for (Attr name : {Attr::starts, Attr::limits}) {
    if (context.attributes.has(name) && context.attributes.ints(name).size() != 1)
      context.fail(std::string(name_of(name)) + " has one entry, for the axis that is sorted");
  }
  const SortRange range = range_of_sort(context.attributes, type.shape[axis]);
  if (range.first < 0 || range.first > range.last || range.last > type.shape[axis]) {
    context.fail("range " + std::to_string(range.first) + ":" + std::to_string(range.last) +
                 " is not within 0:" + std::to_string(type.shape[axis]));
  }
  type.shape[axis] = range.last - range.first;
  return type;
}

}  // namespace

TensorType sort(const TypeContext& context) { return sorted(context, context.inputs[0].dtype); }

TensorType argsort(const TypeContext& context) { return sorted(context, DType::i64); }

}  // namespace tokamak::rules
