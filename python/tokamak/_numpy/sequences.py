"""Functions along one axis in which the order of the elements counts."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserIndexError, UserTypeError, UserValueError, fail
from .._ops import (
    apply,
    as_array,
    broadcast,
    constant,
    convert,
    full,
    iota,
    is_number,
    reshape,
    reverse,
    select,
    slice_axis,
)
from .._registry import implements
from .contractions import dot, sliding_window_view
from .joining import common_dtype, concatenate
from .known import known, part, plain
from .reductions import any_, axes_of, axis_of, cumprod, cumsum, sum_
from .ufuncs import call

# ---------------------------------------------------------------------------------------------------------------------
# Differences


@implements(np.diff)
@_sharing.may_be_argument
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = plain(a)
    if n == 0:
        return x
    if n < 0:
        fail(UserValueError, f"order must be non-negative but got {n}")
    if x.ndim == 0:
        fail(UserValueError, "diff requires input that is at least one dimensional")
    place = axis_of(x, axis)
    parts = [x]
    if prepend is not None:
        parts.insert(0, _edge(x, prepend, place))
    if append is not None:
        parts.append(_edge(x, append, place))
    x = concatenate(parts, place)
    operation = np.not_equal if x.dtype.kind == "b" else np.subtract
    for _ in range(n):
        x = call(operation, part(x, place, 1, None), part(x, place, None, -1))
    return x


def _edge(x: Any, end: Any, axis: int) -> Any:
    edge = plain(end)
    return edge if edge.ndim else broadcast(edge, [1 if i == axis else n for i, n in enumerate(x.shape)])


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = plain(ary)
    x = reshape(x, [x.size])
    parts = [call(np.subtract, part(x, 0, 1, None), part(x, 0, None, -1))]
    for name, end, place in (("to_begin", to_begin, 0), ("to_end", to_end, len(parts) + 1)):
        if end is None:
            continue
        given = plain(end)
        if not np.can_cast(given.dtype, x.dtype, "same_kind"):
            fail(
                UserTypeError,
                f"dtype of `{name}` must be compatible with input `ary` under the same_kind rule",
            )
        parts.insert(place, convert(reshape(given, [given.size]), x.dtype))
    return concatenate(parts)


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    values = plain(y)
    place = axis_of(values, axis)
    width = dx
    if x is not None:
        points = plain(x)
        width = diff(points, axis=-1 if points.ndim == 1 else axis)
        if points.ndim == 1:
            width = reshape(width, [width.size if i == place else 1 for i in range(values.ndim)])
    pairs = call(np.add, part(values, place, 1, None), part(values, place, None, -1))
    # NumPy divides each area by two before it sums.
    return sum_(call(np.true_divide, call(np.multiply, width, pairs), 2.0), place)


@implements(np.gradient)
@_memory_order.makes("K")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = plain(f)
    axes = range(x.ndim) if axis is None else _axes_in_order(x, axis)
    if edge_order > 2:
        fail(UserValueError, "'edge_order' greater than 2 not supported")
    spacings = _spacings(x, varargs, list(axes))
    dtype = x.dtype if _dtypes.is_float(x.dtype) else _dtypes.FLOAT64
    results = []
    for place, spacing in zip(axes, spacings, strict=True):
        if x.shape[place] < edge_order + 1:
            fail(
                UserValueError,
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
                "required.",
            )
        if x.dtype.kind == "b" and (edge_order == 1 or np.ndim(spacing) == 0):
            fail(UserTypeError, "np.gradient: there is no difference of bool; use astype")
        results.append(_slope(convert(x, dtype), place, spacing, edge_order, dtype))
    return results[0] if len(results) == 1 else tuple(results)


def _axes_in_order(x: Any, axis: Any) -> list[int]:
    axes_of(x, axis)  # raises where there is no such axis
    return [axis_of(x, one) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]


def _spacings(x: Any, given: tuple[Any, ...], axes: list[int]) -> list[Any]:
    """For each axis a number, or the distances between neighbours."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        fail(UserTypeError, "invalid number of arguments")
    return [_distances(x.shape[place], one) for place, one in zip(axes, given, strict=True)]


def _distances(extent: int, points: Any) -> Any:
    if np.ndim(points) == 0:
        return points
    elements = known(points)
    values = plain(points) if elements is None else elements
    if values.ndim != 1:
        fail(UserValueError, "distances must be either scalars or 1d")
    if values.shape[0] != extent:
        fail(UserValueError, "when 1d, distances must match the length of the corresponding dimension")
    if extent < 2:
        fail(UserIndexError, f"np.gradient: {extent} points have no distances")
    if values.dtype.kind in "iu":
        values = values.astype(np.float64)
    if elements is None:
        return diff(values)
    steps = np.diff(values)
    # Points at equal distances, as far as they are known, are handled as a number is.
    return steps[0] if (steps == steps[0]).all() else steps


def _slope(x: Any, axis: int, spacing: Any, edge_order: int, dtype: np.dtype[Any]) -> Any:
    even = np.ndim(spacing) == 0

    def at(start: int | None, stop: int | None) -> Any:
        return part(x, axis, start, stop)

    def along(values: Any) -> Any:
        return values.reshape([-1 if i == axis else 1 for i in range(x.ndim)])

    if even:
        inner = (at(2, None) - at(None, -2)) / (2.0 * spacing)
    else:
        near, far = spacing[:-1], spacing[1:]
        a = along(-far / (near * (near + far)))
        b = along((far - near) / (near * far))
        c = along(near / (far * (near + far)))
        inner = a * at(None, -2) + b * at(1, -1) + c * at(2, None)
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / (spacing if even else spacing[0])
        last = (at(-1, None) - at(-2, -1)) / (spacing if even else spacing[-1])
    else:
        first, last = _second_order_ends(x, axis, spacing, even)
    return concatenate([convert(piece, dtype) for piece in (first, inner, last)], axis)


def _second_order_ends(x: Any, axis: int, spacing: Any, even: bool) -> tuple[Any, Any]:
    def weighted(weights: tuple[Any, Any, Any], start: int) -> Any:
        a, b, c = weights
        count = x.shape[axis]
        one, two, three = (
            slice_axis(x, axis, (start + i) % count, (start + i) % count + 1) for i in range(3)
        )
        return a * one + b * two + c * three

    if even:
        low = -1.5 / spacing, 2.0 / spacing, -0.5 / spacing
        high = 0.5 / spacing, -2.0 / spacing, 1.5 / spacing
        return weighted(low, 0), weighted(high, -3)
    near, far = spacing[0], spacing[1]
    low = (
        -(2.0 * near + far) / (near * (near + far)),
        (near + far) / (near * far),
        -near / (far * (near + far)),
    )
    near, far = spacing[-2], spacing[-1]
    high = (
        far / (near * (near + far)),
        -(far + near) / (near * far),
        (2.0 * far + near) / (far * (near + far)),
    )
    return weighted(low, 0), weighted(high, -3)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    x = plain(p)
    place = axis_of(x, axis)
    steps = diff(x, axis=place)
    kinds = [steps, period if is_number(period) else plain(period)]
    dtype = common_dtype(kinds)
    limit = period / 2 if discont is None else discont
    if _dtypes.is_integer(dtype):
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    wrapped = call(np.add, call(np.remainder, call(np.subtract, steps, low), period), low)
    if ambiguous:
        upward = call(np.logical_and, call(np.equal, wrapped, low), call(np.greater, steps, 0))
        wrapped = select(upward, convert(as_array(high), wrapped.dtype), wrapped)
    correction = call(np.subtract, wrapped, steps)
    small = call(np.less, call(np.absolute, steps), limit)
    correction = select(small, constant(0, correction.dtype), correction)
    rest_of_x = call(np.add, part(x, place, 1, None), cumsum(correction, place))
    return concatenate([convert(part(x, place, 0, 1), dtype), convert(rest_of_x, dtype)], place)


# ---------------------------------------------------------------------------------------------------------------------
# Running sums


def _cumulative(
    function: Any, x: Any, axis: Any, dtype: Any, include_initial: bool, out: Any, neutral: int
) -> Any:
    array = plain(x)
    array = reshape(array, [1]) if array.ndim == 0 else array
    if axis is None:
        if array.ndim != 1:
            fail(
                UserValueError, "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    place = axis_of(array, axis)
    result = function(array, place, dtype, out)
    if not include_initial:
        return result
    start = full([1 if i == place else n for i, n in enumerate(result.shape)], neutral, result.dtype)
    return concatenate([start, result], place)


@implements(np.cumulative_sum)
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False, out: Any = None
) -> Any:
    return _cumulative(cumsum, x, axis, dtype, include_initial, out, 0)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False, out: Any = None
) -> Any:
    return _cumulative(cumprod, x, axis, dtype, include_initial, out, 1)


# ---------------------------------------------------------------------------------------------------------------------
# Sliding products


def _one_axis(what: str, value: Any) -> Any:
    x = plain(value)
    if x.ndim > 1:
        fail(UserValueError, f"{what}: {x._type_text} has more than one axis")
    if x.size == 0:
        fail(UserValueError, f"{what}: {x._type_text} is empty")
    return reshape(x, [x.size])


def _slide(what: str, x: Any, taps: Any, mode: str) -> Any:
    """The sums of products of `taps` with what lies under them while they slide over x, which is as long at least."""
    if mode not in ("full", "same", "valid"):
        fail(UserValueError, f"{what}: mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    dtype = common_dtype([x, taps])
    x, taps = convert(x, dtype), convert(taps, dtype)
    count = taps.size
    inner = dot(sliding_window_view(x, count), taps)
    if mode == "valid" or count == 1:
        return inner
    left = count - 1 if mode == "full" else count // 2
    right = count - 1 if mode == "full" else count - count // 2 - 1
    parts = [_overhang(part(x, 0, None, count - 1), taps, left), inner]
    if right:
        # The other end is the same, seen from behind.
        end = _overhang(reverse(part(x, 0, 1 - count, None), [0]), reverse(taps, [0]), right)
        parts.append(reverse(end, [0]))
    return concatenate(parts)


def _overhang(start: Any, taps: Any, count: int) -> Any:
    """The last `count` sums of which the first taps lie before the start of x. They take no part, whatever they are."""
    length = taps.size - 1
    zero = constant(0, start.dtype)
    padded = apply("pad", start, zero, low=[count], high=[max(length - start.size, 0)], interior=[0])
    windows = sliding_window_view(part(padded, 0, None, count + length), taps.size)
    # Window i begins count - i places before the start.
    shape = list(windows.shape)
    outside = call(np.less, iota(shape, 0, _dtypes.INT64) + iota(shape, 1, _dtypes.INT64), count)
    products = call(np.multiply, windows, taps)
    return convert(sum_(select(outside, zero, products), 1, start.dtype), start.dtype)


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    x, taps = _one_axis("np.convolve", a), _one_axis("np.convolve", v)
    if taps.size > x.size:
        x, taps = taps, x
    return _slide("np.convolve", x, reverse(taps, [0]), mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    x, taps = _one_axis("np.correlate", a), _one_axis("np.correlate", v)
    if x.size < taps.size:
        return reverse(_slide("np.correlate", taps, x, mode), [0])
    return _slide("np.correlate", x, taps, mode)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers between two others


def linspace_along(
    start: Any,
    stop: Any,
    count: int,
    axis: int,
    dtype: np.dtype[Any] | None,
    endpoint: bool = False,
) -> Any:
    """`count` values from start on along an axis of extent 1 of stop, by NumPy's order of operations."""
    return _spaced(start, stop, count, axis, dtype, endpoint)[0]


def _spaced(
    start: Any, stop: Any, count: int, axis: int, dtype: np.dtype[Any] | None, endpoint: bool
) -> tuple[Any, Any]:
    kinds = [value if is_number(value) else as_array(value) for value in (start, stop)]
    common = common_dtype([*kinds, 1.0])
    low, high = (constant(value, common) if is_number(value) else convert(value, common) for value in kinds)
    delta = call(np.subtract, high, low)
    shape = [count if i == axis else 1 for i in range(max(delta.ndim, 1))]
    places = iota(shape, axis, common)
    intervals = count - 1 if endpoint else count
    step = delta / float(intervals) if intervals > 0 else constant(math.nan, common)
    if intervals > 0:
        # A step so small that it is zero must not lose the way to the stop.
        by_share = (places / float(intervals)) * delta
        values = select(any_(call(np.equal, step, 0)), by_share, places * step)
    else:
        values = places * delta
    values = values + low
    if endpoint and count > 1:
        last = broadcast(high, [1 if i == axis else n for i, n in enumerate(values.shape)])
        values = concatenate([part(values, axis, None, -1), last], axis)
    wanted = common if dtype is None else dtype
    if _dtypes.is_integer(wanted):
        values = call(np.floor, values)
    return convert(values, wanted), step


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    if num < 0:
        fail(UserValueError, f"Number of samples, {num}, must be non-negative.")
    start, stop = (value if is_number(value) else as_array(value) for value in (start, stop))
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop))
    # A new axis in front, which is moved to its place at the end.
    low, high = (
        value if is_number(value) else reshape(value, [*[1] * (len(shape) + 1 - value.ndim), *value.shape])
        for value in (start, stop)
    )
    values, step = _spaced(low, high, num, 0, None if dtype is None else _dtypes.check(dtype), endpoint)
    values = np.moveaxis(values, 0, axis) if axis != 0 else values
    if not retstep:
        return values
    return values, reshape(step, shape) if step.size > 1 or step.ndim else convert(step, _dtypes.FLOAT64)


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    if np.ndim(base):
        shape = np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base))
        start, stop, base = (np.broadcast_to(as_array(value), shape) for value in (start, stop, base))
        base = np.expand_dims(base, axis)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = call(np.power, base, exponents)
    return result if dtype is None else result.astype(dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Both ends have one sign, which is that of all; what they are is exact."""
    low, high = plain(start), plain(stop)
    for end in (start, stop):
        elements = known(end)
        if elements is not None and (elements == 0).any():
            fail(UserValueError, "Geometric sequence cannot include zero")
    given = _dtypes.check(float if dtype is None else dtype)
    wanted = common_dtype([low, high, full([], 0, given), 0.0])
    low, high = (
        np.broadcast_to(convert(one, wanted), np.broadcast_shapes(low.shape, high.shape))
        for one in (low, high)
    )
    sign = call(np.sign, low)
    first, last = call(np.divide, low, sign), call(np.divide, high, sign)
    values = logspace(call(np.log10, first), call(np.log10, last), num, endpoint, 10.0)
    if num > 0:
        ends = [np.expand_dims(first, 0), part(values, 0, 1, None)]
        if num > 1 and endpoint:
            ends = [ends[0], part(values, 0, 1, -1), np.expand_dims(last, 0)]
        values = concatenate([convert(one, values.dtype) for one in ends], 0)
    values = values * sign
    values = np.moveaxis(values, 0, axis) if axis != 0 else values
    return values.astype(wanted if dtype is None else dtype)
