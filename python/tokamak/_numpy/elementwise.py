"""Element-wise functions that are not ufuncs."""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserOverflowError, UserTypeError, UserValueError, fail, unsupported
from .._ops import (
    apply,
    as_array,
    broadcast,
    broadcast_shapes,
    constant,
    convert,
    is_array,
    is_number,
    reshape,
    select,
    strong,
)
from .._registry import implements
from .joining import common_dtype
from .reductions import all_
from .ufuncs import call, check_casting, kind_of


def _in(value: Any, dtype: np.dtype[Any]) -> Any:
    return constant(value, dtype) if is_number(value) else convert(as_array(value), dtype)


def kept_number(value: Any) -> Any:
    return value if is_number(value) else as_array(value)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None or y is None:
        unsupported("np.where with one argument", "its shape depends on values; give all three")
    yes, no = kept_number(x), kept_number(y)
    dtype = common_dtype([yes, no])
    test = convert(as_array(condition), _dtypes.BOOL)
    return select(test, wrapped(yes, dtype), wrapped(no, dtype))


implements(np.where)(_sharing.gives_array(where))


def wrapped(value: Any, dtype: Any) -> Any:
    """As `dtype`; integers that it cannot hold wrap here."""
    if is_array(value):
        return convert(value._with_weak(None) if value._weak is int else value, dtype)
    is_wide = type(value) is int and -(2**63) <= value < 2**64
    return constant(np.asarray(value).astype(dtype), dtype) if is_wide else _in(value, dtype)


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
    casting: Any = "same_kind",
    where: Any = True,
    order: str = "K",
    subok: bool = True,
    out: Any = None,
) -> Any:
    clipped = _clipped(a, a_min if min is None else min, a_max if max is None else max, dtype, casting)
    if where is True:
        return clipped
    if out is None:  # NumPy leaves open what is elsewhere
        return choose_where(as_array(where), clipped, constant(0, clipped.dtype))
    if not np.can_cast(clipped.dtype, out.dtype, casting):
        fail(UserTypeError, f"np.clip: cannot cast {clipped.dtype} to {out.dtype} with casting={casting!r}")
    return choose_where(as_array(where), convert(clipped, out.dtype), out)


def choose_where(condition: Any, yes: Any, no: Any) -> Any:
    shape = np.broadcast_shapes(condition.shape, yes.shape, no.shape)
    return select(*[broadcast(one, shape) for one in (convert(condition, _dtypes.BOOL), yes, no)])


def _clipped(a: Any, low: Any, high: Any, dtype: Any, casting: Any) -> Any:
    x = as_array(a)
    if _dtypes.is_integer(x.dtype):  # bounds that no element can cross
        limits = np.iinfo(x.dtype)
        low = None if type(low) is int and low <= limits.min else _at_most(low, limits.min, "max")
        high = None if type(high) is int and high >= limits.max else _at_most(high, limits.max, "min")
    if low is None and high is None:
        return call(np.positive, strong(x, x.dtype), dtype=dtype, casting=casting)
    bounds = [bound if bound is None else kept_number(bound) for bound in (low, high)]
    kinds = [bound if bound is None else kind_of(bound) for bound in (x, *bounds)]
    common = _dtypes.check(_clipped_dtype(*kinds) if dtype is None else dtype)
    for bound in bounds:
        if bound is not None:
            check_casting(np.maximum, [x, bound], common, casting)
    try:
        x = convert(x, common)
        low = low if low is None else _in(low, common)
        high = high if high is None else _in(high, common)
        # Among equal zeros max and min of f32 and f64 take the second, and clip the element where the bounds are numbers.
        keeps_zeros = common in (_dtypes.FLOAT32, _dtypes.FLOAT64) and _are_numbers(x, low, high)
        for op, bound in (("max", low), ("min", high)):
            if bound is not None:
                x = apply(op, bound, x) if keeps_zeros else apply(op, x, bound)
        return x
    except OverflowError as error:
        fail(UserOverflowError, f"np.clip: {error}")


@functools.cache
def _clipped_dtype(*kinds: Any) -> Any:
    """NumPy itself decides, of kinds of an array and its bounds, which may be None."""
    return np.clip(*[np.empty(0, kind) if isinstance(kind, np.dtype) else kind and kind(0) for kind in kinds]).dtype


def _are_numbers(x: Any, low: Any, high: Any) -> bool:
    """Whether NumPy's clip reads two bounds once for every run of elements: they are the same along the last axis it walks."""
    if low is None or high is None:
        return False
    shape = broadcast_shapes("np.clip", [x.shape, low.shape, high.shape])
    walked = max((axis for axis, n in enumerate(shape) if n > 1), default=0) - len(shape)
    return all(
        bound.ndim == 0 or bound.ndim < -walked or (bound.shape[walked] == 1 and shape[walked] > 1)
        for bound in (low, high)
    )


def _at_most(bound: Any, limit: int, op: str) -> Any:
    """A bound that is a traced number, no further out than the last element that there can be."""
    if not is_array(bound) or bound._weak is not int or not -(2**63) <= limit < 2**63:
        return bound
    return apply(op, bound._with_weak(None), constant(limit, bound.dtype))._with_weak(int)


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    x = as_array(a)
    made = _rounded(x, decimals, out)
    if decimals < 0 or (decimals > 0 and _dtypes.is_float(x.dtype)):
        return _memory_order.all_laid_out(made, "A", x)
    return made if _dtypes.is_float(x.dtype) else _memory_order.all_laid_out(made, "K", x)


def _rounded(x: Any, decimals: int, out: Any) -> Any:
    if out is not None and decimals < 0 and not (_dtypes.is_float(x.dtype) or _dtypes.is_float(out.dtype)):
        fail(
            UserTypeError, f"np.round: NumPy divides {x.dtype} in f64, which out= of {out.dtype} cannot hold"
        )
    x = strong(x, x.dtype)
    is_into_floats = out is not None and _dtypes.is_float(out.dtype)
    if x.dtype.kind == "b" and decimals != 0 and not is_into_floats:
        fail(UserTypeError, "np.round: bool has no decimals; use astype")
    if not _dtypes.is_float(x.dtype):
        if decimals >= 0:
            return convert(x, _dtypes.FLOAT16) if x.dtype.kind == "b" else x
        wide = convert(x, _dtypes.FLOAT64)
        return _round_to(wide, decimals, out) if out is not None else convert(_round_to(wide, decimals), x.dtype)
    return apply("round", x) if decimals == 0 else _round_to(x, decimals, out)


def _round_to(x: Any, decimals: int, out: Any = None) -> Any:
    """NumPy keeps what it has in between in out=, and goes on in its dtype."""
    dtype = x.dtype if out is None or not _dtypes.is_float(out.dtype) else out.dtype
    first, second = ("mul", "div") if decimals >= 0 else ("div", "mul")
    factor = 10.0 ** abs(decimals) if abs(decimals) <= sys.float_info.max_10_exp else np.inf
    rounded = apply("round", convert(apply(first, x, constant(factor, x.dtype)), dtype))
    return apply(second, rounded, constant(factor, dtype))


@implements(np.fix)
def fix(x: Any) -> Any:
    return call(np.trunc, x)


@implements(np.nan_to_num)
@_sharing.shares
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Without copy=, NumPy writes to the array itself."""
    array = as_array(x)
    replaced = _numbers_for_others(array, nan, posinf, neginf)
    if copy or _sharing.is_scalar(array):
        return _sharing.fresh(replaced)
    if replaced is not array:
        _sharing.write(array, replaced, "np.nan_to_num")
    return array if array.ndim else _sharing.fresh(array)


def _numbers_for_others(array: Any, nan: float, posinf: Any, neginf: Any) -> Any:
    dtype = array.dtype
    if not _dtypes.is_float(dtype):
        return array
    limits = _dtypes.limits_of_float(dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    infinite = apply("is_inf", array)
    positive = apply("gt", array, constant(0, dtype))
    replaced = select(infinite, select(positive, constant(high, dtype), constant(low, dtype)), array)
    return select(apply("is_nan", array), constant(nan, dtype), replaced)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    x, y = kept_number(a), kept_number(b)
    if not is_number(y):
        y = convert(
            y, common_dtype([y, 1.0])
        )  # differences of integers may not fit, those of bool do not exist
    elif not isinstance(y, float):
        y = float(y)
    distance = call(np.absolute, call(np.subtract, x, y))
    allowed = call(np.add, atol, call(np.multiply, rtol, call(np.absolute, y)))
    near = call(np.logical_and, call(np.less_equal, distance, allowed), call(np.isfinite, y))
    result = call(np.logical_or, near, call(np.equal, x, y))
    if equal_nan:
        result = call(np.logical_or, result, call(np.logical_and, call(np.isnan, x), call(np.isnan, y)))
    return result


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    return all_(isclose(a, b, rtol, atol, equal_nan))._with_weak(bool)


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = as_array(a1), as_array(a2)
    if x.shape != y.shape:
        return False
    same = call(np.equal, x, y)
    if equal_nan:
        same = call(np.logical_or, same, call(np.logical_and, call(np.isnan, x), call(np.isnan, y)))
    return all_(same)._with_weak(bool)


@implements(np.isposinf)
def isposinf(x: Any) -> Any:
    return call(np.equal, x, math.inf)


@implements(np.isneginf)
def isneginf(x: Any) -> Any:
    return call(np.equal, x, -math.inf)


@implements(np.real)
@_sharing.shares
def real(val: Any) -> Any:
    return as_array(val)


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return False


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return True


@implements(np.select)
@_sharing.gives_array
@_memory_order.makes("C")
def select_(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        fail(UserValueError, "list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        fail(UserValueError, "select with an empty condition list is not possible")
    conditions = [as_array(condition) for condition in condlist]
    for place, condition in enumerate(conditions):
        if condition.dtype.kind != "b":
            fail(UserTypeError, f"invalid entry {place} in condlist: should be boolean ndarray")
    choices = [kept_number(choice) for choice in choicelist]
    dtype = common_dtype([*choices, kept_number(default)])
    result = wrapped(kept_number(default), dtype)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        if dtype.kind == "u" and _is_python_integer(choice):
            fail(UserTypeError, f"np.select: an int cannot be cast to {dtype}; use np.{dtype}(...)")
        result = select(condition, wrapped(choice, dtype), result)
    return result


def _is_python_integer(value: Any) -> bool:
    return type(value) is int or getattr(value, "_weak", None) is int


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    x, y = as_array(a), as_array(b)
    return call(np.multiply, reshape(x, [x.size, 1]), reshape(y, [1, y.size]))


@implements(np.sinc)
def sinc(x: Any) -> Any:
    scaled = call(np.multiply, math.pi, x)
    zero = call(np.equal, scaled, 0)
    safe = where(zero, 1.0, scaled)
    return where(zero, 1.0, call(np.true_divide, call(np.sin, safe), safe))
