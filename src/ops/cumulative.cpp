#include "ops/cumulative.h"

#include "ops/type_rules.h"

namespace tokamak::rules {

TensorType cumulative(const TypeContext& context) {
  require_dtype(context, 0, record_of(context.op).dtypes);
  require_axis(context, context.inputs[0]);
  return context.inputs[0];
}

}  // namespace tokamak::rules
