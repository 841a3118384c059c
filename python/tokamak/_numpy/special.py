"""The ufuncs of scipy.special that a few operations make, for Arrays. They are found by name once SciPy is imported.

Their dtypes and special values are SciPy's. Where SciPy's own formulas lose digits, these keep them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _dtypes
from .._ops import apply, constant, convert
from .._registry import TABLE, implements_late
from .elementwise import where
from .ufuncs import call

Rule = Callable[..., Any]


def special(*names: str) -> Callable[[Rule], Rule]:
    """Registers the rule of ufuncs of scipy.special."""
    return implements_late("scipy.special", *names)


def in_f64(rule: Rule) -> Rule:
    """A rule for f64 that serves f32 as well."""

    @functools.wraps(rule)
    def either(*operands: Any) -> Any:
        narrow = operands[0].dtype
        return convert(rule(*[convert(x, _dtypes.FLOAT64) for x in operands]), narrow)

    return either


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """By Horner's rule; the constant coefficient first."""
    result = constant(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        result = apply("add", apply("mul", result, x), constant(coefficient, x.dtype))
    return result


def either_nan(x: Any, y: Any) -> Any:
    return call(np.logical_or, call(np.isnan, x), call(np.isnan, y))


for _name, _op in {"erf": "erf", "erfc": "erfc", "expit": "sigmoid"}.items():
    special(_name)(functools.partial(apply, _op))

#: Those that NumPy has too
for _name, _ufunc in {
    "cbrt": np.cbrt,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "round": np.rint,
}.items():
    special(_name)(TABLE[_ufunc])


# ---------------------------------------------------------------------------------------------------------------------
# Exponentials and logarithms


@special("exp10")
def exp10(x: Any) -> Any:
    return apply("pow", constant(10, x.dtype), x)


@special("exprel")
def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x, 1 at 0."""
    zero = x == 0.0
    grows = apply("expm1", x) / where(zero, 1.0, x)
    return where(zero, 1.0, where(x == math.inf, math.inf, grows))


@special("cosm1")
def cosm1(x: Any) -> Any:
    """cos(x) - 1"""
    half = apply("sin", x * 0.5)
    return -2.0 * half * half


@special("logit")
def logit(x: Any) -> Any:
    """log(x / (1 - x)); near 1/2, where that is near 0, by the distance from it."""
    middle = 2.0 * apply("atanh", where(call(np.absolute, x - 0.5) < 0.25, x - 0.5, 0.0) * 2.0)
    return where(call(np.absolute, x - 0.5) < 0.25, middle, apply("log", x / (1.0 - x)))


@special("log_expit")
def log_expit(x: Any) -> Any:
    """log(1 / (1 + exp(-x)))"""
    return call(np.minimum, x, 0.0) - apply("log1p", apply("exp", -call(np.absolute, x)))


def _weighted(op: str) -> Rule:
    """x * log(y), 0 where x is 0 and y is a number."""

    def rule(x: Any, y: Any) -> Any:
        nothing = call(np.logical_and, x == 0.0, call(np.logical_not, call(np.isnan, y)))
        return where(nothing, 0.0, x * apply(op, where(nothing, 1.0, y)))

    return rule


special("xlogy")(_weighted("log"))
special("xlog1py")(_weighted("log1p"))


# ---------------------------------------------------------------------------------------------------------------------
# Entropies


@special("entr")
def entr(x: Any) -> Any:
    """-x log(x), 0 at 0, -inf below."""
    inside = -x * apply("log", where(x > 0.0, x, 1.0))
    return where(call(np.isnan, x), x, where(x > 0.0, inside, where(x == 0.0, 0.0, -math.inf)))


def _times_log_ratio(x: Any, y: Any) -> Any:
    """x log(x / y) for positive numbers: near 1, and where the ratio cannot be represented, by other means."""
    ratio = x / y
    near = call(np.logical_and, ratio > 0.5, ratio < 2.0)
    limits = _dtypes.limits_of_float(x.dtype)
    fits = call(np.logical_and, ratio > float(limits.tiny), ratio < math.inf)
    apart = apply("log", x) - apply("log", y)
    log = where(fits, apply("log", where(fits, ratio, 1.0)), apart)
    return x * where(near, apply("log1p", where(near, (x - y) / y, 0.0)), log)


@special("rel_entr")
def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y), 0 where x is 0, inf outside."""
    inside = call(np.logical_and, x > 0.0, y > 0.0)
    edge = call(np.logical_and, x == 0.0, y >= 0.0)
    value = _times_log_ratio(where(inside, x, 1.0), where(inside, y, 1.0))
    return where(either_nan(x, y), math.nan, where(inside, value, where(edge, 0.0, math.inf)))


@special("kl_div")
def kl_div(x: Any, y: Any) -> Any:
    """x log(x / y) - x + y, y where x is 0, inf outside."""
    inside = call(np.logical_and, x > 0.0, y > 0.0)
    edge = call(np.logical_and, x == 0.0, y >= 0.0)
    a, b = where(inside, x, 1.0), where(inside, y, 1.0)
    value = _times_log_ratio(a, b) - a + b
    return where(either_nan(x, y), math.nan, where(inside, value, where(edge, y, math.inf)))


# ---------------------------------------------------------------------------------------------------------------------
# Losses and transforms


@special("huber")
def huber(delta: Any, r: Any) -> Any:
    size = call(np.absolute, r)
    loss = where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return where(delta < 0.0, math.inf, loss)


@special("pseudo_huber")
@in_f64
def pseudo_huber(delta: Any, r: Any) -> Any:
    flat = call(np.logical_or, delta == 0.0, r == 0.0)
    share = r / where(flat, 1.0, delta)
    loss = delta * delta * apply("expm1", 0.5 * apply("log1p", share * share))
    return where(delta < 0.0, math.inf, where(flat, 0.0, loss))


def _boxcox(log: str) -> Rule:
    """(exp(power log(x)) - 1) / power, log(x) where the power is 0."""

    @in_f64
    def rule(x: Any, power: Any) -> Any:
        logarithm = apply(log, x)
        flat = call(np.absolute, power) < 1e-19
        safe = where(flat, 1.0, power)
        exponent = safe * logarithm
        large = (
            call(np.sign, safe) * apply("exp", exponent - apply("log", call(np.absolute, safe))) - 1.0 / safe
        )
        return where(flat, logarithm, where(exponent < 709.78, apply("expm1", exponent) / safe, large))

    return rule


special("boxcox")(_boxcox("log"))
special("boxcox1p")(_boxcox("log1p"))


def _inverse_boxcox(exp: str) -> Rule:
    @in_f64
    def rule(x: Any, power: Any) -> Any:
        flat = call(np.absolute, power * x) < 1e-154  # also where the power is 0
        safe = where(power == 0.0, 1.0, power)
        product = safe * x
        shifted = call(np.sign, safe) * (x + 1.0 / safe)  # where the product does not fit
        large = apply("log", shifted) + apply("log", call(np.absolute, safe))
        logarithm = where(product < math.inf, apply("log1p", product), large) / safe
        return apply(exp, where(call(np.logical_or, flat, power == 0.0), x, logarithm))

    return rule


special("inv_boxcox")(_inverse_boxcox("exp"))
special("inv_boxcox1p")(_inverse_boxcox("expm1"))
