"""Reductions of x[mask] that are not sums: of the elements under a mask, without knowing how many there are.

All take the elements, a mask of their shape, and the axes to go along, which are all of them or those of the mask.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes
from .._ops import apply, as_array, checked, constant, convert, iota, reshape, select
from .._registry import TABLE
from . import matrices, reductions, ufuncs
from .elementwise import where as choose


def _limit(dtype: Any, sign: int) -> Any:
    if dtype.kind == "b":
        return sign > 0
    if _dtypes.is_float(dtype):
        return sign * np.inf
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """An element that is at the other end does not count, so that is put for those that are left out."""

    def reduced(x: Any, mask: Any, axes: tuple[int, ...]) -> Any:
        filled = select(mask, x, as_array(np.array(_limit(x.dtype, sign), x.dtype)))
        found = TABLE[function](filled, axis=axes)
        return checked(found, reductions.any_(mask), "check_empty")

    return reduced


_largest, _smallest = _extreme(np.max, -1), _extreme(np.min, 1)


def _range(x: Any, mask: Any, axes: tuple[int, ...]) -> Any:
    return ufuncs.call(np.subtract, _largest(x, mask, axes), _smallest(x, mask, axes))


def _position(extreme: Callable[..., Any]) -> Callable[..., Any]:
    """How many elements under the mask come before the first that is the extreme one."""

    def found(x: Any, mask: Any, axes: tuple[int, ...]) -> Any:
        x, mask = reshape(x, [x.size]), reshape(mask, [x.size])
        most = extreme(x, mask, (0,))
        is_it = ufuncs.call(np.equal, x, most)
        if _dtypes.is_float(x.dtype):
            is_it = ufuncs.call(np.logical_or, is_it, ufuncs.call(np.logical_and, x != x, most != most))
        first = reductions.argmax(ufuncs.call(np.logical_and, is_it, mask))
        before = ufuncs.call(np.logical_and, mask, apply("lt", iota([x.size], 0, _dtypes.INT64), first))
        return reductions.sum_(before, dtype=np.int64)

    return found


_MEDIAN = np.nanmedian  # of nothing is NaN; NumPy has no other quantile of it


def _without_others(function: Callable[..., Any]) -> Callable[..., Any]:
    """Quantiles: NaN stands for what is left out, unless there is one among the elements."""

    def reduced(x: Any, mask: Any, axes: tuple[int, ...], *args: Any, **options: Any) -> Any:
        if not _dtypes.is_float(x.dtype):
            x = convert(x, _dtypes.FLOAT64)
        kept = choose(mask, x, np.nan)
        found = TABLE[function](kept, *args, axis=axes, **options)
        spoiled = reductions.any_(ufuncs.call(np.logical_and, mask, ufuncs.call(np.isnan, x)), axis=axes)
        found = choose(spoiled, np.nan, found)
        return found if function is _MEDIAN else checked(found, reductions.any_(mask), "check")

    return reduced


def _count(x: Any, mask: Any, axes: tuple[int, ...]) -> Any:
    return reductions.sum_(ufuncs.call(np.logical_and, mask, x != 0), axis=axes, dtype=np.int64)


def _norm(x: Any, mask: Any, axes: tuple[int, ...]) -> Any:
    return matrices.norm(select(mask, x, constant(0, x.dtype)))


#: What of x[mask] -> how; `whole` are those that only go along all axes
REDUCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.max: _largest,
    np.amax: _largest,
    np.min: _smallest,
    np.amin: _smallest,
    np.ptp: _range,
    np.argmax: _position(_largest),
    np.argmin: _position(_smallest),
    np.median: _without_others(np.nanmedian),
    np.percentile: _without_others(np.nanpercentile),
    np.quantile: _without_others(np.nanquantile),
    np.count_nonzero: _count,
    np.linalg.norm: _norm,
}
#: Those that go along all axes only
WHOLE = (np.argmax, np.argmin, np.linalg.norm)
#: Those that take more than the elements: how many more
MORE = {np.percentile: 1, np.quantile: 1}
