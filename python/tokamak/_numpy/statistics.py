"""Averages, covariances, and reductions that leave NaNs out."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order
from .._errors import UserTypeError, UserValueError, UserZeroDivisionError, fail
from .._ops import apply, broadcast, constant, convert, full, iota, reshape, select
from .._registry import implements
from . import reductions
from .contractions import dot
from .elementwise import clip
from .joining import concatenate
from .known import known, plain
from .reductions import NO_VALUE, axes_of, axis_of, cumprod, cumsum, mean, sum_, var
from .ufuncs import call

# ---------------------------------------------------------------------------------------------------------------------
# Averages


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = plain(a)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        count = math.prod(x.shape[i] for i in axes_of(x, axis))
        return (result, full(result.shape, count, result.dtype)) if returned else result
    axes_of(x, axis)
    given = plain(weights)
    w = weights_along(x, given, axis)
    kinds = [x.dtype, w.dtype] if _dtypes.is_float(x.dtype) else [x.dtype, w.dtype, _dtypes.FLOAT64]
    dtype = np.result_type(*kinds)
    total_weight = sum_(w, axis, dtype, keepdims)
    stretched = w._as_traced() if x._traced else w  # which converted would be an array by rows
    total = sum_(call(np.multiply, x, stretched, dtype=dtype), axis, dtype, keepdims)
    result = call(np.true_divide, total, _not_zero(total_weight))
    if given.shape != x.shape:  # their sum is one number, which has no order
        result = _memory_order.laid_out(result, _memory_order.order_of(total))
    return (result, broadcast(total_weight, result.shape)) if returned else result


def _not_zero(weight: Any) -> Any:
    """Sums of weights, which are an error if one of them is zero; those that are computed when the program runs."""
    if not weight._traced:
        if not np.asarray(weight).all():
            fail(UserZeroDivisionError, "Weights sum to zero, can't be normalized")
        return weight
    is_zero = convert(call(np.equal, weight, 0), _dtypes.INT64)
    one = apply("gather", constant([1], weight.dtype), is_zero, axis=0, mode="check_divisor")
    return call(np.multiply, weight, one)


def weights_along(x: Any, w: Any, axis: Any) -> Any:
    """Weights in the shape of x; those of some axes are the same along the others."""
    if w.shape == x.shape:
        return w
    if axis is None:
        fail(UserTypeError, "Axis must be specified when shapes of a and weights differ.")
    given = [axis_of(x, one) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if w.shape != tuple(x.shape[i] for i in given):
        fail(UserValueError, "Shape of weights must be consistent with shape of a along specified axis.")
    order = np.argsort(given).tolist()
    w = np.transpose(w, order)
    return broadcast(reshape(w, [n if i in given else 1 for i, n in enumerate(x.shape)]), x.shape)


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        fail(UserValueError, "ddof must be integer")
    given = [plain(one) for one in (m, y) if one is not None]
    for name, one in zip(("m", "y"), given, strict=False):
        if one.ndim > 2:
            fail(UserValueError, f"{name} has more than 2 dimensions")
    kind = np.result_type(*[one.dtype for one in given], _dtypes.FLOAT64)
    kind = kind if dtype is None else _dtypes.check(dtype)
    x = _variables(given[0], kind, not rowvar and given[0].ndim != 1)
    if x.shape[0] == 0:
        return full([0, 0], 0, kind)
    if y is not None:
        other = _variables(given[1], kind, False)
        x = concatenate([x, other.T if not rowvar and other.shape[0] != 1 else other], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    frequencies = _observation_weights(x, fweights, "fweights")
    importances = _observation_weights(x, aweights, "aweights")
    w = frequencies if importances is None else importances
    if frequencies is not None and importances is not None:
        w = frequencies * importances
    center, weight = average(x, 1, w, True)
    factor = _degrees_of_freedom(x, weight[0], w, importances, ddof)
    centered = convert(
        x - reshape(center, [x.shape[0], 1]), x.dtype
    )  # in place, also where weights are wider
    product = dot(centered, (centered if w is None else centered * w).T)
    return np.squeeze(product * call(np.true_divide, constant(1, kind), factor))


def _variables(x: Any, dtype: np.dtype[Any], turned: bool) -> Any:
    x = convert(x, dtype)
    x = x if x.ndim == 2 else reshape(x, [1, x.size])
    return x.T if turned else x


def _observation_weights(x: Any, weights: Any, name: str) -> Any:
    if weights is None:
        return None
    w = convert(plain(weights), _dtypes.FLOAT64)
    elements = known(weights)
    if elements is not None and name == "fweights" and (elements != np.around(elements)).any():
        fail(UserTypeError, "fweights must be integer")
    if w.ndim > 1 or w.shape[0] != x.shape[1]:
        fail(UserValueError, f"np.cov: {name} of {w._type_text} do not fit {x._type_text}")
    if elements is not None and (elements < 0).any():
        fail(UserValueError, f"{name} cannot be negative")
    return w


def _degrees_of_freedom(x: Any, total: Any, w: Any, importances: Any, ddof: int) -> Any:
    """What the sum of products is divided by; never negative."""
    if w is None:
        return constant(max(x.shape[1] - ddof, 0), x.dtype)
    if ddof == 0:
        return total
    if importances is None:
        return call(np.maximum, total - ddof, 0.0)
    return call(np.maximum, total - ddof * sum_(w * importances) / total, 0.0)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = call(np.sqrt, np.diagonal(c))
    scaled = c / reshape(spread, [spread.size, 1]) / spread
    return clip(scaled, -1, 1)


# ---------------------------------------------------------------------------------------------------------------------
# Without the NaNs


def _may_lack(x: Any) -> bool:
    """Whether there can be NaNs."""
    return _dtypes.is_float(x.dtype)


def _missing(x: Any) -> Any:
    """Where the NaNs are; None where there can be none."""
    return apply("is_nan", x) if _may_lack(x) else None


def _filled(x: Any, value: Any) -> Any:
    missing = _missing(x)
    return x if missing is None else select(missing, constant(value, x.dtype), x)


def _present(x: Any, where: Any) -> Any:
    """`where`, and not NaN."""
    missing = _missing(x)
    if missing is None:
        return where
    present = apply("bit_not", missing)
    return present if where is True else call(np.logical_and, present, where)


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
    out: Any = None,
) -> Any:
    return sum_(_filled(plain(a), 0), axis, dtype, keepdims, initial, where, out)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
    out: Any = None,
) -> Any:
    return reductions.prod(_filled(plain(a), 1), axis, dtype, keepdims, initial, where, out)


def _check_inexact(x: Any, dtype: Any, out: Any) -> None:
    """Means of floats are floats."""
    if not _may_lack(x):
        return
    if dtype is not None and not _dtypes.is_float(_dtypes.check(dtype)):
        fail(UserTypeError, "If a is inexact, then dtype must be inexact")
    if out is not None and not _dtypes.is_float(out.dtype):
        fail(UserTypeError, "If a is inexact, then out must be inexact")


@implements(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    out: Any = None,
) -> Any:
    x = plain(a)
    _check_inexact(x, dtype, out)
    return mean(x, axis, dtype, keepdims, where=_present(x, where), out=out)


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
    out: Any = None,
) -> Any:
    x = plain(a)
    if not _may_lack(x):
        return var(x, axis, dtype, ddof, keepdims, where, mean, correction, out)
    _check_inexact(x, dtype, out)
    present = _present(x, where)
    result = var(x, axis, dtype, ddof, keepdims, present, mean, correction, out, in_place=True)
    count = sum_(broadcast(present, x.shape), axis, keepdims=keepdims)
    # Without a degree of freedom there is no variance, also where np.var has an infinite one.
    left = call(np.subtract, count, ddof if correction is None else correction)
    return select(call(np.less_equal, left, 0), constant(math.nan, result.dtype), result)


@implements(np.nanstd)
def nanstd(a: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    return call(np.sqrt, nanvar(a, *args, out=out, **kwargs))


def _nan_extreme(name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, out: Any) -> Any:
    x = plain(a)
    function, neutral = (reductions.max_, -math.inf) if name == "max" else (reductions.min_, math.inf)
    if not _may_lack(x):
        return function(x, axis, keepdims, initial, where, out=out)
    found = function(_filled(x, neutral), axis, keepdims, initial, where)
    if initial is not None:
        return found
    nothing = reductions.all_(_missing(x), axis, keepdims)
    return select(nothing, constant(math.nan, x.dtype), found)


@implements(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    out: Any = None,
) -> Any:
    return _nan_extreme("max", a, axis, keepdims, initial, where, out)


@implements(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    out: Any = None,
) -> Any:
    return _nan_extreme("min", a, axis, keepdims, initial, where, out)


def _nan_arg(name: str, a: Any, axis: Any, keepdims: bool) -> Any:
    x = plain(a)
    function, neutral = (reductions.argmax, -math.inf) if name == "argmax" else (reductions.argmin, math.inf)
    missing = _missing(x)
    if missing is None:
        return function(x, axis, keepdims)
    place = function(_filled(x, neutral), axis, keepdims)
    nothing = reductions.all_(missing, axis, keepdims)
    if not nothing._traced:
        if np.asarray(nothing).any():
            fail(UserValueError, "All-NaN slice encountered")
        return place
    # Where there are only NaNs looking the place up fails when the program runs.
    extent = x.size if axis is None else x.shape[axis_of(x, axis)]
    checked = select(nothing, constant(-1, place.dtype), place)
    return apply("gather", iota([extent], 0, place.dtype), checked, axis=0, mode="check_empty")


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _nan_arg("argmax", a, axis, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _nan_arg("argmin", a, axis, keepdims)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return cumsum(_filled(plain(a), 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return cumprod(_filled(plain(a), 1), axis, dtype, out)
