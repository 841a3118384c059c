"""ufunc.reduce, accumulate, reduceat and outer, for every ufunc of two operands.

NumPy itself says what it refuses, and the dtype of the result: it is asked with an array of the same dtype whose axes are as short as
can be. A few ufuncs have reductions of their own. Those that are associative are applied to halves, then halves of halves; what is left
is one operation after the other, as long as the axis is short.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _native, _sharing
from .._errors import (
    UserIndexError,
    UserOverflowError,
    UserTypeError,
    UserValueError,
    fail,
    make,
    unsupported,
    user_line,
)
from .._ops import apply, as_array, broadcast, constant, convert, reshape, select, transpose
from .._registry import TABLE, name_of, remedy_for
from . import reductions, shapes, ufuncs
from .joining import concatenate, stack
from .known import known, part, plain
from .reductions import NO_VALUE

DType = np.dtype[Any]

#: Operations one after the other along an axis at most; each is code of its own.
LONGEST_SEQUENCE = 128

_SUMS: dict[np.ufunc, str] = {np.add: "reduce_sum", np.multiply: "reduce_prod"}
_EXTREMES: dict[np.ufunc, str] = {np.maximum: "reduce_max", np.minimum: "reduce_min"}
_TRUTHS: dict[np.ufunc, str] = {
    np.logical_or: "reduce_any",
    np.logical_and: "reduce_all",
    np.bitwise_or: "reduce_any",
    np.bitwise_and: "reduce_all",
    np.add: "reduce_any",
    np.multiply: "reduce_all",
    np.maximum: "reduce_any",
    np.minimum: "reduce_all",
}
_PARITIES = {np.logical_xor, np.bitwise_xor}  # of booleans
_RUNNING: dict[np.ufunc, str] = {
    np.add: "cumsum",
    np.multiply: "cumprod",
    np.maximum: "cummax",
    np.minimum: "cummin",
}
#: f(f(x, y), z) is f(x, f(y, z)), but for rounding
_ASSOCIATIVE = {
    np.add,
    np.multiply,
    np.maximum,
    np.minimum,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.fmax,
    np.fmin,
    np.gcd,
    np.lcm,
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
}


# ---------------------------------------------------------------------------------------------------------------------
# What NumPy would do


def _short(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(min(n, 1) for n in shape)


def _ask(ufunc: np.ufunc, method: str, x: Any, out: Any, **options: Any) -> DType:
    """The dtype of NumPy's result, or its error at the user's line."""
    example = np.ones(_short(x.shape), x.dtype)
    try:
        with np.errstate(all="ignore"):
            dtype = np.asarray(getattr(ufunc, method)(example, **options)).dtype
            if out is None or options["dtype"] is not None:
                return dtype
            # What is folded into memory that is given is folded in the dtype common to both, and converted in the end.
            return ufunc.resolve_dtypes((out.dtype, x.dtype, None), casting="unsafe")[-1]
    except np.exceptions.AxisError as error:
        raise make(reductions.AxisError, str(error), user_line()) from None
    except ValueError as error:
        fail(UserValueError, f"{name_of(ufunc)}.{method} of {x._type_text}: {error}")
    except TypeError as error:
        fail(UserTypeError, f"{name_of(ufunc)}.{method} of {x._type_text}: {error}")


def _rule_of(ufunc: np.ufunc, method: str, dtype: DType) -> Callable[[Any, Any], Any]:
    """The ufunc for two Arrays of one dtype, which its result has too."""
    rule = TABLE.get(ufunc)
    if rule is None:
        unsupported(f"{name_of(ufunc)}.{method}", remedy_for(ufunc))
    return lambda x, y: convert(rule(x, y), dtype)


# ---------------------------------------------------------------------------------------------------------------------
# reduce


def reduce(
    ufunc: np.ufunc,
    array: Any,
    out: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    x = plain(array)
    options: dict[str, Any] = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
    if initial is not NO_VALUE:
        options["initial"] = None if initial is None else np.ones((), as_array(initial).dtype)[()]
    if where is not True:
        options["where"] = np.ones(_short(tuple(np.shape(where))), bool)
    if x.ndim == 0 and axis in (0, -1):
        axis = None
    wanted = _ask(ufunc, "reduce", x, out, **options)
    axes = reductions.axes_of(x, axis)
    mask = None if where is True else convert(as_array(where), _dtypes.BOOL)
    if mask is not None:
        shape = np.broadcast_shapes(x.shape, mask.shape)
        x, mask = broadcast(x, shape), broadcast(mask, shape)
    start = None if initial is NO_VALUE or initial is None else _initial(ufunc, initial, wanted)
    if start is None and initial is NO_VALUE and ufunc.identity is not None:
        start = _identity(ufunc, wanted)
    result = _folded(ufunc, convert(x, wanted), axes, mask, start)
    if not keepdims:
        return result
    return reshape(result, [1 if i in axes else n for i, n in enumerate(x.shape)])


def _initial(ufunc: np.ufunc, initial: Any, dtype: DType) -> Any:
    """What elements are folded into; of Python's integers only those that the dtype can hold."""
    if type(initial) is not int:
        return convert(plain(initial), dtype)
    try:
        return constant(initial, dtype)
    except OverflowError as error:
        fail(UserOverflowError, f"{name_of(ufunc)}.reduce: {error}")


def _neutral(ufunc: np.ufunc, dtype: DType, start: Any) -> Any:
    """An element that may join any number of times. Where a ufunc has none, it is one that takes no offence at its like."""
    if ufunc.identity is None:
        return start
    return _identity(ufunc, dtype)


def _identity(ufunc: np.ufunc, dtype: DType) -> Any:
    return as_array(np.asarray(ufunc.identity).astype(dtype))  # -1 has all bits, also of unsigned ones


def _folded(ufunc: np.ufunc, x: Any, axes: tuple[int, ...], mask: Any, start: Any) -> Any:
    """x of the result's dtype, without the axes; elements under the mask are folded into `start`, if there is one."""
    rule = _rule_of(ufunc, "reduce", x.dtype)
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    if math.prod(x.shape[i] for i in axes) == 0:
        return _sharing.fresh(broadcast(start, kept))
    if ufunc not in _ASSOCIATIVE:
        return _in_sequence(ufunc, rule, x, axes, mask, start)
    if mask is not None:
        x = select(mask, x, _neutral(ufunc, x.dtype, start))
    result = _own_reduction(ufunc, x, axes)
    if result is None:
        result = _by_halves(rule, _last(x, axes))
    has_effect = start is not None and not _is_identity(ufunc, start)
    return rule(start, result) if has_effect else result


def _is_identity(ufunc: np.ufunc, start: Any) -> bool:
    """Whether folding into `start` changes nothing: for hypot and gcd it takes the sign away."""
    if ufunc in (np.hypot, np.gcd) or ufunc.identity is None or start._traced:
        return False
    return bool(np.asarray(start) == ufunc.identity)


def _own_reduction(ufunc: np.ufunc, x: Any, axes: tuple[int, ...]) -> Any:
    if x.dtype.kind == "b" and ufunc in _PARITIES:
        count = apply("reduce_sum", convert(x, _dtypes.INT64), axes=axes)
        return convert(apply("bit_and", count, constant(1, _dtypes.INT64)), _dtypes.BOOL)
    if x.dtype.kind == "b" and ufunc in _TRUTHS:
        return apply(_TRUTHS[ufunc], x, axes=axes)
    op = _SUMS.get(ufunc) or _EXTREMES.get(ufunc)
    return None if op is None else apply(op, x, axes=axes)


def _last(x: Any, axes: tuple[int, ...]) -> Any:
    """x with the axes made one, which is the last."""
    others = [i for i in range(x.ndim) if i not in axes]
    moved = transpose(x, [*others, *axes])
    return reshape(moved, [*[x.shape[i] for i in others], math.prod(x.shape[i] for i in axes)])


def _by_halves(rule: Callable[[Any, Any], Any], x: Any) -> Any:
    """The last axis folded: the n-th element of the first half with the n-th of the second, until one is left."""
    axis = x.ndim - 1
    while x.shape[axis] > 1:
        half = x.shape[axis] // 2
        joined = rule(part(x, axis, 0, half), part(x, axis, half, 2 * half))
        odd = [part(x, axis, 2 * half, None)] if x.shape[axis] % 2 else []
        x = concatenate([joined, *odd], axis) if odd else joined
    return reshape(x, x.shape[:-1])


def _check_sequence(ufunc: np.ufunc, method: str, count: int) -> None:
    if count > LONGEST_SEQUENCE:
        unsupported(
            f"{name_of(ufunc)}.{method} along an axis of {count}",
            f"its operations depend on each other, and each is code of its own: {LONGEST_SEQUENCE} are the most",
        )


def _in_sequence(
    ufunc: np.ufunc, rule: Callable[[Any, Any], Any], x: Any, axes: tuple[int, ...], mask: Any, start: Any
) -> Any:
    if not axes:
        after = x if start is None else rule(start, x)
        return after if mask is None else select(mask, after, broadcast(start, x.shape))
    (axis,) = axes  # NumPy refuses several
    if ufunc == np.subtract and mask is None and not _dtypes.is_float(x.dtype):
        return _difference(x, axis, start)
    _check_sequence(ufunc, "reduce", x.shape[axis])
    result = start
    for i in range(x.shape[axis]):
        one = _element(x, axis, i)
        after = one if result is None else rule(result, one)
        if mask is not None:
            assert result is not None  # NumPy wants `initial` with `where`
            after = select(_element(mask, axis, i), after, result)
        result = after
    return result


def _difference(x: Any, axis: int, start: Any) -> Any:
    """x0 - x1 - x2 ... of integers, where the order does not matter."""
    if start is not None:
        return apply("sub", start, apply("reduce_sum", x, axes=[axis]))
    rest = apply("reduce_sum", part(x, axis, 1, None), axes=[axis])
    return apply("sub", _element(x, axis, 0), rest)


def _element(x: Any, axis: int, i: int) -> Any:
    one = part(x, axis, i, i + 1)
    return reshape(one, [n for k, n in enumerate(x.shape) if k != axis])


# ---------------------------------------------------------------------------------------------------------------------
# accumulate


def accumulate(ufunc: np.ufunc, array: Any, out: Any, axis: Any = 0, dtype: Any = None) -> Any:
    x = plain(array)
    wanted = _ask(ufunc, "accumulate", x, out, axis=axis, dtype=dtype)
    x = convert(x, wanted)
    place = reductions.axis_of(x, axis)
    count = x.shape[place]
    rule = _rule_of(ufunc, "accumulate", wanted)
    if ufunc in _RUNNING and wanted.kind != "b":
        return apply(_RUNNING[ufunc], x, axis=place)
    if count < 2:
        return x
    if wanted.kind == "b" and (ufunc in _TRUTHS or ufunc in _PARITIES):
        return _running_truth(ufunc, x, place)
    if ufunc in _ASSOCIATIVE:
        return _by_distance(rule, x, place)
    if ufunc == np.subtract:
        rest = apply("neg", part(x, place, 1, None))
        return apply("cumsum", concatenate([part(x, place, 0, 1), rest], place), axis=place)
    _check_sequence(ufunc, "accumulate", count)
    results = [_element(x, place, 0)]
    for i in range(1, count):
        results.append(rule(results[-1], _element(x, place, i)))
    return stack(results, place)


def _running_truth(ufunc: np.ufunc, x: Any, axis: int) -> Any:
    """Of booleans, as numbers that have an operation of their own: the largest so far, the smallest, how many."""
    numbers = convert(x, _dtypes.UINT8)
    if ufunc in _PARITIES:
        count = apply("cumsum", numbers, axis=axis)  # modulo 256, which keeps what is odd
        return convert(apply("bit_and", count, constant(1, _dtypes.UINT8)), _dtypes.BOOL)
    running = "cummax" if _TRUTHS[ufunc] == "reduce_any" else "cummin"
    return convert(apply(running, numbers, axis=axis), _dtypes.BOOL)


def _by_distance(rule: Callable[[Any, Any], Any], x: Any, axis: int) -> Any:
    """Every element with the one 1 before it, then 2, then 4: in the end, with all before it."""
    distance = 1
    while distance < x.shape[axis]:
        joined = rule(part(x, axis, 0, -distance), part(x, axis, distance, None))
        x = concatenate([part(x, axis, 0, distance), joined], axis)
        distance *= 2
    return x


# ---------------------------------------------------------------------------------------------------------------------
# reduceat, outer


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, out: Any, axis: Any = 0, dtype: Any = None) -> Any:
    x = plain(array)
    what = f"{name_of(ufunc)}.reduceat"
    starts = known(indices)
    if starts is None:
        unsupported(
            f"{what} with indices that are computed",
            "use ufunc.at, np.bincount or np.histogram with the number of the part of every element",
        )
    if x.ndim == 0:
        fail(UserTypeError, "cannot reduceat on a scalar")
    place = reductions.axis_of(x, axis)
    starts = np.asarray(starts)
    if starts.ndim != 1 or not (_dtypes.is_integer(starts.dtype) or starts.size == 0):
        fail(UserTypeError, f"{what}: the indices must be integers along one axis")
    starts = starts.astype(np.int64)
    count = x.shape[place]
    wrong = starts[(starts < 0) | (starts >= count)]
    if wrong.size:
        fail(UserIndexError, f"index {wrong[0]} out-of-bounds in {ufunc.__name__}.reduceat [0, {count})")
    wanted = _ask(ufunc, "accumulate", x, out, axis=axis, dtype=dtype)
    telling = _memory_order.telling_strides(x)
    telling[place] = 0  # the parts are gone through one by one
    made = _reduced_parts(ufunc, convert(x, wanted), starts, place)
    return _memory_order.laid_out(made, _native.common_order([telling], x.ndim))


def _reduced_parts(ufunc: np.ufunc, x: Any, starts: np.ndarray, place: int) -> Any:
    wanted, count = x.dtype, x.shape[place]
    ends = np.append(starts[1:], count)
    lengths = np.maximum(ends - starts, 1)
    first = apply("gather", x, as_array(starts), axis=place, mode="clamp")
    combine = ufuncs.combining(ufunc, wanted)
    if combine is not None:
        # The elements after the first of every part, in their order, and which part each is in.
        parts = np.repeat(np.arange(len(starts)), lengths - 1)
        offsets = np.arange(len(parts)) - np.repeat(np.cumsum(lengths - 1) - (lengths - 1), lengths - 1)
        source = starts[parts] + 1 + offsets if len(parts) else parts
        rest = apply("gather", x, as_array(source.astype(np.int64)), axis=place, mode="clamp")
        rest = ufuncs.combined(ufunc, rest)
        return (
            apply("scatter", first, as_array(parts), rest, axis=place, mode="clamp", combine=combine)
            if len(parts)
            else first
        )
    rule = _rule_of(ufunc, "reduceat", wanted)
    _check_sequence(ufunc, "reduceat", int(lengths.max(initial=0)))
    result = first
    for i in range(1, int(lengths.max(initial=1))):
        longer = as_array(lengths > i)
        element = apply("gather", x, as_array(np.minimum(starts + i, count - 1)), axis=place, mode="clamp")
        shape = [len(starts) if k == place else 1 for k in range(x.ndim)]
        result = select(reshape(longer, shape), rule(result, element), result)
    return result


def outer(ufunc: np.ufunc, left: Any, right: Any, **options: Any) -> Any:
    return ufuncs.call(ufunc, shapes.append_axes(left, np.ndim(right)), right, **options)


def check_method(ufunc: np.ufunc, method: str) -> None:
    """NumPy's refusals that depend on nothing but the ufunc."""
    if ufunc.signature is not None:
        fail(
            UserTypeError,
            f"{ufunc.__name__}.{method}: not defined for a ufunc with the signature {ufunc.signature}",
        )
    if method == "at":
        if ufunc.nin > 2:
            fail(UserValueError, "Only unary and binary ufuncs supported at this time")
        if ufunc.nout != 1:
            fail(UserValueError, "Only single output ufuncs supported at this time")
    elif ufunc.nin != 2:
        kind = "outer product" if method == "outer" else method
        fail(UserValueError, f"{kind} only supported for binary functions")
    elif ufunc.nout != 1 and method != "outer":
        fail(UserValueError, f"{method} only supported for functions returning a single value")


METHODS: dict[str, Callable[..., Any]] = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat}
