"""The normal distribution: scipy.special's erfcx, ndtr, log_ndtr, ndtri, erfinv and erfcinv, for Arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._ops import apply, constant
from .elementwise import where
from .special import in_f64, polynomial, special
from .ufuncs import call

_HALF_ROOT = math.sqrt(0.5)
_HALF_ROOT_REST = -4.833646656726457e-17  # what the double above lacks
_SPLITTER = 2.0**27 + 1


def _over_root_2(x: Any) -> tuple[Any, Any]:
    """x / sqrt(2) and what its rounding lost."""
    product = x * _HALF_ROOT
    x_high, x_low = _halves(x)
    c_high, c_low = _halves(constant(_HALF_ROOT, x.dtype))
    error = ((x_high * c_high - product) + x_high * c_low + x_low * c_high) + x_low * c_low
    return product, error + x * _HALF_ROOT_REST


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of half the bits whose sum is x, so that their products are exact."""
    wide = x * _SPLITTER
    high = wide - (wide - x)
    return high, x - high


@special("ndtr")
@in_f64
def ndtr(x: Any) -> Any:
    """erfc(-x / sqrt(2)) / 2. Far to the left, it is so steep that the rounding of the quotient counts."""
    inside = call(np.minimum, call(np.maximum, x, -40.0), 40.0)
    quotient, lost = _over_root_2(inside)
    left = call(np.minimum, quotient, 0.0)
    slope = call(np.sqrt, left * left + 1.6) - left  # of log erfc, near enough
    return 0.5 * apply("erfc", -quotient) * (1.0 + where(quotient < 0.0, lost * slope, 0.0))


@special("erfcx")
@in_f64
def erfcx(x: Any) -> Any:
    """exp(x * x) erfc(x): with what the square loses in rounding, or beyond 26, by inverse squares."""
    inside = call(np.minimum, call(np.maximum, x, -30.0), 26.0)
    high, low = _halves(inside)
    square = inside * inside
    lost = ((high * high - square) + 2.0 * high * low) + low * low
    near = apply("exp", square) * apply("erfc", inside)
    y = call(np.maximum, x, 26.0)
    inverse = 0.5 / (y * y)
    far = polynomial(inverse, [1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0]) / (
        math.sqrt(math.pi) * y
    )
    return where(x > 26.0, far, near * (1.0 + lost))


_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2

#: Where a sum over inverse squares is as good as the function itself
_FAR = -30.0


@special("log_ndtr")
@in_f64
def log_ndtr(x: Any) -> Any:
    """log(ndtr(x)): from the other tail on the right; where ndtr is about to underflow, from an expansion."""
    right = apply("log1p", -ndtr(-call(np.maximum, x, -1.0)))
    middle = apply("log", ndtr(call(np.maximum, x, _FAR)))
    y = call(np.minimum, x, _FAR)
    inverse = 1.0 / (y * y)
    rest = inverse * polynomial(inverse, [-1.0, 3.0, -15.0, 105.0, -945.0, 10395.0])
    far = -0.5 * y * y - apply("log", -y) - _LOG_ROOT_2_PI + apply("log1p", rest)
    return where(x < _FAR, far, where(x < -1.0, middle, right))


# ---------------------------------------------------------------------------------------------------------------------
# Inverses

#: Where ndtri(0.5 + r) is a polynomial in r * r, times r
_MIDDLE = 0.2
_CENTRE = (
    2.5066282746310007,
    2.6249349909537365,
    5.772533538611589,
    15.667608963377004,
    47.03578744991728,
    149.8298029656251,
    496.2728291176255,
    1689.9305068781468,
    5870.1417278677345,
    20906.867325471852,
    69571.10148666406,
    358702.57807606756,
    -134630.6090061483,
    10926916.24011291,
)
#: -ndtri(p) / q with q = sqrt(-2 log(p)), for p up to 0.3, in (q - 6) / (q + 6): within 1e-7, where a step begins
_TAIL = (
    0.9231286977319818,
    0.25564666716721923,
    -0.4113843280948595,
    0.5075394742241406,
    -0.57977032140614,
    0.6334545670496343,
    -0.6788532820994095,
    0.7331138729808103,
    -0.7522430591757353,
    0.6133359604004529,
    -0.6664575737834548,
    1.5417916024469,
    -1.6908901613971046,
    -0.8309783281198188,
    1.864720064111369,
    2.1768944936818158,
    -4.692402939378431,
    2.068671379225572,
)


def _ndtri_of_tail(p: Any) -> Any:
    """For p up to 0.3: an approximation, and one step of Halley's to log(ndtr(z)) = log(p), almost quadratic in z."""
    q = apply("sqrt", -2.0 * apply("log", p))
    z = -q * polynomial((q - 6.0) / (q + 6.0), _TAIL)
    reached = ndtr(z)
    t = -z
    slope = where(
        z < _FAR,
        t + 1.0 / (t + 2.0 / (t + 3.0 / (t + 4.0 / t))),
        apply("exp", -0.5 * z * z) / (math.sqrt(2 * math.pi) * reached),
    )
    too_high = apply("log1p", (reached - p) / p)
    return z - too_high / (slope + 0.5 * too_high * (slope + z))


def _ndtri(tail: Any, r: Any) -> Any:
    """ndtri(0.5 + r), with `tail` the distance to the nearer of 0 and 1; each as exact as it can be had."""
    inside = tail > 0.0
    far = apply("copysign", _ndtri_of_tail(where(inside, call(np.minimum, tail, 0.3), 0.3)), r)
    near = r * polynomial(r * r, _CENTRE)
    edges = where(tail == 0.0, apply("copysign", constant(math.inf, r.dtype), r), math.nan)
    return where(inside, where(call(np.absolute, r) < _MIDDLE, near, far), edges)


@special("ndtri")
@in_f64
def ndtri(p: Any) -> Any:
    """The x for which ndtr(x) is p."""
    return _ndtri(call(np.minimum, p, 1.0 - p), p - 0.5)


@special("erfinv")
@in_f64
def erfinv(y: Any) -> Any:
    """The x for which erf(x) is y."""
    return _HALF_ROOT * _ndtri(0.5 * (1.0 - call(np.absolute, y)), 0.5 * y)


@special("erfcinv")
@in_f64
def erfcinv(y: Any) -> Any:
    """The x for which erfc(x) is y."""
    return -_HALF_ROOT * _ndtri(call(np.minimum, 0.5 * y, 1.0 - 0.5 * y), 0.5 * y - 0.5)
