#include "ops/source.h"

#include "ops/type_rules.h"

namespace tokamak::rules {

/// A parameter has no operands; its declared type stands in for one, and is checked.
TensorType parameter(const TypeContext& context) { return context.inputs[0]; }

TensorType constant(const TypeContext& context) { return context.attributes.tensor(Attr::value).type(); }

/// iota {axis, dtype, shape}: every element is its own index along the axis, wrapped to the dtype.
TensorType iota(const TypeContext& context) {
  TensorType type{context.attributes.dtype(Attr::dtype), context.attributes.ints(Attr::shape)};
  if (type.dtype == DType::boolean) {
    context.fail(to_string(type) + " is not a number type", UserError::Kind::type);
  }
  require_axis(context, type);
  return type;
}

}  // namespace tokamak::rules
