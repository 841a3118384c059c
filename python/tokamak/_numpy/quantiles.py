"""Medians, percentiles and quantiles: elements of sorted arrays, and what lies between them."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _native, _sharing
from .._errors import UserIndexError, UserValueError, fail
from .._ops import apply, broadcast, constant, convert, full, is_array, is_number, reshape, select, transpose
from .._registry import implements
from .known import at_places, known, part, plain
from .reductions import axes_of, cumsum, mean, sum_
from .sorting import along, order_along, sorted_along
from .statistics import nanmean, weights_along
from .ufuncs import call


class _Lines:
    """The elements that each result is of, sorted, along the first axis; the axes that stay come behind it. And their
    weights, if they have some."""

    def __init__(self, x: Any, axis: Any, weights: Any = None) -> None:
        self.shape = x.shape
        self.axes = axes_of(x, axis)
        self.kept = [n for i, n in enumerate(x.shape) if i not in self.axes]
        self.count = math.prod(x.shape[i] for i in self.axes)
        self.has_nans = _dtypes.is_float(x.dtype)
        lines, place = self._along_one_axis(x)
        self._unsorted, self._place = lines, place
        if weights is None:
            self.sorted = self._first(sorted_along(lines, place), place)
        else:
            order = order_along(lines, place)
            self.sorted = self._first(along(lines, order, place), place)
            self.weights = self._first(along(self._along_one_axis(weights)[0], order, place), place)

    def _along_one_axis(self, x: Any) -> tuple[Any, int]:
        """Several axes become one, the last."""
        if len(self.axes) == 1:
            return x, self.axes[0]
        others = [i for i in range(x.ndim) if i not in self.axes]
        merged = reshape(transpose(x, [*others, *self.axes]), [*self.kept, self.count])
        return merged, len(others)

    def _first(self, x: Any, axis: int) -> Any:
        return transpose(x, [axis, *[i for i in range(x.ndim) if i != axis]])

    def without_nans(self, result: Any) -> Any:
        """The result, or NaN where one of the elements is. That is asked of the elements as they were, not of the last one: sorting
        has no need to find that then."""
        if not self.has_nans or self.count == 0:
            return result
        found = apply("reduce_any", apply("is_nan", self._unsorted), axes=[self._place])
        return select(found, constant(math.nan, result.dtype), result)

    def numbers(self) -> Any:
        """How many elements of each line are numbers."""
        return sum_(apply("bit_not", apply("is_nan", self.sorted)), 0)

    def shaped(self, result: Any, keepdims: bool, before: int = 0) -> Any:
        """The result with the axes that NumPy gives it; `before` of them come first."""
        if not keepdims:
            return result
        ones = [1 if i in self.axes else n for i, n in enumerate(self.shape)]
        return _sharing.with_memory(reshape(result, [*result.shape[:before], *ones]))


# ---------------------------------------------------------------------------------------------------------------------
# Medians


@implements(np.median)
def median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    x = plain(a)
    lines = _Lines(x, axis)
    middle = lines.count // 2
    first = middle if lines.count % 2 or not middle else middle - 1
    center = mean(part(lines.sorted, 0, first, middle + 1), 0)
    return lines.shaped(lines.without_nans(center), keepdims)


#: NumPy takes the median of so few as that of a masked array, which lies as the array does
_FEW_FOR_NUMPY = 600


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    x = plain(a)
    if not _dtypes.is_float(x.dtype):
        return median(x, axis, keepdims=keepdims)
    if x.size == 0:
        return nanmean(x, axis, keepdims=keepdims)
    lines = _Lines(x, axis)
    count = lines.numbers()
    wanted = reshape(count, [1, *lines.kept])
    lower = call(np.maximum, wanted - 1, 0) // 2
    pair = np.concatenate([along(lines.sorted, place, 0) for place in (lower, wanted // 2)])
    single = call(np.equal, count % 2, 1)
    center = select(single, convert(pair[0], x.dtype), mean(pair, 0))
    made = lines.shaped(select(call(np.equal, count, 0), constant(math.nan, x.dtype), center), keepdims)
    if keepdims or np.ndim(axis) or axis is None or x.shape[axis] >= _FEW_FOR_NUMPY:
        return made
    left = _memory_order.telling_strides(x)
    del left[axis]
    return _memory_order.laid_out(made, _native.common_order([left], len(left)))


# ---------------------------------------------------------------------------------------------------------------------
# Quantiles. The functions of this table work on what is known and on what is computed alike.


def _between(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _boundary(index: Any, is_there: Callable[[Any, Any], Any]) -> Any:
    """The element at an index, or the next one: not before the first."""
    below = np.floor(index)
    place = np.where(is_there(index - below, below), below, below + 1)
    return np.maximum(place, 0).astype(np.int64)


#: Where in a sorted line of n elements a quantile is. Whole numbers are elements; others lie between two.
_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": lambda n, q: _boundary(n * q - 1, lambda rest, _: rest == 0),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": lambda n, q: _boundary(
        n * q - 1 - 0.5, lambda rest, below: (rest == 0) & (below % 2 == 1)
    ),
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: np.floor((n - 1) * q).astype(np.int64),
    "higher": lambda n, q: np.ceil((n - 1) * q).astype(np.int64),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: np.around((n - 1) * q).astype(np.int64),
}

#: Those whose quantiles are elements.
_DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")

#: How far from the element before to the one behind, where it is not the fraction of the place.
_FRACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "averaged_inverted_cdf": lambda rest, _: np.where(rest == 0, 0.5, 1.0),
    "midpoint": lambda _, place: np.where(place % 1 == 0, 0.0, 0.5),
}


class _Wanted:
    """The quantiles that are asked for: known (an ndarray) or computed, from 0 to 1."""

    def __init__(self, q: Any, method: str, weights: Any, percent: bool) -> None:
        if weights is not None and method != "inverted_cdf":
            fail(UserValueError, f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        if method not in _PLACES:
            fail(UserValueError, f"{method!r} is not a valid method. Use one of: {', '.join(_PLACES)}")
        self.method = method
        #: NumPy has a number adopt the dtype of the elements
        self.is_weak = is_number(q) or (is_array(q) and q._weak is not None)
        elements = known(q)
        self.q: Any = plain(q) if elements is None else elements
        if percent:
            self.q = np.true_divide(self.q, 100)
        if self.q.ndim > 2:
            fail(UserValueError, "q must be a scalar or 1d")
        if elements is not None and not ((self.q >= 0) & (self.q <= 1)).all():
            fail(
                UserValueError,
                "Percentiles must be in the range [0, 100]"
                if percent
                else "Quantiles must be in the range [0, 1]",
            )

    def of(self, lines: _Lines, count: Any) -> Any:
        """The quantiles of the first `count` elements of each line: a number, or one for each line."""
        shape = self.q.shape
        q = self.q if isinstance(count, int) else plain(self.q)
        q = q.reshape((*shape, *[1] * len(lines.kept))) if not isinstance(count, int) else q
        n = count if isinstance(count, int) or not _dtypes.is_float(q.dtype) else convert(count, q.dtype)
        place = _PLACES[self.method](n, q)
        if self.method in _DISCRETE or (self.method == "linear" and place.dtype.kind in "iu"):
            return self._elements(lines, place, count)
        below = np.floor(place)
        rest = place - below
        fraction = _FRACTIONS.get(self.method, lambda rest, _: rest)(rest, place).astype(place.dtype)
        last = n - 1
        first = np.where(place >= last, last, np.where(place < 0, 0, below)).astype(np.int64)
        second = np.where(place >= last, last, np.where(place < 0, 0, below + 1)).astype(np.int64)
        left, right = self._elements(lines, first, count), self._elements(lines, second, count)
        if isinstance(count, int):
            fraction = fraction.reshape((*shape, *[1] * len(lines.kept)))
        return self._mixed(left, right, plain(fraction), lines)

    def _elements(self, lines: _Lines, place: Any, count: Any) -> Any:
        if not is_array(place):
            found = at_places(lines.sorted, place.clip(0, count - 1).ravel(), 0)
            return reshape(found, [*self.q.shape, *lines.kept])
        if isinstance(count, int):
            return apply("gather", lines.sorted, place, axis=0, mode="clamp")
        flat = reshape(broadcast(place, [*self.q.shape, *lines.kept]), [self.q.size, *lines.kept])
        return reshape(along(lines.sorted, flat, 0), [*self.q.shape, *lines.kept])

    def of_weighted(self, lines: _Lines) -> Any:
        """The first elements that, with those before them, have that part of all weight."""
        share = cumsum(lines.weights, 0, _dtypes.FLOAT64)
        share = share / part(share, 0, -1, None)
        if _dtypes.is_float(self.q.dtype):
            share = convert(share, self.q.dtype)
        share = select(call(np.equal, share, 0), constant(-1, share.dtype), share)  # nothing is not a part
        ones = [1] * self.q.ndim
        wide = reshape(share, [lines.count, *ones, *lines.kept])
        q = reshape(plain(self.q), [*self.q.shape, *[1] * len(lines.kept)])
        place = call(np.minimum, sum_(call(np.less, wide, q), 0), lines.count - 1)
        return self._elements(lines, place, None)

    def _mixed(self, left: Any, right: Any, t: Any, lines: _Lines) -> Any:
        """On the line from left to right, in NumPy's order of operations: from the nearer end."""
        is_nearer, rest = call(np.greater_equal, t, 0.5), call(np.subtract, 1, t)
        if self.is_weak:
            dtype = left.dtype if lines.has_nans else _dtypes.FLOAT64
            t, rest = convert(t, dtype), convert(rest, dtype)
        distance = call(np.subtract, right, left)
        from_left = call(np.add, left, call(np.multiply, distance, t))
        from_right = call(np.subtract, right, call(np.multiply, distance, rest))
        return select(is_nearer, convert(from_right, from_left.dtype), from_left)


def _checked_weights(x: Any, weights: Any, axis: Any) -> Any:
    """In the shape of x. Those that are computed are taken as they are."""
    if weights is None:
        return None
    elements = known(weights)
    if elements is not None and (elements < 0).any():
        fail(UserValueError, "Weights must be non-negative.")
    made = weights_along(x, plain(weights), axis)
    if elements is not None:
        total = np.asarray(elements, np.float64).sum()
        if not np.isfinite(total) or (total == 0 and elements.size):
            fail(UserValueError, "Weights included NaN, inf or were all zero.")
    return made


def _quantiles(a: Any, wanted: _Wanted, axis: Any, keepdims: bool, weights: Any) -> Any:
    x = plain(a)
    lines = _Lines(x, axis, _checked_weights(x, weights, axis))
    if lines.count == 0:
        fail(UserIndexError, "there are no quantiles of no elements")
    result = wanted.of(lines, lines.count) if weights is None else wanted.of_weighted(lines)
    return lines.shaped(lines.without_nans(result), keepdims, wanted.q.ndim)


def _nan_quantiles(a: Any, wanted: _Wanted, axis: Any, keepdims: bool, weights: Any) -> Any:
    x = plain(a)
    if x.size == 0:
        return nanmean(x, axis, keepdims=keepdims)
    if not _dtypes.is_float(x.dtype):
        return _quantiles(x, wanted, axis, keepdims, weights)
    lines = _Lines(x, axis, _checked_weights(x, weights, axis))
    count = lines.numbers()
    if weights is None:
        result = wanted.of(lines, count)
    else:
        lines.weights = select(apply("is_nan", lines.sorted), constant(0, lines.weights.dtype), lines.weights)
        result = wanted.of_weighted(lines)
    nothing = broadcast(call(np.equal, count, 0), result.shape)
    result = select(nothing, full(result.shape, math.nan, result.dtype), result)
    return lines.shaped(result, keepdims, wanted.q.ndim)


def _implement(function: Callable[..., Any], compute: Callable[..., Any], is_percent: bool) -> None:
    @implements(function)
    @_memory_order.makes("C")
    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Any:
        result = compute(a, _Wanted(q, method, weights, is_percent), axis, keepdims, weights)
        return result if weights is None else _sharing.with_memory(result)


_implement(np.quantile, _quantiles, is_percent=False)
_implement(np.percentile, _quantiles, is_percent=True)
_implement(np.nanquantile, _nan_quantiles, is_percent=False)
_implement(np.nanpercentile, _nan_quantiles, is_percent=True)
