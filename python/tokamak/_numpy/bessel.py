"""The modified Bessel function I0."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._ops import convert, full, select
from .._registry import implements
from .known import plain
from .ufuncs import call

# Coefficients of Chebyshev polynomials, computed with 50 digits: of exp(-x) I0(x) in x / 4 - 1, and of the same times
# sqrt(x) in 16 / x - 1.
_UP_TO_8 = [
    0.6767952744094761,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
]
_BEYOND_8 = [
    0.8044904110141088,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
]


@implements(np.i0)
@_sharing.gives_array
@_memory_order.makes("K")
def i0(x: Any) -> Any:
    """exp(x) times a series in x up to 8, in 1 / x beyond."""
    array = plain(x)
    array = array if _dtypes.is_float(array.dtype) else convert(array, _dtypes.FLOAT64)
    size = call(np.absolute, array)
    is_small = call(np.less_equal, size, 8.0)
    near = _chebyshev(size / 2.0 - 2.0, _UP_TO_8)
    beyond = select(is_small, full(size.shape, 8, size.dtype), size)
    far = _chebyshev(32.0 / beyond - 2.0, _BEYOND_8) / call(np.sqrt, beyond)
    return call(np.exp, size) * select(is_small, near, far)


def _chebyshev(doubled: Any, coefficients: list[float]) -> Any:
    """Half of the first coefficient and the sum of the others times Chebyshev polynomials of doubled / 2, by Clenshaw's
    recurrence."""
    before = after = full(doubled.shape, 0, doubled.dtype)
    last = full(doubled.shape, coefficients[-1], doubled.dtype)
    for coefficient in coefficients[-2::-1]:
        last, before, after = doubled * last - before + coefficient, last, before
    return 0.5 * (last - after)
