"""Sums, extremes, means, and their running forms, with NumPy's dtypes, order of operations and keywords."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .. import _dtypes
from .._errors import Error, UserValueError, fail, make, user_line
from .._ops import apply, as_array, broadcast, constant, convert, full, is_array, reshape, select
from .._registry import implements
from .._unknown import STATIC
from . import ufuncs
from .known import plain

DType = np.dtype[Any]


class _NoValue:
    """That `initial` was not given: None says that there is none."""


NO_VALUE: Any = getattr(np, "_NoValue", _NoValue)


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Sorted, not negative. NumPy's AxisError, at the user's line, when there is no such axis."""
    if axis is None:
        return tuple(range(x.ndim))
    axis = _known_axis(axis)
    try:
        return tuple(sorted(normalize_axis_tuple(axis, x.ndim)))
    except ValueError as error:
        raise _located(error) from None


def folded_axes(x: Any, axis: Any) -> tuple[int, ...]:
    """The same for what folds elements: there NumPy takes the first and the last axis of an array without axes, too."""
    return () if is_end_of_nothing(x, axis) else axes_of(x, axis)


def is_end_of_nothing(x: Any, axis: Any) -> bool:
    return x.ndim == 0 and axis is not None and _known_axis(axis) in (0, -1)


def axis_of(x: Any, axis: Any) -> int:
    axis = _known_axis(axis)
    try:
        return normalize_axis_index(axis, x.ndim)
    except ValueError as error:
        raise _located(error) from None


def _known_axis(axis: Any) -> Any:
    """An axis that is an Array has to be known."""
    if isinstance(axis, (tuple, list)):
        return tuple(map(_known_axis, axis))
    if not is_array(axis):
        return axis
    known = axis._value("axis=", STATIC)
    return operator.index(known) if known.ndim == 0 else tuple(known.tolist())


class AxisError(UserValueError, np.exceptions.AxisError):
    """An axis that an array does not have."""


def _located(error: ValueError) -> Error:
    kind = AxisError if isinstance(error, np.exceptions.AxisError) else UserValueError
    return make(kind, str(error), user_line())


def _kept(x: Any, result: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if not keepdims:
        return result
    return reshape(result, [1 if i in axes else n for i, n in enumerate(x.shape)])


def _masked(x: Any, where: Any, neutral: Any) -> Any:
    """x where `where` holds, the neutral element elsewhere."""
    if where is True:
        return x
    condition = convert(as_array(where), _dtypes.BOOL)
    shape = np.broadcast_shapes(x.shape, condition.shape)
    return select(condition, broadcast(x, shape), constant(neutral, x.dtype))


def _sum_dtype(x: Any, dtype: Any, out: Any = None) -> DType:
    if dtype is not None:
        return _dtypes.check(dtype)
    if out is not None:  # what is folded into memory that is given is folded in the dtype common to both
        return _dtypes.check(np.add.resolve_dtypes((out.dtype, x.dtype, None), casting="unsafe")[-1])
    if x.dtype.kind in "bi":
        return _dtypes.INT64
    return _dtypes.UINT64 if x.dtype.kind == "u" else x.dtype


def _check_something(x: Any, axes: tuple[int, ...], where: Any) -> None:
    """With initial=None there has to be an element to begin with."""
    if where is not True:
        fail(UserValueError, "to use a where mask one has to specify 'initial'")
    folded = math.prod(x.shape[i] for i in axes)
    if folded == 0 and math.prod(n for i, n in enumerate(x.shape) if i not in axes):
        fail(UserValueError, f"there is nothing to begin with in {x._type_text}, and initial= is None")


def _fold(
    op: str, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any, out: Any, neutral: int
) -> Any:
    x = plain(a)
    x = convert(x, _sum_dtype(x, dtype, out))
    x = _masked(x, where, neutral)
    axes = folded_axes(x, axis)
    if initial is None:
        _check_something(x, axes, where)
    if x.dtype.kind == "b":
        result = apply("reduce_any" if op == "reduce_sum" else "reduce_all", x, axes=axes)
    else:
        result = apply(op, x, axes=axes)
    if initial is not None and initial is not NO_VALUE and (is_array(initial) or initial != neutral):
        combine = np.add if op == "reduce_sum" else np.multiply
        result = ufuncs.call(combine, constant(initial, x.dtype), result)
    return _kept(x, result, axes, keepdims)


@implements(np.sum)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
    out: Any = None,
) -> Any:
    return _fold("reduce_sum", a, axis, dtype, keepdims, initial, where, out, 0)


@implements(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
    out: Any = None,
) -> Any:
    return _fold("reduce_prod", a, axis, dtype, keepdims, initial, where, out, 1)


def _lowest(dtype: DType) -> Any:
    if dtype.kind == "b":
        return False
    return -math.inf if _dtypes.is_float(dtype) else np.iinfo(dtype).min


def _highest(dtype: DType) -> Any:
    if dtype.kind == "b":
        return True
    return math.inf if _dtypes.is_float(dtype) else np.iinfo(dtype).max


def _extreme(
    name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, dtype: Any, out: Any
) -> Any:
    x = plain(a)
    if dtype is not None:
        x = convert(x, _dtypes.check(dtype))
    elif out is not None:
        x = convert(x, _sum_dtype(x, None, out))
    initial = None if initial is NO_VALUE else initial
    axes = folded_axes(x, axis)
    if where is not True:
        if initial is None:
            fail(UserValueError, f"np.{name}: where= needs initial=, because nothing may be left to compare")
        x = _masked(x, where, _lowest(x.dtype) if name == "max" else _highest(x.dtype))
    empty = any(x.shape[i] == 0 for i in axes)
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    if empty and initial is not None:
        result = full(kept, initial, x.dtype)
    else:
        result = apply(f"reduce_{name}", x, axes=axes)
        if initial is not None:
            result = apply(name, result, constant(initial, x.dtype))
    return _kept(x, result, axes, keepdims)


@implements(np.max, np.amax)
def max_(
    a: Any,
    axis: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    return _extreme("max", a, axis, keepdims, initial, where, dtype, out)


@implements(np.min, np.amin)
def min_(
    a: Any,
    axis: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    return _extreme("min", a, axis, keepdims, initial, where, dtype, out)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
    largest = max_(a, axis, keepdims, out=out)
    return ufuncs.call(np.subtract, _stored(largest, out), min_(a, axis, keepdims))


def _truth(op: str, a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    x = convert(plain(a), _dtypes.BOOL)
    x = _masked(x, where, op == "reduce_all")
    axes = folded_axes(x, axis)
    return _kept(x, apply(op, x, axes=axes), axes, keepdims)


@implements(np.any)
def any_(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True, dtype: Any = None) -> Any:
    return _truth("reduce_any", a, axis, keepdims, where)


@implements(np.all)
def all_(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True, dtype: Any = None) -> Any:
    return _truth("reduce_all", a, axis, keepdims, where)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return sum_(convert(as_array(a), _dtypes.BOOL), axis, keepdims=keepdims)


def _arg(op: str, a: Any, axis: Any, keepdims: bool) -> Any:
    x = plain(a)
    if axis is None or is_end_of_nothing(x, axis):
        result = apply(op, reshape(x, [x.size]), axis=0)
        return reshape(result, [1] * x.ndim) if keepdims else result
    place = axis_of(x, axis)
    return _kept(x, apply(op, x, axis=place), (place,), keepdims)


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _arg("argmax", a, axis, keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _arg("argmin", a, axis, keepdims)


# ---------------------------------------------------------------------------------------------------------------------
# Means


def _count(x: Any, axes: tuple[int, ...], where: Any) -> Any:
    """How many elements each mean is of: a number, or an Array when a mask decides."""
    if where is True:
        return math.prod(x.shape[i] for i in axes)
    mask = broadcast(convert(as_array(where), _dtypes.BOOL), x.shape)
    return sum_(mask, axes, keepdims=True)


def _divided(total: Any, count: Any) -> Any:
    """total / count. NumPy divides in f64 and rounds to the dtype of the total, which is the same where the dtype
    holds the count."""
    dtype = total.dtype
    if not isinstance(count, int):
        wide = ufuncs.call(np.true_divide, convert(total, _dtypes.FLOAT64), reshape_like(count, total))
        return convert(wide, dtype)
    if dtype == _dtypes.FLOAT64 or (dtype == _dtypes.FLOAT32 and count <= 1 << 24):
        return apply("div", total, constant(count, dtype))
    wide = apply("div", convert(total, _dtypes.FLOAT64), constant(count, _dtypes.FLOAT64))
    return convert(wide, dtype)


def reshape_like(x: Any, y: Any) -> Any:
    return reshape(x, y.shape) if x.size == y.size else x


def _mean_dtype(x: Any, dtype: Any, out: Any) -> tuple[DType, DType]:
    """What means are computed in, and what they are given in."""
    if dtype is not None:
        asked = _dtypes.check(dtype)
        return asked, asked if out is None else out.dtype
    if x.dtype == _dtypes.FLOAT16:
        return _dtypes.FLOAT32, _dtypes.FLOAT16 if out is None else out.dtype
    if not _dtypes.is_float(x.dtype):
        return _dtypes.FLOAT64, _dtypes.FLOAT64 if out is None else out.dtype
    return (x.dtype, x.dtype) if out is None else (_sum_dtype(x, None, out), out.dtype)


def _mean_axes(x: Any, axis: Any, where: Any) -> tuple[int, ...]:
    """NumPy counts the elements of an axis that is not there only where no mask tells how many they are."""
    return axes_of(x, axis) if where is True else folded_axes(x, axis)


def _stored(total: Any, out: Any) -> Any:
    """A sum in the memory that is given, where NumPy divides it."""
    return total if out is None else convert(total, out.dtype)


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = True, out: Any = None
) -> Any:
    x = plain(a)
    compute, result = _mean_dtype(x, dtype, out)
    axes = _mean_axes(x, axis, where)
    total = _stored(sum_(x, axes, compute, True, where=where), out)
    quotient = convert(_divided(total, _count(x, axes, where)), result)
    return quotient if keepdims else reshape(quotient, [n for i, n in enumerate(x.shape) if i not in axes])


@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
    out: Any = None,
    in_place: bool = False,
) -> Any:
    """With in_place, the distances from the mean are rounded to the dtype of the elements, as where NumPy writes them over those."""
    x = plain(a)
    compute, result = _mean_dtype(x, dtype, out)
    axes = _mean_axes(x, axis, where)
    stays_narrow = out is not None and dtype is None and x.dtype == _dtypes.FLOAT16
    compute = _sum_dtype(x, None, out) if stays_narrow else compute
    count = _count(x, axes, where)
    ddof = ddof if correction is None else correction
    if mean is None:  # which never goes to out=
        narrow, _ = _mean_dtype(x, dtype, None)
        narrow = x.dtype if stays_narrow else narrow
        mean = _divided(sum_(x, axes, narrow, True, where=where), count)
    center = as_array(mean)
    distance = ufuncs.call(np.subtract, x, center)
    distance = convert(distance, x.dtype) if in_place else distance
    squares = sum_(ufuncs.call(np.multiply, distance, distance), axes, compute, True, where=where)
    if isinstance(count, int):
        left: Any = builtins.max(count - ddof, 0)
        left = left if isinstance(left, int) else as_array(left)
    else:
        left = ufuncs.call(np.maximum, ufuncs.call(np.subtract, count, ddof), 0)
    spread = convert(_divided(_stored(squares, out), left), result)
    return spread if keepdims else reshape(spread, [n for i, n in enumerate(x.shape) if i not in axes])


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
    out: Any = None,
) -> Any:
    return ufuncs.call(np.sqrt, var(a, axis, dtype, ddof, keepdims, where, mean, correction, out))


# ---------------------------------------------------------------------------------------------------------------------
# Running forms


def _running(op: str, a: Any, axis: Any, dtype: DType | None) -> Any:
    x = plain(a)
    if dtype is not None:
        x = convert(x, dtype)
    if axis is None or is_end_of_nothing(x, axis):
        x, axis = reshape(x, [x.size]), 0
    place = axis_of(x, axis)
    if x.dtype.kind == "b":  # sums and products of truths are truths
        kind = {"cumsum": "cummax", "cumprod": "cummin"}[op]
        return convert(apply(kind, convert(x, np.dtype(np.int8)), axis=place), _dtypes.BOOL)
    return apply(op, x, axis=place)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _running("cumsum", a, axis, _sum_dtype(as_array(a), dtype, out))


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _running("cumprod", a, axis, _sum_dtype(as_array(a), dtype, out))


def cummax(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running("cummax", a, axis, None if dtype is None else _dtypes.check(dtype))


def cummin(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running("cummin", a, axis, None if dtype is None else _dtypes.check(dtype))
