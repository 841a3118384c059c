#include "ops/elementwise/compare.h"

namespace tokamak {

namespace rules {

TensorType select_type(const TypeContext& context) {
  const TensorType& condition = context.inputs[0];
  const DType dtype = context.inputs[1].dtype;
  if (condition.dtype != DType::boolean) {
    context.fail("the condition " + to_string(condition) + " is not a bool type", UserError::Kind::type);
  }
  if (context.inputs[2].dtype != dtype) {
    context.fail("branches have different dtypes " + std::string(name_of(dtype)) + " and " +
                     std::string(name_of(context.inputs[2].dtype)) + "; convert one of them",
                 UserError::Kind::type);
  }
  return {dtype, broadcast_operands(context)};
}

}  // namespace rules

namespace scalar {

Expr less(DType dtype, Expr a, Expr b) {
  return is_unsigned(dtype) ? expr_detail::apply(Prim::ult, a, b) : a < b;
}

Expr less_equal(DType dtype, Expr a, Expr b) {
  return is_unsigned(dtype) ? expr_detail::apply(Prim::ule, a, b) : a <= b;
}

Expr maximum(DType dtype, Expr a, Expr b) {
  if (dtype == DType::boolean) return a | b;
  if (dtype == DType::f16) return select(is_nan(a), a, select(b <= a, a, b));
  Expr larger = select(less(dtype, b, a), a, b);  // b where it is NaN
  return is_float(dtype) ? select(is_nan(a), a, larger) : larger;
}

Expr minimum(DType dtype, Expr a, Expr b) {
  if (dtype == DType::boolean) return a & b;
  if (dtype == DType::f16) return select(is_nan(a), a, select(a <= b, a, b));
  Expr smaller = select(less(dtype, a, b), a, b);
  return is_float(dtype) ? select(is_nan(a), a, smaller) : smaller;
}

}  // namespace scalar
}  // namespace tokamak
