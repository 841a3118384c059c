"""The standard's functions that make arrays. They give Arrays: inside a jitted function as values of its program."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _dtypes
from .._array import Array, check_device
from .._errors import UserValueError, fail
from .._numpy import creating, sequences
from .._ops import apply, constant, iota
from .common import A, DTypeLike, Number, run

Shape = int | tuple[int, ...]


def arange(
    start: Number,
    /,
    stop: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> Array:
    """The numbers from `start` to before `stop`, `step` apart; from 0 to before `start` where there is no stop."""
    check_device(device)
    first, last = (0, start) if stop is None else (start, stop)
    integers = all(isinstance(one, int) for one in (first, last, step))
    if not integers or (dtype is not None and _dtypes.check(dtype) != _dtypes.INT64):
        return creating.arange(first, last, step, dtype=None if dtype is None else _dtypes.check(dtype))
    if step == 0:
        fail(UserValueError, "arange: the step is 0")
    count = len(range(int(first), int(last), int(step)))
    places = apply("mul", iota([count], 0, _dtypes.INT64), constant(step, _dtypes.INT64))
    return apply("add", places, constant(first, _dtypes.INT64))


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """An array whose elements do not matter: zeros."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: A, /, *, dtype: DTypeLike | None = None, device: Any = None) -> A:
    """An array like x whose elements do not matter: zeros."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> Array:
    """Ones on the k-th diagonal, zeros elsewhere."""
    check_device(device)
    return creating.eye(n_rows, n_cols, k, float if dtype is None else dtype)


def full(shape: Shape, fill_value: Number, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """An array with the same value everywhere."""
    check_device(device)
    return creating.full_(shape, fill_value, dtype)


def full_like(x: A, /, fill_value: Number, *, dtype: DTypeLike | None = None, device: Any = None) -> A:
    """An array like x with the same value everywhere."""
    check_device(device)
    return run(np.full_like, x, fill_value, dtype=dtype)


def linspace(
    start: Number,
    stop: Number,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """`num` numbers from `start` to `stop`, as far from each other; without the stop where `endpoint` is False."""
    check_device(device)
    return sequences.linspace(start, stop, num, endpoint, dtype=dtype)


def meshgrid(*arrays: A, indexing: Literal["xy", "ij"] = "xy") -> list[A]:
    """The coordinates of a grid: for each array one with its elements along one axis, the same along the others."""
    return list(run(np.meshgrid, *arrays, indexing=indexing))


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """An array of ones."""
    check_device(device)
    return creating.ones(shape, dtype)


def ones_like(x: A, /, *, dtype: DTypeLike | None = None, device: Any = None) -> A:
    """An array like x of ones."""
    check_device(device)
    return run(np.ones_like, x, dtype=dtype)


def tril(x: A, /, *, k: int = 0) -> A:
    """x with zeros above the k-th diagonal of its last two axes."""
    return run(np.tril, x, k)


def triu(x: A, /, *, k: int = 0) -> A:
    """x with zeros below the k-th diagonal of its last two axes."""
    return run(np.triu, x, k)


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """An array of zeros."""
    check_device(device)
    return creating.zeros(shape, dtype)


def zeros_like(x: A, /, *, dtype: DTypeLike | None = None, device: Any = None) -> A:
    """An array like x of zeros."""
    check_device(device)
    return run(np.zeros_like, x, dtype=dtype)
