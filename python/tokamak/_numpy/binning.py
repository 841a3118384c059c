"""np.bincount and the histograms: how many elements, or how much weight, fall into every bin.

An element's bin is computed, and one is added there: a scatter, into which the computation of the bin is fused. How many bins there are
has to be known while a function is traced; where they lie need not be.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserTypeError, UserValueError, fail, unsupported
from .._ops import apply, as_array, broadcast, checked, constant, convert, full, is_array, reshape, select
from .._registry import implements
from .known import known, part, plain
from .reductions import max_, min_, sum_
from .searching import searchsorted
from .sequences import linspace
from .ufuncs import call

_I64 = _dtypes.INT64


def _counts(index: Any, weights: Any, count: int, mode: str) -> Any:
    """What falls into each of `count` bins: i64 without weights, else f64."""
    dtype = _I64 if weights is None else _dtypes.FLOAT64
    each = full(index.shape, 1, dtype) if weights is None else convert(weights, dtype)
    return apply("scatter", full([count], 0, dtype), index, each, axis=0, mode=mode, combine="add")


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Inside a jitted function the result has `minlength` elements: a larger number is a ValueError when the program runs."""
    index = plain(x)
    given = None if weights is None else plain(weights)
    if index.ndim != 1:
        fail(UserValueError, f"np.bincount: {index._type_text} must have one axis")
    if _dtypes.is_float(index.dtype) and index.size:
        fail(UserTypeError, f"np.bincount: {index._type_text} must hold integers")
    if given is not None and given.shape != index.shape:
        fail(UserValueError, "The weights and list don't have the same length.")
    count = operator.index(minlength)
    if count < 0:
        fail(UserValueError, "'minlength' must not be negative")
    index = convert(index, _I64)
    elements = known(index)
    if elements is not None:
        if elements.size and elements.min() < 0:
            fail(UserValueError, "'list' argument must have no negative elements")
        count = max(count, int(elements.max()) + 1 if elements.size else 0)
    elif count == 0 and index.size:
        unsupported(
            "np.bincount without minlength= in a jitted function",
            "the length of the result depends on values; give minlength=, which no element may reach",
        )
    if index.size == 0:
        return full([count], 0, _I64)  # with weights, too
    return _counts(index, given, count, "check_bin")


# ---------------------------------------------------------------------------------------------------------------------
# Edges


_CHECK = "check_range"


class Edges:
    """The edges of bins, and of equal bins also the ends that they were made from."""

    def __init__(self, edges: Any, first: Any = None, last: Any = None, is_finite: Any = None) -> None:
        self.edges = edges
        self.first, self.last = first, last
        self.is_finite = is_finite  # whether the ends, found in the data, are numbers; None: they are
        self.count = edges.size - 1

    @property
    def are_equal(self) -> bool:
        return self.first is not None

    def result(self) -> Any:
        """The edges, which are an error if the ends are no numbers."""
        return self.edges if self.is_finite is None else checked(self.edges, self.is_finite, _CHECK)


def _ends(x: Any, bounds: Any) -> tuple[Any, Any, Any]:
    """The outer edges, and whether they are finite where that is not known yet."""
    if bounds is None:
        if x.size == 0:
            return 0, 1, None
        first, last = min_(x), max_(x)
        finite = None
        if _dtypes.is_float(x.dtype):
            finite = apply("bit_and", apply("is_finite", first), apply("is_finite", last))
        if x.dtype.kind == "b":
            fail(UserTypeError, "np.histogram of bool needs range=, or use x.astype(int)")
        is_one = call(np.equal, first, last)
        half = select(is_one, constant(0.5, _dtypes.FLOAT64), constant(0.0, _dtypes.FLOAT64))
        if _dtypes.is_float(x.dtype):
            half = convert(half, x.dtype)
        return call(np.subtract, first, half), call(np.add, last, half), finite
    first, last = bounds
    if is_array(first) or is_array(last):
        unsupported("a range= that is computed", "give the edges themselves as bins=np.linspace(...)")
    if first > last:
        fail(UserValueError, "max must be larger than min in range parameter.")
    if not (np.isfinite(first) and np.isfinite(last)):
        fail(UserValueError, f"supplied range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last, None


def _bin_type(x: Any, first: Any, last: Any) -> np.dtype[Any]:
    """What NumPy has equal edges in."""
    kinds = [one.dtype if is_array(one) else one for one in (first, last)]
    dtype = np.result_type(*kinds, x.dtype)
    return np.result_type(dtype, float) if dtype.kind in "biu" else dtype


def _equal_edges(x: Any, count: int, bounds: Any, dtype: Any) -> Edges:
    if count < 1:
        fail(UserValueError, "`bins` must be positive, when an integer")
    first, last, finite = _ends(x, bounds)
    wanted = _bin_type(x, first, last) if dtype is None else dtype
    if is_array(first):
        edges = linspace(first, last, count + 1, dtype=wanted)
    else:
        edges = as_array(np.linspace(first, last, count + 1, dtype=wanted))
        if (np.diff(edges) <= 0).any():
            fail(
                UserValueError,
                f"Too many bins for data range. Cannot create {count} finite-sized bins.",
            )
    return Edges(edges, first, last, finite)


def _edges_of(x: Any, bins: Any, bounds: Any, what: str, dtype: Any = None) -> Edges:
    if isinstance(bins, str):
        elements = known(x)
        if elements is None:
            unsupported(
                f"{what} with bins={bins!r} in a jitted function",
                "how many bins that is depends on values; give their number or their edges",
            )
        bins = np.histogram_bin_edges(elements, bins, bounds).size - 1
    if np.ndim(bins) == 0:
        try:
            count = operator.index(bins)
        except TypeError:
            fail(UserTypeError, f"{what}: `bins` must be an integer, a string, or an array")
        return _equal_edges(x, count, bounds, dtype)
    edges = plain(bins)
    if edges.ndim != 1:
        fail(UserValueError, f"{what}: `bins` must be 1d, when an array")
    elements = known(bins)
    if elements is not None and (elements[:-1] > elements[1:]).any():
        fail(UserValueError, f"{what}: `bins` must increase monotonically, when an array")
    return Edges(edges)


# ---------------------------------------------------------------------------------------------------------------------
# The bin of every element


def _at(edges: Any, index: Any) -> Any:
    return apply("gather", edges, index, axis=0, mode="clamp")


def _equal_bins(x: Any, bins: Edges) -> Any:
    """By division, in NumPy's order of operations; then one to the left or right where rounding missed the edge."""
    edges = bins.edges
    inside = call(np.logical_and, call(np.greater_equal, x, bins.first), call(np.less_equal, x, bins.last))
    value = convert(x, edges.dtype)
    width = call(np.subtract, bins.last, bins.first)
    share = call(np.true_divide, call(np.subtract, value, bins.first), width)
    # What is inside fits 32 bits, for which lanes have an instruction.
    dtype = _dtypes.INT32 if bins.count < 1 << 30 else _I64
    index = convert(call(np.multiply, share, bins.count), dtype)
    last, one = constant(bins.count - 1, dtype), constant(1, dtype)
    index = select(apply("eq", index, constant(bins.count, dtype)), last, index)
    index = select(apply("lt", value, _at(edges, index)), apply("sub", index, one), index)
    next_one = apply("add", index, one)
    missed = apply("bit_and", apply("ge", value, _at(edges, next_one)), apply("ne", index, last))
    index = select(missed, next_one, index)
    return convert(select(inside, index, constant(-1, dtype)), _I64)


def _bins_between(x: Any, edges: Any) -> Any:
    """By search. The last bin includes its right edge; -1 is outside."""
    count = edges.size - 1
    place = call(np.subtract, searchsorted(edges, x, "right"), 1)
    on_edge = call(np.equal, x, edges[-1])
    place = select(on_edge, constant(count - 1, _I64), place)
    is_number = None if not _dtypes.is_float(x.dtype) else apply("bit_not", apply("is_nan", x))
    inside = apply("lt", place, constant(count, _I64))
    if is_number is not None:
        inside = apply("bit_and", inside, is_number)
    return select(inside, place, constant(-1, _I64))


def _bin_of(x: Any, bins: Edges) -> Any:
    return _equal_bins(x, bins) if bins.are_equal else _bins_between(x, bins.edges)


def _checked(index: Any, count: int, finite: Any) -> tuple[Any, str]:
    """Elements outside are left out. Ends that are not finite are an error."""
    if finite is None:
        return index, "drop"
    return select(finite, index, constant(count, _I64)), _CHECK


# ---------------------------------------------------------------------------------------------------------------------
# NumPy's functions


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    x = plain(a)
    _check_weights(x, None if weights is None else plain(weights), bins)
    return _edges_of(reshape(x, [x.size]), bins, range, "np.histogram_bin_edges").result()


def _check_weights(x: Any, given: Any, bins: Any) -> None:
    if given is not None and given.shape != x.shape:
        fail(UserValueError, "weights should have the same shape as a.")
    if given is not None and isinstance(bins, str):
        fail(UserTypeError, "Automated estimation of the number of bins is not supported for weighted data")


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = plain(a)
    given = None if weights is None else plain(weights)
    _check_weights(x, given, bins)
    x = reshape(x, [x.size])
    given = None if given is None else reshape(given, [given.size])
    found = _edges_of(x, bins, range, "np.histogram")
    index, mode = _checked(_bin_of(x, found), found.count, found.is_finite)
    counts = _counts(index, given, found.count, mode)
    if given is not None:
        counts = convert(counts, given.dtype)
    if not density:
        return counts, found.result()
    widths = convert(_widths(found.edges), _dtypes.FLOAT64)
    return call(np.true_divide, call(np.true_divide, counts, widths), sum_(counts)), found.result()


def _widths(edges: Any) -> Any:
    return call(np.subtract, part(edges, 0, 1, None), part(edges, 0, None, -1))


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    columns = _columns(sample)
    axes = len(columns)
    each = _per_axis(bins, axes)
    bounds: Sequence[Any] = [None] * axes if range is None else range
    if len(bounds) != axes:
        fail(UserValueError, "range argument must have one entry per dimension")
    found = []
    for i, (x, wanted) in enumerate(zip(columns, each, strict=True)):
        if isinstance(wanted, str):
            fail(UserTypeError, f"`bins[{i}]` must be an integer, when a scalar")
        ends = convert(x, _dtypes.FLOAT64) if np.ndim(wanted) == 0 and not _dtypes.is_float(x.dtype) else x
        dtype = _dtypes.FLOAT64 if np.ndim(wanted) == 0 and bounds[i] is not None else None
        found.append(_edges_of(ends, wanted, bounds[i], "np.histogramdd", dtype))
    counts = _joint_counts(columns, found, None if weights is None else plain(weights))
    if density:
        total = sum_(counts)
        for i, one in enumerate(found):
            shape = [one.count if k == i else 1 for k in np.arange(axes).tolist()]
            counts = call(np.true_divide, counts, reshape(_widths(one.edges), shape))
        counts = call(np.true_divide, counts, total)
    else:  # NumPy counts what lies outside, too, and shows what lies inside
        counts = _sharing.with_gaps(counts, _sharing.dense_strides([n + 2 for n in counts.shape]))
    return counts, [one.result() for one in found]


def _columns(sample: Any) -> list[Any]:
    """The coordinates along each axis: columns of a matrix, or a sequence of arrays."""
    if is_array(sample) or isinstance(sample, np.ndarray):
        x = plain(sample)
        if x.ndim < 2:
            return [reshape(x, [x.size])]
        if x.ndim != 2:
            fail(UserValueError, f"np.histogramdd: a sample of {x._type_text} must have two axes")
        return [reshape(part(x, 1, i, i + 1), [x.shape[0]]) for i in np.arange(x.shape[1]).tolist()]
    rows = [plain(row) for row in sample]
    if any(row.ndim != 1 or row.shape != rows[0].shape for row in rows):
        fail(UserValueError, "np.histogramdd: the coordinates must be arrays of one axis and the same length")
    dtype = np.result_type(*(row.dtype for row in rows))
    return [convert(row, dtype) for row in rows]


def _per_axis(bins: Any, axes: int) -> list[Any]:
    try:
        given = len(bins)
    except TypeError:
        return [bins] * axes
    if given != axes:
        fail(UserValueError, "The dimension of bins must be equal to the dimension of the sample x.")
    return list(bins)


def _joint_counts(columns: list[Any], found: list[Edges], weights: Any) -> Any:
    if weights is not None and weights.shape != columns[0].shape:
        fail(UserValueError, "The weights and list don't have the same length.")
    shape = [one.count for one in found]
    place, inside, finite = constant(0, _I64), constant(True, _dtypes.BOOL), None
    for x, one in zip(columns, found, strict=True):
        index = _bin_of(x, one)
        inside = apply("bit_and", inside, apply("ge", index, constant(0, _I64)))
        place = apply("add", apply("mul", place, constant(one.count, _I64)), index)
        if one.is_finite is not None:
            finite = one.is_finite if finite is None else apply("bit_and", finite, one.is_finite)
    place = broadcast(select(inside, place, constant(-1, _I64)), columns[0].shape)
    total = math.prod(shape)
    index, mode = _checked(place, total, finite)
    return reshape(convert(_counts(index, weights, total, mode), _dtypes.FLOAT64), shape)


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if len(x) != len(y):
        fail(UserValueError, "x and y must have the same length.")
    try:
        given = len(bins)
    except TypeError:
        given = 1
    if given not in (1, 2):
        bins = [bins, bins]
    counts, (xedges, yedges) = histogramdd([x, y], bins, range, density, weights)
    return counts, xedges, yedges
