#include "ops/math/math.h"

#include "ops/math/libm.h"

namespace tokamak::math {

#define FUNCTION(name) \
  Scalar name(ScalarBuilder& s, Scalar x) { return libm::name(Expr{&s, x}); }
TOKAMAK_LIBM_UNARY(FUNCTION)
#undef FUNCTION

Scalar pow(ScalarBuilder& s, Scalar x, Scalar y) { return libm::pow(Expr{&s, x}, Expr{&s, y}); }
Scalar atan2(ScalarBuilder& s, Scalar y, Scalar x) { return libm::atan2(Expr{&s, y}, Expr{&s, x}); }
Scalar sigmoid(ScalarBuilder& s, Scalar x) { return 1.0 / (1.0 + libm::exp(-Expr{&s, x})); }
Scalar rsqrt(ScalarBuilder& s, Scalar x) { return 1.0 / sqrt(Expr{&s, x}); }

}  // namespace tokamak::math
