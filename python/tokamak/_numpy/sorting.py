"""Sorting, and what it gives at once: orders of elements, partitions, several keys."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserTypeError, UserValueError, fail
from .._ops import apply, broadcast, constant, full, iota, reshape
from .._registry import implements
from .known import known, plain
from .reductions import axis_of

_KINDS = ("q", "m", "h", "s")


def _check_kind(what: str, kind: Any, order: Any, stable: Any) -> bool:
    """Whether a stable sort is asked for. Positions are always those of one."""
    if kind is not None and stable is not None:
        fail(UserValueError, f"{what}: `kind` and `stable` parameters can't be provided at the same time")
    if order is not None:
        fail(UserValueError, f"{what}: cannot specify order when the array has no fields")
    if kind is not None and not (isinstance(kind, str) and kind[:1].lower() in _KINDS):
        fail(UserValueError, f"{what}: sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return bool(stable) or (kind is not None and kind[:1].lower() in "ms")


def _flat_unless(x: Any, axis: Any) -> tuple[Any, int]:
    """The array and the axis to sort along; without one, all elements in a row."""
    if axis is None:
        return reshape(x, [x.size]), 0
    return x, axis_of(x, axis)


def _with_an_axis(x: Any) -> Any:
    """Where NumPy takes a number for an array of one element."""
    return x if x.ndim else reshape(x, [1])


def sorted_along(x: Any, axis: int) -> Any:
    return apply("sort", x, axis=axis) if x.shape[axis] > 1 else x


def order_along(x: Any, axis: int) -> Any:
    """Where the elements of the sorted array are. Of one element, at its place."""
    return apply("argsort", x, axis=axis) if x.shape[axis] > 1 else full(x.shape, 0, _dtypes.INT64)


def _sorted(x: Any, axis: int, is_stable: bool) -> Any:
    """A stable sort keeps zeros in their order, whatever their sign; another one has -0.0 first, and is faster."""
    if is_stable and _dtypes.is_float(x.dtype):
        return along(x, order_along(x, axis), axis)
    return sorted_along(x, axis)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    is_stable = _check_kind("np.sort", kind, order, stable)
    x, place = _flat_unless(plain(a), axis)
    return _sorted(x, place, is_stable)


@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _check_kind("np.argsort", kind, order, stable)
    x, place = _flat_unless(_with_an_axis(plain(a)), axis)
    return order_along(x, place)


def sort_in_place(x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """x.sort()"""
    is_stable = _check_kind("x.sort", kind, order, stable)
    _sharing.write(x, _sorted(x, axis_of(x, axis), is_stable), "x.sort")


# ---------------------------------------------------------------------------------------------------------------------
# Partitions. What is promised is that the k-th element is where sorting puts it, smaller ones are before it and larger
# ones behind. A sorted array keeps that promise for every k.


def _check_partition(what: str, x: Any, place: int, kth: Any, kind: Any, order: Any) -> None:
    if not isinstance(kind, str) or kind[:1].lower() != "i":
        fail(UserValueError, f"{what}: select kind must be 'introselect' (got {kind!r})")
    if order is not None:
        fail(UserValueError, f"{what}: cannot specify order when the array has no fields")
    elements = known(kth)
    dtype, ndim = (kth.dtype, kth.ndim) if elements is None else (elements.dtype, elements.ndim)
    if dtype.kind == "b":
        fail(UserValueError, f"{what}: booleans unacceptable as partition index")
    if not _dtypes.is_integer(dtype):
        fail(UserTypeError, f"{what}: partition index must be integer")
    if ndim > 1:
        fail(UserValueError, f"{what}: kth array must have dimension <= 1")
    extent = x.shape[place]
    if elements is None or x.size == 0:
        return
    for k in elements.ravel().tolist():
        if not -extent <= k < extent:
            fail(UserValueError, f"{what}: kth(={k}) out of bounds ({extent})")


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    x, place = _flat_unless(plain(a), axis)
    _check_partition("np.partition", x, place, kth, kind, order)
    return sorted_along(x, place)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    x, place = _flat_unless(_with_an_axis(plain(a)), axis)
    _check_partition("np.argpartition", x, place, kth, kind, order)
    return order_along(x, place)


def partition_in_place(
    x: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> None:
    """x.partition(kth)"""
    place = axis_of(x, axis)
    _check_partition("x.partition", x, place, kth, kind, order)
    _sharing.write(x, sorted_along(x, place), "x.partition")


# ---------------------------------------------------------------------------------------------------------------------
# Several keys


def along(x: Any, index: Any, axis: int) -> Any:
    """x at the places `index` along an axis, which are known to be inside. Other axes are as they are in x."""
    if x.size == 0:
        return x
    if x.ndim == 1:
        return apply("gather", x, index, axis=0, mode="clamp")
    place = constant(0, _dtypes.INT64)
    stride = 1
    for i in reversed(range(x.ndim)):
        position = index if i == axis else iota(index.shape, i, _dtypes.INT64)
        place = apply("add", place, apply("mul", position, constant(stride, _dtypes.INT64)))
        stride *= x.shape[i]
    return apply("gather", reshape(x, [x.size]), broadcast(place, index.shape), axis=0, mode="clamp")


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Sorted by one key after the other, the last of them last: stable sorting keeps what those before have made."""
    listed = [plain(key) for key in keys]
    if not listed:
        fail(UserTypeError, "need sequence of keys with len > 0 in lexsort")
    shape = listed[0].shape
    if any(key.shape != shape for key in listed):
        fail(UserValueError, "all keys need to be the same shape")
    if not shape:
        return constant(0, _dtypes.INT64)
    place = axis_of(listed[0], axis)
    order = order_along(listed[0], place)
    for key in listed[1:]:
        order = along(order, order_along(along(key, order, place), place), place)
    return order
