"""The order in which NumPy would have the axes of an array lie in memory, and how to ask for another one.

Values that are traced have no memory; but their results will, and some functions (`x.ravel(order="K")`) ask for the order. What
NumPy does by itself is found by going through the graph. Where a function does something else, it says so with
`laid_out`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native, _sharing
from ._errors import UserValueError, fail

if TYPE_CHECKING:
    from ._array import Array

F = TypeVar("F", bound=Callable[..., Any])


def order_by(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The axes from the outermost to the innermost. Those of one element stay where they are."""
    places = [axis for axis, extent in enumerate(shape) if extent != 1]
    order = list(range(len(shape)))
    if all(strides[axis] != 0 and shape[axis] != 0 for axis in places):
        for place, axis in zip(places, sorted(places, key=lambda axis: -abs(strides[axis])), strict=True):
            order[place] = axis
    return order


def order_of(x: Array) -> list[int]:
    return order_by(x.shape, _sharing.strides_of(x))


def is_column_major(x: Array) -> bool:
    """What NumPy calls Fortran-contiguous, and is not C-contiguous as well."""
    strides = _sharing.strides_of(x)
    if x.size == 0 or _sharing.is_dense(x.shape, strides):
        return False
    return _sharing.is_dense(x.shape[::-1], strides[::-1])


def named(order: Any, x: Array) -> list[int]:
    """What "C", "F", "A" and "K" say about an array made of x."""
    letter = "K" if order is None else str(order).upper()
    if letter not in ("C", "F", "A", "K"):
        fail(UserValueError, f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    axes = list(range(x.ndim))
    if letter == "K":
        return order_of(x)
    return axes[::-1] if letter == "F" or (letter == "A" and is_column_major(x)) else axes


def laid_out(x: Array, order: Sequence[int]) -> Array:
    """The elements of x with their axes in this order in memory; x itself when they are."""
    wanted = list(order)
    if x.ndim < 2 or order_of(x) == wanted or not _native.is_tracing():
        return x
    x = x._as_traced()
    back = [wanted.index(axis) for axis in range(x.ndim)]
    row_major = _native.apply("convert", (_permuted(x, wanted),), dtype=x.dtype)
    return _permuted(row_major, back)._with_weak(x._weak)


def _permuted(x: Array, order: list[int]) -> Array:
    if order == sorted(order):
        return x
    return _native.apply("transpose", (x,), permutation=order)


def all_laid_out(results: Any, order: str) -> Any:
    """The results of a function that was asked for an order."""
    if isinstance(results, tuple):
        return tuple(all_laid_out(one, order) for one in results)
    return laid_out(results, named(order, results))


def makes(order: str) -> Callable[[F], F]:
    """Marks a function whose results lie in memory in this order, by what its first argument does."""

    def mark(function: F) -> F:
        @functools.wraps(function)
        def ordered(*args: Any, **kwargs: Any) -> Any:
            return _all_laid_out(function(*args, **kwargs), order, args[0] if args else None)

        return ordered  # type: ignore[return-value]

    return mark


def _all_laid_out(result: Any, order: str, first: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_all_laid_out(one, order, first) for one in result)
    if not isinstance(result, _native.ArrayBase) or not result._traced or result.ndim < 2:
        return result
    has_order = isinstance(first, _native.ArrayBase) and first.ndim == result.ndim
    axes = named(order, first) if has_order else list(range(result.ndim))
    return laid_out(result, axes)  # type: ignore[arg-type]
