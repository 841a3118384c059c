"""The standard's statistical and utility functions, and searching."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Literal

import numpy as np

from .common import A, Axes, DTypeLike, Number, run


def all(x: A, /, *, axis: Axes = None, keepdims: bool = False) -> A:
    """Whether all elements along `axis` are true."""
    return run(np.all, x, axis=axis, keepdims=keepdims)


def any(x: A, /, *, axis: Axes = None, keepdims: bool = False) -> A:
    """Whether some element along `axis` is true."""
    return run(np.any, x, axis=axis, keepdims=keepdims)


def argmax(x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
    """Where the largest element is; the first of several. NaN is larger than all."""
    return run(np.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
    """Where the smallest element is; the first of several. NaN is smaller than all."""
    return run(np.argmin, x, axis=axis, keepdims=keepdims)


def count_nonzero(x: A, /, *, axis: Axes = None, keepdims: bool = False) -> A:
    """How many elements along `axis` are not zero."""
    return run(np.count_nonzero, x, axis=axis, keepdims=keepdims)


def cumulative_prod(
    x: A, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> A:
    """The products of the elements up to each, with 1 before them if `include_initial`."""
    return run(np.cumulative_prod, x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_sum(
    x: A, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> A:
    """The sums of the elements up to each, with 0 before them if `include_initial`."""
    return run(np.cumulative_sum, x, axis=axis, dtype=dtype, include_initial=include_initial)


def diff(x: A, /, *, axis: int = -1, n: int = 1, prepend: A | None = None, append: A | None = None) -> A:
    """Each element less the one before it, `n` times."""
    given = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    return run(np.diff, x, n, axis, **given)


def max(x: A, /, *, axis: Axes = None, keepdims: bool = False) -> A:
    """The largest element along `axis`."""
    return run(np.max, x, axis=axis, keepdims=keepdims)


def mean(x: A, /, *, axis: Axes = None, keepdims: bool = False) -> A:
    """The mean of the elements along `axis`."""
    return run(np.mean, x, axis=axis, keepdims=keepdims)


def min(x: A, /, *, axis: Axes = None, keepdims: bool = False) -> A:
    """The smallest element along `axis`."""
    return run(np.min, x, axis=axis, keepdims=keepdims)


def nonzero(x: A, /) -> tuple[A, ...]:
    """The indices, for each axis, of the elements that are not zero. Outside of jitted functions only."""
    return run(np.nonzero, x)


def prod(x: A, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> A:
    """The product of the elements along `axis`."""
    return run(np.prod, x, axis=axis, dtype=dtype, keepdims=keepdims)


def searchsorted(
    x1: A, x2: A | Number, /, *, side: Literal["left", "right"] = "left", sorter: A | None = None
) -> A:
    """Where the elements of x2 would have to stand in x1 to keep it sorted."""
    return run(np.searchsorted, x1, x2, side=side, sorter=sorter)


def std(x: A, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> A:
    """The standard deviation along `axis`."""
    return run(np.std, x, axis=axis, correction=correction, keepdims=keepdims)


def sum(x: A, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> A:
    """The sum of the elements along `axis`."""
    return run(np.sum, x, axis=axis, dtype=dtype, keepdims=keepdims)


def var(x: A, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> A:
    """The variance along `axis`."""
    return run(np.var, x, axis=axis, correction=correction, keepdims=keepdims)


def where(condition: A, x1: A | Number, x2: A | Number, /) -> A:
    """The elements of x1 where the condition holds, those of x2 elsewhere."""
    return run(np.where, condition, x1, x2)
