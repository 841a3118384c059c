#include "ops/sort.h"

#include "ops/type_rules.h"

namespace tokamak::rules {

TensorType sort(const TypeContext& context) {
  require_axis(context, context.inputs[0]);
  return context.inputs[0];
}

TensorType argsort(const TypeContext& context) {
  require_axis(context, context.inputs[0]);
  return {DType::i64, context.inputs[0].shape};
}

}  // namespace tokamak::rules
