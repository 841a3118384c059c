"""The gamma function and its relatives in scipy.special: gamma, gammaln, loggamma, rgamma, digamma (psi), for Arrays.

Each is a polynomial in (x - s) / (x + s), times a factor that has its zeros, up to 8, and a series in 1 / x beyond.
The coefficients interpolate at the points of Chebyshev, computed with 60 digits. To the left of 0, all are reflected.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._ops import apply, constant
from .elementwise import where
from .special import in_f64, polynomial, special
from .ufuncs import call

_FAR = 8.0
_TINY = 2.0**-60
_LARGEST_GAMMA = 171.6
_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2

#: log(gamma(x)) / ((x - 1) (x - 2)) from 0.5 to 8, in (x - 2) / (x + 2)
_LGAMMA = (
    0.42278433509846713,
    -0.40126920669741567,
    0.12617080324107535,
    -0.13897748719618885,
    0.08293806015386704,
    -0.08715639051927582,
    0.062323224494192274,
    -0.06410725846970548,
    0.049933397130625966,
    -0.050833842257422934,
    0.04164043259167322,
    -0.04215565118761506,
    0.03570612421755789,
    -0.03602823108903904,
    0.03120855381088239,
    -0.03142331866535802,
    0.028180679642921473,
    -0.028331473966976363,
    0.021792495372797514,
    -0.021898919137834375,
    0.04151932178281965,
    -0.041619145149218266,
    -0.06055688020630698,
    0.060570706143419764,
    0.27741760985768416,
    -0.2777128188132102,
    -0.5681701965003603,
    0.5686915448062387,
    0.9254385261541375,
    -0.9263491945365451,
    -0.8606928403636437,
    0.8615256050026335,
    0.42835530568446284,
    -0.42879453881019697,
)
#: (gamma(x) - 1) / ((x - 1) (x - 2)) from 1 to 2, in (x - s) / (x + s) with s = sqrt(2)
_GAMMA = (
    0.46743426515678677,
    -0.45006924701083406,
    1.046160282733173,
    -0.04624459810845502,
    1.9016603798833653,
    1.415659969768193,
    4.408451595853911,
    5.641444791116127,
    11.436167447159603,
    17.18381757122892,
    30.178920050193916,
    47.300868930170985,
    78.08165589347314,
    122.85211322870038,
    197.4458818227816,
    308.0217403122415,
    447.4709265754457,
    691.4029732573076,
    1608.1595943804073,
    2440.9114768635836,
)
#: psi(x) / (x - its zero) from 1 to 8, in (x - s) / (x + s) with s = sqrt(8)
_DIGAMMA = (
    0.6238321921012093,
    -0.8301678961712056,
    0.5370456583539045,
    -0.537938935469515,
    0.49157839138647685,
    -0.4983376717356549,
    0.48319919469976313,
    -0.48898099608644724,
    0.48208535350964177,
    -0.48625938142858904,
    0.482308289408972,
    -0.48526981022946053,
    0.48259810001420805,
    -0.4847523172255223,
    0.48371736802139725,
    -0.48533918364012,
    0.47479020206287215,
    -0.4760440402096289,
    0.5439124501354753,
    -0.5449615970546263,
    0.1778951608048709,
    -0.17849705024607312,
    1.51208152985679,
    -1.513509909707604,
    -1.6666260217916045,
    1.6676279627916764,
    2.7929623625776343,
    -2.7952011769163128,
)
_ZERO_OF_PSI, _ZERO_REST = float.fromhex("0x1.762d86356be3fp+0"), float.fromhex("0x1.b86a722197829p-54")

#: The coefficients of Stirling's series: of log(gamma(x)), in odd powers of 1 / x, and of psi(x), in even ones
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_STIRLING_PSI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def _mapped(x: Any, center: float) -> Any:
    return (x - center) / (x + center)


def _is_pole(x: Any) -> Any:
    """Where gamma is infinite: at 0 and at the negative integers."""
    return call(np.logical_and, x <= 0.0, apply("floor", x) == x)


def _sine_of_pi(x: Any) -> Any:
    """sin(pi x) of the distance to the nearest integer, for x >= 0, without its sign."""
    return apply("sin", math.pi * call(np.absolute, x - apply("round", x)))


def _log_gamma_of_positive(x: Any) -> Any:
    """For x > 0: below 0.5 from x + 1."""
    low = x < 0.5
    y = call(np.minimum, where(low, x + 1.0, x), _FAR)
    factor = where(low, x, y - 1.0) * where(low, x - 1.0, y - 2.0)
    near = factor * polynomial(_mapped(y, 2.0), _LGAMMA)
    near = near - where(low, apply("log", where(low, x, 1.0)), 0.0)
    z = call(np.maximum, x, _FAR)
    inverse = 1.0 / z
    series = inverse * polynomial(inverse * inverse, _STIRLING) + _LOG_ROOT_2_PI
    far = (z - 0.5) * (apply("log", z) - 1.0) - 0.5 + series
    return where(x < _FAR, near, far)


@special("gammaln")
@in_f64
def gammaln(x: Any) -> Any:
    """log(|gamma(x)|)"""
    size = call(np.absolute, x)
    right = _log_gamma_of_positive(size)
    whole = call(np.logical_or, _is_pole(x), size == math.inf)
    sine = where(whole, 1.0, size * _sine_of_pi(where(whole, 0.5, size)))
    left = apply("log", math.pi / where(x < 0.0, sine, 1.0)) - right
    left = where(size < _TINY, right, left)  # where gamma is 1 / x, and the product with the sine may be 0
    return where(whole, where(x == -math.inf, -math.inf, math.inf), where(x < 0.0, left, right))


@special("gammasgn")
@in_f64
def gammasgn(x: Any) -> Any:
    """The sign of gamma(x), NaN at the negative integers."""
    half = 0.5 * apply("floor", x)
    sign = where(apply("floor", half) == half, 1.0, -1.0)
    at_zero = apply("copysign", constant(1.0, x.dtype), x)
    outside = where(x == 0.0, at_zero, where(_is_pole(x), math.nan, sign))
    return where(x > 0.0, 1.0, where(call(np.isnan, x), x, outside))


@special("loggamma")
@in_f64
def loggamma(x: Any) -> Any:
    """The same, for real x: NaN to the left of 0, where the logarithm is not real."""
    return where(x < 0.0, math.nan, gammaln(x))


def _gamma_of_positive(x: Any) -> Any:
    """For x > 0: gamma between 1 and 2 times the numbers up to x, or Stirling's formula."""
    y = call(np.minimum, where(x < 1.0, x + 1.0, x), _FAR)
    whole = call(np.minimum, apply("floor", y), 7.0)
    fraction = y - whole
    first = fraction + 1.0
    value = 1.0 + fraction * (fraction - 1.0) * polynomial(_mapped(first, math.sqrt(2)), _GAMMA)
    for step in range(1, 7):
        value = value * where(whole > float(step), y - (whole - float(step)), 1.0)
    value = where(x < 1.0, value / where(x == 0.0, 1.0, x), value)
    z = call(np.minimum, call(np.maximum, x, _FAR), 172.0)
    inverse = 1.0 / z
    series = apply("exp", inverse * polynomial(inverse * inverse, _STIRLING))
    half = apply("pow", z, 0.5 * z - 0.25)  # squared at last, because the power overflows before gamma does
    far = half * (apply("exp", -z) * half) * (math.sqrt(2 * math.pi) * series)
    return where(x < _FAR, value, where(x > 171.7, math.inf, far))


@special("gamma")
@in_f64
def gamma(x: Any) -> Any:
    """NaN at the negative integers, an infinity with the sign of zero at 0."""
    size = call(np.absolute, x)
    right = _gamma_of_positive(size)
    whole = _is_pole(x)
    sine = _sine_of_pi(where(whole, 0.5, size))
    half = 0.5 * apply("floor", size)
    even = apply("floor", half) == half
    left = where(size < _TINY, right, math.pi / (size * sine * right)) * where(even, -1.0, 1.0)
    poles = where(x == 0.0, apply("copysign", constant(math.inf, x.dtype), x), math.nan)
    outside = where(call(np.logical_or, call(np.isnan, x), x == -math.inf), math.nan, right)
    return where(whole, poles, where(call(np.logical_and, x < 0.0, x > -math.inf), left, outside))


@special("betaln")
@in_f64
def betaln(a: Any, b: Any) -> Any:
    """log(|beta(a, b)|), where beta(a, b) = gamma(a) gamma(b) / gamma(a + b)."""
    swapped = call(np.absolute, a) < call(np.absolute, b)
    large, small = where(swapped, b, a), where(swapped, a, b)
    regular = _betaln(large, small)
    # At a negative integer n there is a value where the other is an integer up to -n: that of the reflected arguments.
    is_large = _is_pole(large)
    pole, other = where(is_large, large, small), where(is_large, small, large)
    mirrored = 1.0 - pole - other
    is_between = call(np.logical_and, mirrored > 0.0, call(np.logical_and, other > 0.0, pole > -(2.0**31)))
    finite = call(np.logical_and, apply("floor", other) == other, is_between)
    safe, there = where(finite, mirrored, 1.0), where(finite, other, 1.0)
    turned = call(np.absolute, safe) < call(np.absolute, there)
    reflected = _betaln(where(turned, there, safe), where(turned, safe, there))
    at_pole = call(np.logical_or, is_large, _is_pole(small))
    return where(at_pole, where(finite, reflected, math.inf), regular)


def _betaln(large: Any, small: Any) -> Any:
    total = large + small
    most = call(np.maximum, call(np.maximum, call(np.absolute, total), call(np.absolute, large)), 0.0)
    by_logs = gammaln(large) + (gammaln(small) - gammaln(total))
    near = most <= _LARGEST_GAMMA
    x, y, sum_ = (where(near, one, 1.0) for one in (large, small, total))
    product = gamma(x) / gamma(sum_) * gamma(y)
    by_gammas = apply("log", call(np.absolute, product))
    far = call(np.logical_and, large > 1e6, large > 1e6 * call(np.absolute, small))
    z = where(far, large, 1.0)
    rest = 1.0 - small
    series = small * rest / (2.0 * z) + small * rest * (1.0 - 2.0 * small) / (12.0 * z * z)
    series = series - small * small * rest * rest / (12.0 * z * z * z)
    asymptotic = gammaln(small) - small * apply("log", z) + series
    regular = where(far, asymptotic, where(near, by_gammas, by_logs))
    return where(_is_pole(total), -math.inf, regular)


@special("rgamma")
@in_f64
def rgamma(x: Any) -> Any:
    """1 / gamma(x), 0 where gamma is infinite."""
    whole = _is_pole(x)
    return where(whole, 0.0, 1.0 / gamma(where(whole, 1.0, x)))


def _psi_of_positive(x: Any) -> Any:
    low = x < 1.0
    y = call(np.minimum, where(low, x + 1.0, x), _FAR)
    near = (y - _ZERO_OF_PSI - _ZERO_REST) * polynomial(_mapped(y, math.sqrt(8)), _DIGAMMA)
    near = near - where(low, 1.0 / where(x == 0.0, 1.0, x), 0.0)
    z = call(np.maximum, x, _FAR)
    inverse = 1.0 / z
    square = inverse * inverse
    far = apply("log", z) - 0.5 * inverse - square * polynomial(square, _STIRLING_PSI)
    return where(x < _FAR, near, far)


@special("digamma", "psi")
@in_f64
def digamma(x: Any) -> Any:
    """The derivative of log(gamma(x)). NaN at the negative integers, an infinity against the sign of zero at 0."""
    size = call(np.absolute, x)
    right = _psi_of_positive(size)
    whole = call(np.logical_or, _is_pole(x), x == -math.inf)
    safe = where(whole, 0.5, size)
    away = safe - apply("round", safe)
    left = (
        right
        + 1.0 / where(x == 0.0, 1.0, size)
        + math.pi / apply("tan", math.pi * where(away == 0.0, 0.5, away))
    )
    poles = where(x == 0.0, apply("copysign", constant(math.inf, x.dtype), -x), math.nan)
    return where(whole, poles, where(x < 0.0, left, right))
