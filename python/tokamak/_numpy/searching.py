"""Functions that look elements up: in sorted arrays, in tables, among others."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserTypeError, UserValueError, fail
from .._ops import (
    apply,
    as_array,
    broadcast,
    broadcast_shapes,
    constant,
    convert,
    iota,
    reshape,
    reverse,
    select,
)
from .._registry import implements
from .elementwise import kept_number, wrapped
from .indexing import take
from .joining import common_dtype, concatenate
from .known import known, part, plain
from .reductions import any_, sum_
from .shapes import shape_of
from .ufuncs import call

#: In a sorted array as short as this, comparing with every element is faster than looking for the place.
_FEW = 32


def _before(x: Any, y: Any, or_equal: bool) -> Any:
    """x < y (or x <= y) in the order of sorted arrays, which have NaN at the end."""
    result = apply("le" if or_equal else "lt", x, y)
    if not _dtypes.is_float(x.dtype):
        return result
    beyond = apply("is_nan", y)
    if not or_equal:
        beyond = apply("bit_and", beyond, apply("bit_not", apply("is_nan", x)))
    return apply("bit_or", result, beyond)


def _places(sorted_: Any, values: Any, or_equal: bool) -> Any:
    """How many elements of a sorted array are before (or equal to) each value, which has the same dtype."""
    count = sorted_.size
    table = _Cells.of(known(sorted_))
    if table is not None:
        return convert(table.places(sorted_, values, or_equal), _dtypes.INT64)
    if count <= _FEW:
        wide = reshape(values, [*values.shape, 1])
        return sum_(_before(broadcast(sorted_, [*[1] * values.ndim, count]), wide, or_equal), -1)
    # All before `place` are known to be before the value, and none after the next `left`.
    dtype = _dtypes.INT32 if count < 1 << 30 else _dtypes.INT64
    place, left = constant(0, dtype), count
    while left:
        half = (left + 1) // 2
        probe = apply("add", place, constant(half - 1, dtype))
        element = apply("gather", sorted_, probe, axis=0, mode="clamp")
        further = apply("le" if or_equal else "lt", element, values)
        place = select(further, apply("add", place, constant(half, dtype)), place)
        left -= half
    if _dtypes.is_float(values.dtype):  # NaN is after all numbers, and equal to itself
        numbers = constant(count, dtype) if or_equal else convert(sum_(apply("eq", sorted_, sorted_)), dtype)
        place = select(apply("is_nan", values), numbers, place)
    return convert(broadcast(place, values.shape), _dtypes.INT64)


class _Cells:
    """A sorted array that is known, cut into cells of equal width: from the cell of a value, a table tells how many elements are in
    earlier cells, and few are left to compare with. The cell of a value never decreases with the value, so rounding does no harm.
    """

    _MOST = 4096  # cells
    _FEW_STEPS = 2

    def __init__(self, first: float, scale: float, before: np.ndarray, steps: int) -> None:
        self.first, self.scale = first, scale
        self.before = before  # elements in earlier cells
        self.steps = steps  # elements in one cell, at most

    @classmethod
    def of(cls, elements: np.ndarray | None) -> _Cells | None:
        """None where the elements are not known, are too few or too many, or lie too densely in some place."""
        if elements is None or not 8 < elements.size <= cls._MOST // 2:
            return None
        points = elements.astype(np.float64)
        with np.errstate(all="ignore"):
            width = points[-1] - points[0]
            if not (np.isfinite(points).all() and 0 < width < np.inf) or (np.diff(points) < 0).any():
                return None
            best = None
            cells = 1 << points.size.bit_length()
            while cells <= cls._MOST and (best is None or best.steps > cls._FEW_STEPS):
                table = cls._cut(points, cells, cells / width)
                if table is not None and (best is None or table.steps < best.steps):
                    best = table
                cells *= 2
        worth = best is not None and best.steps + 2 < points.size.bit_length()
        return best if worth else None

    @classmethod
    def _cut(cls, points: np.ndarray, cells: int, scale: float) -> _Cells | None:
        if not np.isfinite(scale):
            return None
        cell = np.clip((points - points[0]) * scale, 0, cells - 1).astype(np.int64)
        inside = np.bincount(cell, minlength=cells)
        return cls(float(points[0]), float(scale), np.cumsum(inside) - inside, int(inside.max()))

    def places(self, sorted_: Any, values: Any, or_equal: bool) -> Any:
        wide = convert(values, _dtypes.FLOAT64)
        scale = constant(self.scale, _dtypes.FLOAT64)
        cell = apply("mul", apply("sub", wide, constant(self.first, _dtypes.FLOAT64)), scale)
        last = constant(len(self.before) - 1, _dtypes.FLOAT64)
        cell = apply("clamp", constant(0.0, _dtypes.FLOAT64), cell, last)
        before = as_array(self.before.astype(np.int32))
        place = apply("gather", before, convert(cell, _dtypes.INT32), axis=0, mode="clamp")
        count, one = constant(sorted_.size, _dtypes.INT32), constant(1, _dtypes.INT32)
        for _ in range(self.steps):
            element = apply("gather", sorted_, place, axis=0, mode="clamp")
            further = apply("le" if or_equal else "lt", element, values)
            further = apply("bit_and", further, apply("lt", place, count))
            place = select(further, apply("add", place, one), place)
        if _dtypes.is_float(values.dtype):  # which is after all numbers
            place = select(apply("is_nan", values), count, place)
        return place


@implements(np.searchsorted)
@_memory_order.makes("C")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    x, values = plain(a), plain(v)
    if x.ndim != 1:
        fail(UserValueError, f"np.searchsorted: {x._type_text} must have one axis")
    if side not in ("left", "right", "l", "r"):
        fail(UserValueError, f"search side must be one of 'left' or 'right' (got {side!r})")
    if sorter is not None:
        x = take(x, sorter)
    dtype = np.result_type(x.dtype, values.dtype)
    return _places(convert(x, dtype), convert(values, dtype), side.startswith("r"))


@implements(np.digitize)
@_memory_order.makes("C")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Rising or falling edges. Where they are computed, their ends tell which."""
    edges = plain(bins)
    if edges.ndim != 1:
        fail(UserValueError, f"np.digitize: bins of {edges._type_text} must have one axis")
    side = "left" if right else "right"
    elements = known(bins)
    if elements is not None:
        if (elements[:-1] <= elements[1:]).all():
            return searchsorted(edges, x, side)
        if not (elements[:-1] >= elements[1:]).all():
            fail(UserValueError, "bins must be monotonically increasing or decreasing")
        return edges.size - searchsorted(reverse(edges, [0]), x, side)
    rising = searchsorted(edges, x, side)
    if edges.size < 2:
        return rising
    falling = edges.size - searchsorted(reverse(edges, [0]), x, side)
    return select(call(np.less_equal, edges[0], edges[-1]), rising, falling)


@implements(np.interp)
@_memory_order.makes("C")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    at, points, values = (convert(plain(one), _dtypes.FLOAT64) for one in (x, xp, fp))
    if points.ndim != 1 or values.ndim != 1:
        fail(UserValueError, "Data points must be 1-D sequences")
    if points.size == 0:
        fail(UserValueError, "array of sample points is empty")
    if points.size != values.size:
        fail(UserValueError, "fp and xp are not of the same length.")
    if period is not None:
        at, points, values = _in_one_period(at, xp, values, period)
        left = right = None
    count = points.size
    low, high = (
        edge if given is None else convert(as_array(given), _dtypes.FLOAT64)
        for given, edge in ((left, values[0]), (right, values[-1]))
    )
    below, above = apply("lt", at, points[0]), apply("gt", at, points[-1])
    if count == 1:  # NumPy compares with the only point: what is not a number is at it
        return select(below, low, select(above, high, values[0]))
    result = select(below, low, select(above, high, _between(at, points, values)))
    return select(apply("is_nan", at), at, result)


def _between(at: Any, points: Any, values: Any) -> Any:
    """On the line from the point at or before to the next one, in NumPy's order of operations."""
    last = constant(points.size - 1, _dtypes.INT64)
    place = _places(points, at, True) - 1

    def lookup(table: Any, index: Any) -> Any:
        return apply("gather", table, index, axis=0, mode="clamp")

    x0, x1 = lookup(points, place), lookup(points, place + 1)
    y0, y1 = lookup(values, place), lookup(values, place + 1)
    slope = (y1 - y0) / (x1 - x0)
    result = slope * (at - x0) + y0
    # From the other end where infinities have met; and a flat line is flat, however long.
    result = select(apply("is_nan", result), slope * (at - x1) + y1, result)
    flat = apply("bit_and", apply("is_nan", result), apply("eq", y0, y1))
    result = select(flat, y0, result)
    exact = apply("bit_or", apply("eq", at, x0), apply("eq", place, last))
    return select(exact, y0, result)


def _in_one_period(at: Any, xp: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    if period == 0:
        fail(UserValueError, "period must be a non-zero value")
    period = abs(period)
    elements = known(xp)
    points = convert(plain(xp), _dtypes.FLOAT64) if elements is None else np.asarray(elements, np.float64)
    wrapped = points % period
    order = np.argsort(wrapped, stable=True)
    wrapped, values = np.take(wrapped, order), take(values, order)
    points = np.concatenate([wrapped[-1:] - period, wrapped, wrapped[:1] + period])
    values = concatenate([part(values, 0, -1, None), values, part(values, 0, 0, 1)])
    return call(np.remainder, at, period), as_array(points), values


@implements(np.isin)
@_sharing.gives_array
@_memory_order.makes("C")
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    if kind not in (None, "sort", "table"):
        fail(UserValueError, f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    x, tests = plain(element), plain(test_elements)
    elements = known(test_elements)
    if elements is not None and elements.size > _FEW:
        found = _is_among(x, np.unique(elements))
    else:
        wide = reshape(x, [*x.shape, 1])
        found = any_(call(np.equal, wide, reshape(tests, [tests.size])), -1)
    return apply("bit_not", found) if invert else found


def _is_among(x: Any, sorted_: np.ndarray) -> Any:
    dtype = np.result_type(x.dtype, sorted_.dtype)
    table, values = as_array(sorted_.astype(dtype)), convert(x, dtype)
    place = _places(table, values, False)
    return apply("eq", apply("gather", table, place, axis=0, mode="clamp"), values)


@implements(np.choose)
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    index = plain(a)
    if index.dtype.kind not in "biu":
        fail(UserTypeError, f"np.choose: indices of {index._type_text} must be integers")
    if index.dtype == _dtypes.UINT64:
        fail(UserTypeError, "np.choose: indices of u64 do not fit into i64; use astype")
    if mode not in ("raise", "wrap", "clip"):
        fail(UserValueError, f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    given = [kept_number(choice) for choice in choices]
    if not given:
        fail(UserValueError, "np.choose: there is nothing to choose from")
    dtype = common_dtype(given)
    listed = [wrapped(one, dtype) for one in given]
    shape = broadcast_shapes("np.choose", [index.shape, *[one.shape for one in listed]])
    table = concatenate([reshape(broadcast(one, shape), [_size(shape)]) for one in listed])
    count, size = len(listed), _size(shape)
    elements = known(a)
    if mode == "raise" and elements is not None and ((elements < 0) | (elements >= count)).any():
        fail(UserValueError, "invalid entry in choice array")
    index = convert(index, _dtypes.INT64)
    end = constant(count, _dtypes.INT64)
    if mode == "wrap":
        index = apply("mod", index, end)
    elif mode == "clip":
        index = call(np.minimum, call(np.maximum, index, 0), count - 1)
    within = reshape(iota([size], 0, _dtypes.INT64), shape)
    place = broadcast(index, shape) * size + within
    if mode == "raise":
        # A place outside of the table fails when the program runs.
        place = select(apply("lt", index, constant(0, _dtypes.INT64)), constant(-1, _dtypes.INT64), place)
    return apply("gather", table, place, axis=0, mode="check" if mode == "raise" else "clamp")


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


@implements(np.piecewise)
@_sharing.gives_array
@_memory_order.makes("K")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Functions are called with all elements; the conditions decide which results are kept."""
    array = plain(x)
    if np.isscalar(condlist) or (plain(condlist[0]).ndim == 0 and array.ndim):
        condlist = [condlist]
    conditions = [convert(plain(one), _dtypes.BOOL) for one in condlist]
    if len(funclist) == len(conditions) + 1:
        some = any_(
            concatenate([reshape(broadcast(c, array.shape), [1, *array.shape]) for c in conditions]), 0
        )
        conditions.append(apply("bit_not", some))
    elif len(funclist) != len(conditions):
        fail(
            UserValueError,
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are "
            "expected",
        )
    result = broadcast(constant(0, array.dtype), array.shape)
    for condition, function in zip(conditions, funclist, strict=True):
        value = function(array, *args, **kw) if callable(function) else function
        result = select(condition, convert(as_array(value), array.dtype), result)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Places in arrays of a known shape


def _inside(index: Any, extent: int) -> Any:
    """The index, when it is in range: another one fails, here or when the program runs."""
    elements = known(index)
    if elements is not None:
        if ((elements < 0) | (elements >= extent)).any():
            fail(UserValueError, f"an index is out of bounds for an array of {extent} elements")
        return index
    places = iota([extent], 0, _dtypes.INT64)
    return apply("gather", places, index, axis=0, mode="check")


def _integers(what: str, value: Any) -> Any:
    x = plain(value)
    if not _dtypes.is_integer(x.dtype):
        fail(UserTypeError, f"{what}: indices of {x._type_text} must be integers")
    return convert(x, _dtypes.INT64)


def _ordered(what: str, extents: list[int], order: str) -> list[int]:
    """The axes from the one in which neighbours are next to each other."""
    if order not in ("C", "F"):
        fail(UserValueError, f"{what}: only 'C' or 'F' order is permitted")
    return list(range(len(extents)))[:: -1 if order == "C" else 1]


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    extents = shape_of(shape)
    rest = _inside(_integers("np.unravel_index", indices), _size(tuple(extents)))
    found: dict[int, Any] = {}
    for axis in _ordered("np.unravel_index", extents, order):
        found[axis] = call(np.remainder, rest, extents[axis])
        if len(found) < len(extents):
            rest = call(np.floor_divide, rest, extents[axis])
    return tuple(found[axis] for axis in range(len(extents)))


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    extents = shape_of(dims)
    parts = [_integers("np.ravel_multi_index", one) for one in multi_index]
    if len(parts) != len(extents):
        fail(UserValueError, f"parameter multi_index must be a sequence of length {len(extents)}")
    modes = [mode] * len(extents) if isinstance(mode, str) else list(mode)
    place: Any = 0
    stride = 1
    for axis in _ordered("np.ravel_multi_index", extents, order):
        index, extent = parts[axis], extents[axis]
        if modes[axis] == "wrap":
            index = call(np.remainder, index, extent)
        elif modes[axis] == "clip":
            index = call(np.minimum, call(np.maximum, index, 0), extent - 1)
        else:
            index = _inside(index, extent)
        place = call(np.add, place, call(np.multiply, index, stride))
        stride *= extent
    return place
