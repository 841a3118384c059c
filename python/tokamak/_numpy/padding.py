"""np.pad in all its modes: each axis is extended in turn, so that later axes fill the corners."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserTypeError, UserValueError, fail, unsupported
from .._ops import (
    apply,
    as_array,
    broadcast,
    convert,
    full,
    is_array,
    is_number,
    reshape,
    slice_axis,
    stored,
)
from .._registry import implements
from . import quantiles, reductions
from .elementwise import round_
from .joining import concatenate
from .known import at_places, known, part, plain
from .sequences import linspace_along

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.max_,
    "minimum": reductions.min_,
    "mean": reductions.mean,
    "median": quantiles.median,
}
_KEYWORDS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


@implements(np.pad)
@_sharing.gives_array
@_memory_order.makes("A")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    x = plain(array)
    widths = _widths(x, pad_width)
    if callable(mode):
        return _pad_by(mode, x, widths, options)
    if mode not in _KEYWORDS:
        fail(UserValueError, f"np.pad: mode {mode!r} is not supported")
    if wrong := set(options) - _KEYWORDS[mode]:
        fail(UserValueError, f"unsupported keyword arguments for mode {mode!r}: {wrong}")
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, options.get("constant_values", 0))
    for axis, pair in enumerate(widths):
        if x.shape[axis] == 0 and any(pair):
            fail(
                UserValueError,
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'",
            )
    if mode == "linear_ramp":
        return _pad_ramp(x, widths, _pairs(options.get("end_values", 0), x.ndim))
    if mode in _STATISTICS:
        return _pad_statistic(x, widths, mode, options.get("stat_length"))
    if options.get("reflect_type", "even") == "odd":
        for axis, (left, right) in enumerate(widths):
            x = _extended_odd(x, axis, left, right, mode == "symmetric")
        return x
    for axis, pair in enumerate(widths):
        if any(pair):
            x = at_places(x, np.pad(np.arange(x.shape[axis]), pair, mode=mode), axis)
    return x


def _pad_by(fill: Callable[..., Any], x: Any, widths: list[tuple[int, int]], options: dict[str, Any]) -> Any:
    """By a function that writes to every row of what is padded with zeros, along one axis after the other."""
    padded: Any = _sharing.fresh(_pad_constant(x, widths, 0))
    for axis, width in enumerate(widths):
        rows = np.moveaxis(padded, axis, -1)
        for row in np.ndindex(*rows.shape[:-1]):
            fill(rows[row], width, axis, options)
    return padded


def _widths(x: Any, pad_width: Any) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        given = np.zeros((x.ndim, 2), int)
        for axis, width in pad_width.items():
            given[axis] = width
    else:
        given = np.asarray(pad_width)
    if given.dtype.kind not in "iu":
        fail(UserTypeError, "`pad_width` must be of integral type.")
    if (given < 0).any():
        fail(UserValueError, "index can't contain negative values")
    try:
        return [(low, high) for low, high in np.broadcast_to(given, (x.ndim, 2)).tolist()]
    except ValueError:
        fail(UserValueError, f"np.pad: widths of shape {given.shape} do not fit {x._type_text}")


def _pairs(values: Any, rank: int) -> list[list[Any]]:
    """What is given for each side of each axis: a number for all, a pair for all, or pairs."""
    if is_number(values):
        return [[values, values]] * rank
    elements = known(values)
    if elements is not None:
        given = np.asarray(elements)
        pairs = np.broadcast_to(given, (rank, 2))
        is_for_all = given.size == 1 or (given.size == 2 and given.shape != (2, 1))
        return [list(pair) for pair in pairs] if is_for_all else pairs.tolist()
    every = broadcast(as_array(values), [rank, 2])
    return [[every[axis, side] for side in (0, 1)] for axis in range(rank)]


def _of_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """NumPy makes scalars of what holds for all axes, which wrap in unsigned dtypes; of others it makes Python's numbers, which have
    to fit."""
    if is_array(value) or (isinstance(value, np.generic) and dtype.kind == "u"):
        return convert(as_array(value), dtype)
    return stored(value.item() if isinstance(value, np.generic) else value, dtype)


def _pad_constant(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    if is_number(values):
        values = np.asarray(values)[()]
    if not isinstance(values, (list, tuple)) and np.ndim(values) == 0:
        fill = reshape(_of_dtype(values, x.dtype), [])
        low, high = [left for left, _ in widths], [right for _, right in widths]
        return apply("pad", x, fill, low=low, high=high, interior=[0] * x.ndim)
    for axis, (widths_here, values_here) in enumerate(zip(widths, _pairs(values, x.ndim), strict=True)):
        sides = [
            broadcast(_of_dtype(value, x.dtype), [width if i == axis else n for i, n in enumerate(x.shape)])
            for width, value in zip(widths_here, values_here, strict=True)
        ]
        x = concatenate([sides[0], x, sides[1]], axis)
    return x


def _pad_ramp(x: Any, widths: list[tuple[int, int]], ends: list[list[Any]]) -> Any:
    for axis, ((left, right), (first, last)) in enumerate(zip(widths, ends, strict=True)):
        pieces = [x]
        if left:
            pieces.insert(0, linspace_along(first, part(x, axis, 0, 1), left, axis, x.dtype))
        if right:
            falling = linspace_along(last, part(x, axis, -1, None), right, axis, x.dtype)
            pieces.append(part(falling, axis, None, None, -1))
        x = concatenate(pieces, axis)
    return x


def _pad_statistic(x: Any, widths: list[tuple[int, int]], mode: str, lengths: Any) -> Any:
    every = [[None, None]] * x.ndim if lengths is None else _pairs(lengths, x.ndim)
    for axis, (pair, (first, last)) in enumerate(zip(widths, every, strict=True)):
        extent = x.shape[axis]
        for length in (first, last):
            if length is not None and length < 0:
                fail(UserValueError, "index can't contain negative values")
            if length == 0 and mode != "mean":
                fail(UserValueError, "stat_length of 0 yields no value for padding")
        counts = [extent if length is None else min(round(length), extent) for length in (first, last)]
        regions = slice_axis(x, axis, 0, counts[0]), slice_axis(x, axis, extent - counts[1], extent)
        sides = [
            broadcast(_statistic(mode, region, axis), [w if i == axis else n for i, n in enumerate(x.shape)])
            for region, w in zip(regions, pair, strict=True)
        ]
        x = concatenate([sides[0], x, sides[1]], axis)
    return x


def _statistic(mode: str, region: Any, axis: int) -> Any:
    if region.shape[axis] == 0:
        shape = [1 if i == axis else n for i, n in enumerate(region.shape)]
        return convert(full(shape, np.nan, _dtypes.FLOAT64), region.dtype)
    found = _STATISTICS[mode](region, axis, keepdims=True)
    if _dtypes.is_integer(region.dtype):
        found = round_(found)
    return convert(found, region.dtype)


def _extended_odd(x: Any, axis: int, left: int, right: int, with_edge: bool) -> Any:
    """Turned around the edge by half a circle, again and again until both sides are filled.

    A turn takes whole periods of the original only, so that what is repeated does not depend on the widths.
    """
    period = x.shape[axis]
    if period == 1:
        return at_places(x, np.zeros(left + 1 + right, np.int64), axis) if left or right else x
    while left or right:
        extent = x.shape[axis]
        if with_edge:
            longest, skipped = extent // period * period, 0
        else:
            longest, skipped = (extent - 1) // (period - 1) * (period - 1), 1
        if left:
            count = min(longest, left)
            turned = part(part(x, axis, skipped, skipped + count), axis, None, None, -1)
            x = concatenate([_opposite(part(x, axis, 0, 1), turned), x], axis)
            left -= count
        if right:
            count = min(longest, right)
            end = x.shape[axis] - skipped
            turned = part(part(x, axis, end - count, end), axis, None, None, -1)
            x = concatenate([x, _opposite(part(x, axis, -1, None), turned)], axis)
            right -= count
    return x


def _opposite(edge: Any, values: Any) -> Any:
    if edge.dtype.kind == "b":
        unsupported("np.pad with reflect_type='odd' of bool", "use integers")
    return convert(2 * edge - values, edge.dtype)
