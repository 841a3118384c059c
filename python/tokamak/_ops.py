"""The primitives, as functions of Arrays that already have the right dtypes and shapes.

Every other module builds on these. They record when an operand is traced, and run at once otherwise.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _native, _sharing
from ._errors import UserMemoryError, UserOverflowError, UserTypeError, UserValueError, fail

if TYPE_CHECKING:
    from ._array import Array

Scalar = (bool, int, float)
_asarray = np.asarray  # NumPy's own: while a function is traced, np.asarray has to find out who calls it


_apply, _ArrayBase = _native.apply, _native.ArrayBase


def apply(op: str, *operands: Array, **attributes: Any) -> Array:
    return _apply(op, operands, **attributes)


def is_array(value: object) -> bool:
    return isinstance(value, _ArrayBase)


def is_ndarray(value: object) -> bool:
    """One of NumPy's arrays. While a function is traced, Arrays are instances of their class, too."""
    return issubclass(type(value), np.ndarray)


def is_number(value: object) -> bool:
    """One of Python's own numbers, which adopt the dtype of what they meet."""
    return type(value) in Scalar


def constant(value: Any, dtype: np.dtype[Any]) -> Array:
    """An Array holding `value`; OverflowError when an integer does not fit, as in NumPy."""
    return _native.wrap(_asarray(value, dtype))


def as_array(value: Any) -> Array:
    """Any operand as an Array: Arrays as they are, ndarrays without a copy, numbers with their default dtype."""
    if issubclass(type(value), _ArrayBase):
        return value
    if is_ndarray(value):
        if _dtypes.is_bfloat16(value.dtype):
            _dtypes.know_bfloat16()
        if type(value) is not np.ndarray:
            value = plain_ndarray(value)
        return _sharing.with_memory(_native.wrap(value))
    if isinstance(value, (bool, int, float, np.generic)):
        return _native.wrap(_numeric(_asarray(value)))
    if isinstance(value, (list, tuple)):
        return _from_sequence(value)
    if isinstance(value, range):
        return _native.wrap(_asarray(value))
    fail(UserTypeError, f"a {type(value).__name__} is not an array or a number")


def plain_ndarray(value: np.ndarray) -> np.ndarray:
    """The array below a subclass of ndarray that adds no meaning; others are refused."""
    if isinstance(value, np.memmap):
        return value.view(np.ndarray)
    fail(UserTypeError, f"a {type(value).__name__} means more than its elements; pass np.asarray(...) of it")


def _numeric(array: np.ndarray) -> np.ndarray:
    _dtypes.check(array.dtype)
    return array


def _from_sequence(values: Sequence[Any]) -> Array:
    """A nested list: of numbers, or with Arrays in it."""
    if not any(_holds_array(value) for value in values):
        return _native.wrap(_numeric(_asarray(values)))
    from ._numpy import joining

    return joining.stack([as_array(value) for value in values])


def _holds_array(value: Any) -> bool:
    if isinstance(value, _ArrayBase):
        return True
    if not isinstance(value, (list, tuple)):
        return False
    for item in value:
        if _holds_array(item):
            return True
    return False


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    return x if x.dtype == dtype and x._weak is None else strong(x, dtype)


def stored(value: Any, dtype: np.dtype[Any]) -> Array:
    """What is written of a value to an array of that dtype. Of Python's numbers, alone or in lists, what the dtype cannot hold is an
    error, as in NumPy."""
    if is_number(value) and dtype == _dtypes.FLOAT64:  # of which no float is too large
        return _constant_of(value, dtype)
    if not is_number(value) and not (isinstance(value, (list, tuple)) and not _holds_array(value)):
        given = as_array(value)
        if given._weak is float and given._traced and dtype.kind in "iu":
            given = _whole(given._with_weak(None), dtype)
        return convert(given, dtype)
    if not is_number(value) or dtype.kind != "f":
        given = as_array(value)  # it may be no number at all
        if dtype.kind not in "iuf" or given.dtype == dtype:
            return convert(given, dtype)
    with np.errstate(over="ignore"):
        return _constant_of(value, dtype)  # a conversion at once would be compiled


def _constant_of(value: Any, dtype: np.dtype[Any]) -> Array:
    try:
        return constant(value, dtype)
    except OverflowError as error:
        fail(UserOverflowError, str(error))
    except ValueError as error:
        fail(UserValueError, str(error))


def as_number(value: Any, dtype: np.dtype[Any]) -> Any:
    """What is stored of NumPy's scalars, alone or in lists, where NumPy makes elements of the dtype one by one: signed integers take
    them as they would Python's numbers, so that one that does not fit is an error. Unsigned ones wrap; and so does what is cast."""
    if dtype.kind != "i":
        return value
    if isinstance(value, (list, tuple)):
        return [as_number(one, dtype) for one in value]
    if not is_array(value):
        return value.item() if isinstance(value, np.generic) else value
    if value.dtype == dtype or value._weak is not None or not (value._traced and _sharing.is_scalar(value)):
        return value
    if value.dtype.kind == "f":
        return _whole(value, dtype)
    return _fitting(value, dtype) if value.dtype.kind in "iu" else value


def strong(x: Array, dtype: np.dtype[Any]) -> Array:
    """As `dtype`, and no longer adopting that of others."""
    if x.dtype == dtype:
        return x._with_weak(None)
    if dtype.kind == "b":
        return apply("ne", x, constant(0, x.dtype))
    if x._weak is int and x._traced and dtype.kind in "iu":
        x = _fitting(x._with_weak(None), dtype)
    return apply("convert", x, dtype=dtype)


def _fitting(number: Array, dtype: np.dtype[Any]) -> Array:
    """An integer, which is an error when the program runs if the dtype cannot hold it."""
    limits, own = np.iinfo(dtype), np.iinfo(number.dtype)
    fits = [apply("ge", number, constant(limits.min, number.dtype))] if limits.min > own.min else []
    if limits.max < own.max:
        fits.append(apply("le", number, constant(limits.max, number.dtype)))
    if not fits:
        return number
    return checked(number, functools.reduce(lambda x, y: apply("bit_and", x, y), fits), "check_fits")


def _whole(number: Array, dtype: np.dtype[Any]) -> Array:
    """A float without its fraction, which is an error when the program runs if an integer of the dtype cannot be that."""
    whole = checked(apply("trunc", number), apply("eq", number, number), "check_number")
    limits = np.iinfo(dtype)
    least, beyond = (constant(float(limit), number.dtype) for limit in (limits.min, int(limits.max) + 1))
    is_outside = apply("bit_or", apply("lt", whole, least), apply("ge", whole, beyond))  # what is no number is neither
    return checked(whole, apply("bit_not", is_outside), "check_fits")


def as_integer(number: Array) -> Array:
    """A number as one of Python's integers, of those that have 64 bits."""
    number = number._with_weak(None)
    if number.dtype.kind != "b":
        number = (_fitting if number.dtype.kind in "iu" else _whole)(number, _dtypes.INT64)
    return convert(number, _dtypes.INT64)._with_weak(int)


# The primitives that NumPy has views for: inside a function that shares memory, the result knows what it is a view of.


def reshape(x: Array, shape: Sequence[int]) -> Array:
    if x.shape == tuple(shape):
        return x
    wanted = list(shape)

    def forward(parent: Array) -> Array:
        return apply("reshape", parent, shape=wanted)

    def put_back(parent: Array, new: Array) -> Array:
        return apply("reshape", new, shape=list(parent.shape))

    return _sharing.view(
        x,
        forward(x),
        lambda: _sharing.reshaped_strides(x, wanted),
        forward,
        put_back,
        lambda memory: memory.reshape(wanted),
    )


def broadcast(x: Array, shape: Sequence[int]) -> Array:
    if x.shape == tuple(shape):
        return x
    wanted = list(shape)

    def forward(parent: Array) -> Array:
        return apply("broadcast", parent, shape=wanted)

    def strides() -> list[int]:
        own = [0 if n == 1 else stride for n, stride in zip(x.shape, _sharing.strides_of(x), strict=True)]
        return [0] * (len(wanted) - x.ndim) + own

    return _sharing.view(
        x, forward(x), strides, forward, None, lambda memory: np.broadcast_to(memory, wanted)
    )


def transpose(x: Array, permutation: Sequence[int]) -> Array:
    order = list(permutation)
    if order == list(range(x.ndim)):
        return x
    inverse = [order.index(axis) for axis in range(len(order))]

    def forward(parent: Array) -> Array:
        return apply("transpose", parent, permutation=order)

    def put_back(parent: Array, new: Array) -> Array:
        return apply("transpose", new, permutation=inverse)

    return _sharing.view(
        x,
        forward(x),
        lambda: [_sharing.strides_of(x)[axis] for axis in order],
        forward,
        put_back,
        lambda memory: memory.transpose(order),
    )


def reverse(x: Array, axes: Sequence[int]) -> Array:
    if not axes:
        return x
    return _select(x, [slice(None, None, -1 if axis in axes else None) for axis in range(x.ndim)])


def slice_(x: Array, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]) -> Array:
    return _select(x, list(map(slice, starts, limits, steps)))


def _select(x: Array, key: list[slice]) -> Array:
    selection = _native.select(x, tuple(key))
    assert selection is not None
    return _sharing.selected(x, selection) if _sharing.is_viewing() else selection.forward(x)


def checked(result: Array, holds: Array, check: str) -> Array:
    """The result, if a condition without axes holds; otherwise the program raises what the check is about."""
    outside = select(holds, constant(0, _dtypes.INT64), constant(1, _dtypes.INT64))
    return apply("gather", reshape(result, [1, *result.shape]), outside, axis=0, mode=check)


def against_diagonal(op: str, shape: Sequence[int], k: int) -> Array:
    """Where `column op row + k` holds in a matrix: "eq" on the k-th diagonal, "le" up to it, "ge" from it on."""
    rows, columns = shape
    k = max(min(k, columns), -rows)  # beyond all diagonals is beyond all diagonals
    dtype = _dtypes.INT32 if rows + columns < 1 << 31 else _dtypes.INT64
    row = iota(shape, 0, dtype)
    return apply(op, iota(shape, 1, dtype), apply("add", row, constant(k, dtype)) if k else row)


def slice_axis(x: Array, axis: int, start: int, limit: int, step: int = 1) -> Array:
    starts, limits, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], steps[axis] = start, limit, step
    return slice_(x, starts, limits, steps)


def full(shape: Sequence[int], value: Any, dtype: np.dtype[Any]) -> Array:
    check_shape(shape)
    return broadcast(constant(value, dtype), shape)


def iota(shape: Sequence[int], axis: int, dtype: np.dtype[Any]) -> Array:
    return apply("iota", shape=list(shape), axis=axis, dtype=dtype)


def select(condition: Array, yes: Array, no: Array) -> Array:
    return apply("select", condition, yes, no)


def check_shape(shape: Sequence[int]) -> None:
    if any(extent < 0 for extent in shape):
        fail(UserValueError, f"shape {tuple(shape)} has a negative extent")
    if any(extent >= 1 << 63 for extent in shape):
        fail(UserMemoryError, f"shape {tuple(shape)} is too large")


def broadcast_shapes(what: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " with ".join(str(shape) for shape in shapes)
        fail(UserValueError, f"{what}: cannot broadcast {listed}")
