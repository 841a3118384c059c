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
    """The axes from the outermost to the innermost, as a copy that keeps the order has them: those along which elements are
    repeated are inside of all others. Those of one element stay where they are."""
    if strides == _sharing.row_strides(tuple(shape)):
        return list(range(len(shape)))
    if 0 not in shape and _sharing.is_stretched(shape, strides):
        telling = [0 if n == 1 else 2 * abs(stride) + 1 for n, stride in zip(shape, strides, strict=True)]
        return _native.common_order([telling], len(shape))
    return _native.order_in_memory(shape, strides) or list(range(len(shape)))


def telling_strides(x: Array) -> list[int]:
    """The strides of x, as they tell the order in which NumPy goes through it; those of axes of one element tell nothing."""
    return [0 if n == 1 else stride for n, stride in zip(x.shape, _sharing.strides_of(x), strict=True)]


def are_by_rows(arrays: Sequence[Array]) -> bool:
    """Whether all of them lie by rows, without gaps: then so does what is made of them."""
    return all(map(_native.lies_by_rows, arrays))


def visited(x: Array) -> list[int]:
    """The order in which NumPy goes through the axes of an array: of those along which elements are repeated, where they are."""
    return _native.common_order([telling_strides(x)], x.ndim)


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
    """The elements of x with their axes in this order in memory; x itself when they are. Where some are repeated, they are no
    longer."""
    wanted = list(order)
    if x.ndim < 2 or not _native.is_tracing():
        return x
    lies = order_of(x)
    if (lies == wanted or _tell(x, lies) == _tell(x, wanted)) and not _is_repeated(x):
        return x
    x = x._as_traced()
    back = [wanted.index(axis) for axis in range(x.ndim)]
    row_major = _native.apply("convert", (_permuted(x, wanted),), dtype=x.dtype)
    return _permuted(row_major, back)._with_weak(x._weak)


def laid_out_by(x: Array, strides: tuple[int, ...]) -> Array:
    """The elements of x in memory in the order that the strides of an array of its shape tell."""
    if strides == _sharing.row_strides(x.shape) and _native.lies_by_rows(x) and not _is_repeated(x):
        return x  # as most do
    return laid_out(x, order_by(x.shape, strides))


def by_rows(x: Array) -> Array:
    """The elements of x with their axes in memory in the order in which they are, as those of most arrays lie already."""
    return x if are_by_rows((x,)) else laid_out(x, range(x.ndim))


def _is_repeated(x: Array) -> bool:
    return x._traced and _sharing.is_stretched(x.shape, x._numpy_strides())


def _tell(x: Array, order: Sequence[int]) -> list[int]:
    """Those of the axes that tell where elements lie: they have more than one."""
    shape = x.shape
    return [axis for axis in order if shape[axis] != 1]


def asked_for(x: Array, order: Any, like: Array) -> Array:
    """x in the order that a letter says of `like`. Who asks for columns by name gets them in memory."""
    made = laid_out(x, named(order, like))
    if order in ("F", "f") and made._traced:
        made._give_numpy_strides()
    return made


def said_to_lie(x: Array, order: Sequence[int]) -> Array:
    """x, which was just made, and of which NumPy's would have its axes in this order; as a result it lies as it is made."""
    if x.ndim < 2 or not _native.is_tracing() or order_of(x) == list(order):
        return x
    x = x._as_traced()
    x._say_numpy_strides(_sharing.dense_strides(x.shape, order))
    return x


def _permuted(x: Array, order: list[int]) -> Array:
    if order == sorted(order):
        return x
    return _native.apply("transpose", (x,), permutation=order)


def all_laid_out(results: Any, order: str, like: Any = None) -> Any:
    """The results of a function in an order that is asked for: by what it says of `like`, or else of themselves."""
    if isinstance(results, (tuple, list)):
        return type(results)(all_laid_out(one, order, like) for one in results)
    if not isinstance(results, _native.ArrayBase):
        return results
    is_like = isinstance(like, _native.ArrayBase) and like.ndim == results.ndim
    if order == "K" and not is_like and not _is_repeated(results):  # type: ignore[arg-type]
        return results
    return laid_out(results, named(order, like if is_like else results))  # type: ignore[arg-type]


def makes(order: str) -> Callable[[F], F]:
    """Marks a function whose results lie in memory in this order, by what its first argument does."""

    def mark(function: F) -> F:
        @functools.wraps(function)
        def ordered(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            return all_laid_out(result, order, args[0] if args else None) if _native.is_tracing() else result

        return ordered  # type: ignore[return-value]

    return mark
