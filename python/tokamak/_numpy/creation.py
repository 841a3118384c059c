"""Arrays like other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserTypeError, UserValueError, fail
from .._ops import against_diagonal, as_array, broadcast, check_shape, constant, convert, is_number
from .._registry import implements
from .known import plain
from .shapes import shape_of


def _filled(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    x = as_array(a)
    wanted = x.dtype if dtype is None else _dtypes.check(dtype)
    extents = list(x.shape) if shape is None else shape_of(shape)
    check_shape(extents)
    fill = constant(value, wanted) if is_number(value) else convert(as_array(value), wanted)
    if x._traced:  # else what is computed from it would be run while the function is traced
        fill = fill._as_traced()
    return broadcast(fill, extents)


def _like(a: Any, value: Any, dtype: Any, shape: Any, order: str) -> Any:
    made, x = _filled(a, value, dtype, shape), as_array(a)
    if x.ndim != made.ndim:  # there is no order to keep
        order, x = ("F" if order.upper() == "F" else "C"), made
    return _sharing.with_memory(_memory_order.asked_for(made, order, x))


def copied(x: Any, order: Any) -> Any:
    made = _memory_order.asked_for(x, order, x)
    return _sharing.copied(x) if made is x else made


@implements(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _like(a, 0, dtype, shape, order)


@implements(np.empty_like)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    return _like(prototype, 0, dtype, shape, order)


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _like(a, 1, dtype, shape, order)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    return _like(a, fill_value, dtype, shape, order)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return _sharing.with_memory(copied(plain(a), order))


@implements(np.astype)
@_sharing.shares
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return as_array(x).astype(dtype, copy=copy)


@implements(np.meshgrid)
@_sharing.shares
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    from .._ops import reshape

    arrays = [as_array(x) for x in xi]
    rank = len(arrays)
    if indexing not in ("xy", "ij"):
        fail(UserValueError, "Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = [1, 0]

    @_sharing.shares
    def made() -> list[Any]:
        columns = [
            reshape(x, [x.size if i == place else 1 for i in range(rank)])
            for x, place in zip(arrays, places, strict=True)
        ]
        shape = np.broadcast_shapes(*[x.shape for x in columns])
        return columns if sparse else [broadcast(x, shape) for x in columns]

    return tuple(copied(one, "C") if copy else one for one in made())


def _triangle(m: Any, k: int, upper: bool) -> Any:
    from .._ops import select

    x = as_array(m)
    if x.ndim == 0:
        fail(UserTypeError, f"np.{'triu' if upper else 'tril'}: {x._type_text} has no axes")
    shape = list(x.shape[-2:]) if x.ndim >= 2 else [x.shape[0], x.shape[0]]
    return select(against_diagonal("ge" if upper else "le", shape, k), x, constant(0, x.dtype))


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, upper=False)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, upper=True)
