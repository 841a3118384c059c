"""x[...], take, take_along_axis.

Integers, slices, ellipsis and newaxis are views. Integer arrays gather: indices that are known are checked here, those that are
computed are checked when the program runs. A boolean mask that is known is the indices of what is true; one that is computed has a
shape that depends on values, and is refused.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _native, _sharing
from .._errors import Unsupported, UserIndexError, UserValueError, fail, unsupported
from .._native import ArrayBase
from .._ops import (
    _holds_array,
    apply,
    as_array,
    broadcast,
    constant,
    convert,
    iota,
    is_array,
    is_ndarray,
    reshape,
    select,
    transpose,
)
from .._registry import implements
from .reductions import axis_of, is_end_of_nothing
from .ufuncs import call


def plain_getitem(x: Any, key: Any) -> Any:
    """x[key] for a key of integers, slices, None and an ellipsis, as most are; None of any other."""
    selection = _native.select(x, key)
    return None if selection is None else _element_or_view(x, _sharing.selected(x, selection), key)


def getitem(x: Any, key: Any) -> Any:
    items = expanded(x, key)
    if not any(is_index_array(item) for item in items):
        return _element_or_view(x, basic(x, items), key)
    if all(is_array(item) and _sharing.is_scalar(item) for item in items if is_index_array(item)):
        return _element_or_view(x, _at_scalars(x, items), key)
    # Beside arrays, integers are arrays too. First what is basic, with whole axes where arrays stand; then the arrays.
    items = [np.asarray(item) if type(item) is int else item for item in items]
    return _gather_axes(basic(x, [slice(None) if is_index_array(i) else i for i in items]), items)


def _element_or_view(x: Any, found: Any, key: Any) -> Any:
    """An element is a scalar, which has no memory, unless there is an ellipsis in the key."""
    if found.ndim:
        return _sharing.whole(x) if found is x else found
    if Ellipsis not in _listed(key):
        return _sharing.fresh(found)
    return _sharing.with_memory(_sharing.fresh(found) if _sharing.is_scalar(x) else found)


@_sharing.shares
def _at_scalars(x: Any, items: list[Any]) -> Any:
    """x[k, :, 0] with computed integers: a view, as with those that are known."""
    part = basic(x, [slice(None) if is_index_array(item) else item for item in items])
    # One item for every axis of the part, which may have scalars among them.
    items = [
        _sharing.fresh(item) if is_index_array(item) else slice(None)
        for item in items
        if type(item) is not int and item is not Ellipsis
    ]

    def forward(parent: Any) -> Any:
        return _gather_axes(parent, items)

    def put_back(parent: Any, new: Any) -> Any:
        from .scattering import Places

        return Places(parent, items).replaced(new)

    def strides() -> list[int]:
        along = zip(_sharing.strides_of(part), items, strict=True)
        return [stride for stride, item in along if not is_index_array(item)]

    return _sharing.view(part, forward(part), strides, forward, put_back)


def is_index_array(item: Any) -> bool:
    return isinstance(item, (ArrayBase, np.ndarray))


def _listed(key: Any) -> list[Any]:
    """The items of a key that are no arrays."""
    given = key if isinstance(key, tuple) else (key,)
    return [item for item in given if not isinstance(item, (ArrayBase, np.ndarray, list))]


def expanded(x: Any, key: Any) -> list[Any]:
    """The key as a list with one item per axis (and newaxis where new ones are), each an int, slice, None or array. An ellipsis is left
    where it stands for no axis between indices, which it keeps apart."""
    given = [_item(x, item) for item in (key if isinstance(key, tuple) else (key,))]
    items: list[Any] = []
    for i, item in enumerate(given):
        if not _is_known_mask(item):
            items.append(item)
            continue
        is_behind = any(one is Ellipsis for one in given[:i])
        axis = x.ndim - sum(map(_axes_of, given[i:])) if is_behind else sum(map(_axes_of, given[:i]))
        items += _places_of(x, item, axis)
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > x.ndim:
        fail(UserIndexError, f"too many indices for {x._type_text}: {used} were given")
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        fail(UserIndexError, "an index can only have a single ellipsis ('...')")
    at = ellipses[0] if ellipses else len(items)
    before, behind = items[:at], items[at + 1 :]
    middle: list[Any] = [slice(None)] * (x.ndim - used)
    if ellipses and not middle and any(map(is_index_array, items)):
        if any(map(_is_index, before)) and any(map(_is_index, behind)):
            middle = [
                Ellipsis
            ]  # arrays that it stands between are not neighbours, even if it stands for no axis
    return before + middle + behind


def _is_index(item: Any) -> bool:
    """Beside arrays, integers are arrays too."""
    return type(item) is int or is_index_array(item)


def array_axes(items: list[Any]) -> tuple[list[int], int]:
    """The axes that items with arrays among them have these for; and where the axes of the result are: from the first of them on, if
    they are neighbours, else in front of the others."""
    at = [i for i, item in enumerate(items) if is_index_array(item)]
    axes = [i - sum(item is Ellipsis for item in items[:i]) for i in at]
    return axes, axes[0] if len(at) == at[-1] - at[0] + 1 else 0


def _is_known_mask(item: Any) -> bool:
    return is_ndarray(item) and item.dtype.kind == "b"


def _axes_of(item: Any) -> int:
    """How many axes an item of a key is for."""
    if item is None or item is Ellipsis:
        return 0
    return int(item.ndim) if _is_known_mask(item) else 1


def _places_of(x: Any, item: Any, axis: int) -> list[Any]:
    """A known mask in a key: an array of indices for each of its axes."""
    if item.ndim == 0:
        unsupported("indexing with a bool", "use np.where with three arguments")
    if item.shape != x.shape[axis : axis + item.ndim]:
        fail(
            UserIndexError,
            f"a boolean mask of shape {item.shape} does not fit {x._type_text} from axis {axis} on",
        )
    return list(np.nonzero(item))


def _item(x: Any, item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if type(item) in (bool, np.bool_):
        unsupported("indexing with a bool", "use np.where with three arguments")
    if isinstance(item, (int, np.integer)) and not is_array(item):
        return operator.index(item)
    if isinstance(item, (list, tuple)) or is_ndarray(item):
        if not is_ndarray(item):
            item = as_array(item) if _holds_array(item) else np.asarray(item)
        if item.size == 0 and not is_array(item) and item.dtype.kind == "f":
            item = item.astype(np.int64)
    if is_array(item) and not item._traced:
        if _sharing.is_scalar(item) and _dtypes.is_integer(item.dtype):
            return int(item)
        item = item._view(False)
    if not isinstance(item, (np.ndarray, ArrayBase)):
        fail(
            UserIndexError,
            f"a {type(item).__name__} is no index; integers, slices, ellipsis, None and integer arrays are",
        )
    if is_ndarray(item) and item.dtype.kind == "b":
        return item
    if item.dtype.kind == "b":
        fail(
            Unsupported,
            f"indexing {x._type_text} with a boolean mask is not supported, because the result's shape depends on "
            "values: use np.where(mask, x, 0), or where= of a reduction",
        )
    if not _dtypes.is_integer(item.dtype):
        fail(UserIndexError, f"arrays used as indices must be of integer type, not {item.dtype}")
    return item


def basic(x: Any, items: list[Any]) -> Any:
    """The view of x that integers, slices and newaxis select."""
    selection = _native.select(x, tuple(items))
    assert selection is not None
    return _sharing.selected(x, selection)


# ---------------------------------------------------------------------------------------------------------------------
# Integer arrays


def _gather_axes(x: Any, items: list[Any]) -> Any:
    """x[:, i, j, :] for integer arrays i, j that broadcast together; every item is for one axis of x. The axes of the
    result are where those of neighbouring arrays were, else they come first."""
    advanced, first = array_axes(items)
    indices = [item for item in items if is_index_array(item)]
    others = [axis for axis in range(x.ndim) if axis not in advanced]
    inside = [others.index(axis) for axis in _memory_order.order_of(x) if axis in others]
    x = transpose(x, [*others[:first], *advanced, *others[first:]])
    alone = len(indices) == 1
    found = _taken(x, indices[0], first, "raise") if alone else _gather_points(x, indices, first)
    return _lying_by_places(found, indices, first, inside)


def _lying_by_places(found: Any, indices: list[Any], first: int, inside: list[int]) -> Any:
    """NumPy fills the result place by place, each with the axes `inside`, in which nothing is looked for, as they lay. Where the
    places come first it is made so; but x[:, i] is made by rows, of which each is read once, where NumPy goes through x for every
    place."""
    if found.ndim < 2 or not _native.is_tracing():
        return found
    rank = found.ndim - len(inside)
    by_place = list(range(rank))
    if rank > 1 and all(n == 1 for i, n in enumerate(found.shape) if not first <= i < first + rank):
        is_known = all(map(is_ndarray, indices))
        added = functools.reduce(np.add if is_known else functools.partial(call, np.add), indices)
        by_place = _memory_order.order_of(as_array(added))
    others = [*range(first), *range(first + rank, found.ndim)]
    order = [*[i + first for i in by_place], *[others[i] for i in inside]]
    return _memory_order.said_to_lie(found, order) if first else _memory_order.laid_out(found, order)


def _gather_points(x: Any, indices: list[Any], axis: int) -> Any:
    """Several index arrays in neighbouring axes: one gather from those axes made one."""
    extents = x.shape[axis : axis + len(indices)]
    merged = reshape(x, [*x.shape[:axis], int(np.prod(extents)), *x.shape[axis + len(indices) :]])
    places, mode = point_places(indices, extents, axis)
    return apply("gather", merged, places, axis=axis, mode=mode)


def point_places(indices: Sequence[Any], extents: Sequence[int], axis: int) -> tuple[Any, str]:
    """Index arrays for neighbouring axes from `axis` on as one, for those axes made one; and the mode that checks it if it has to be."""
    shapes = [tuple(index.shape) for index in indices]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes))
        fail(
            UserIndexError,
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {listed}",
        )
    if all(is_ndarray(index) for index in indices):
        parts = [
            known_places(index, extent, axis + i)
            for i, (index, extent) in enumerate(zip(indices, extents, strict=True))
        ]
        if len(parts) == 1:
            return as_array(parts[0]), "clamp"
        flat = np.ravel_multi_index(tuple(np.broadcast_to(part, shape) for part in parts), extents)
        return as_array(flat), "clamp"
    if len(indices) == 1:
        (index,) = indices
        return (index if _is_from_start(index) else wrapped_places(index, extents[0])), "check"
    place, valid = constant(0, _dtypes.INT64), constant(True, _dtypes.BOOL)
    for i, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        if is_ndarray(index):
            wrapped = as_array(known_places(index, extent, axis + i))
        else:
            wrapped = wrapped_places(as_array(index), extent)
            valid = apply("bit_and", valid, are_inside(wrapped, extent))
        place = apply("add", apply("mul", place, constant(extent, _dtypes.INT64)), wrapped)
    place = select(valid, place, constant(-1, _dtypes.INT64))  # out of range in one axis is out of range
    return broadcast(place, shape), "check_joined"


def known_places(index: np.ndarray, extent: int, axis: int) -> np.ndarray:
    """Indices that are known, checked and made not negative."""
    index = as_signed(index)
    wrong = (index < -extent) | (index >= extent)
    if wrong.any():
        fail(
            UserIndexError,
            f"index {index[wrong].flat[0]} is out of bounds for axis {axis} with size {extent}",
        )
    return np.where(index < 0, index + extent, index).astype(np.int64)


def as_signed(index: np.ndarray) -> np.ndarray:
    """Arrays of indices as NumPy takes them: what int64 cannot hold of uint64 is negative there. A number by itself is not."""
    return index.astype(np.int64) if index.dtype == np.uint64 and index.ndim else index


def _is_from_start(index: Any) -> bool:
    """Whether no computed index is negative: see `as_signed`."""
    return bool(index.dtype.kind == "u" and (index.ndim == 0 or index.dtype != _dtypes.UINT64))


def wrapped_places(index: Any, extent: int) -> Any:
    """Computed indices with the negative ones counted from the end."""
    index = convert(index, _dtypes.INT64)
    zero, end = constant(0, _dtypes.INT64), constant(extent, _dtypes.INT64)
    return select(apply("lt", index, zero), apply("add", index, end), index)


def are_inside(place: Any, extent: int) -> Any:
    """Whether places that `wrapped_places` gave are those of elements."""
    zero, end = constant(0, _dtypes.INT64), constant(extent, _dtypes.INT64)
    return apply("bit_and", apply("ge", place, zero), apply("lt", place, end))


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    x = as_array(a)
    if axis is None or is_end_of_nothing(x, axis):
        x, axis = reshape(x, [x.size]), 0
    place = axis_of(x, axis)
    if mode == "raise" and 0 in x.shape[:place]:
        mode = "clip"  # np.take looks at its indices once for each place of the axes before; x[:, i] always does
    return _taken(x, indices, place, mode)


@_memory_order.makes("C")
def _taken(x: Any, indices: Any, place: int, mode: str) -> Any:
    extent = x.shape[place]
    if not is_array(indices):
        known = as_signed(np.asarray(indices))
        if known.size == 0:
            known = known.astype(np.int64)
        if not _dtypes.is_integer(known.dtype):
            fail(UserIndexError, f"arrays used as indices must be of integer type, not {known.dtype}")
        if mode == "wrap" and extent:
            known = known % extent
        elif mode == "clip":
            known = np.clip(known, 0, max(extent - 1, 0))
        return apply("gather", x, as_array(known_places(known, extent, place)), axis=place, mode="clamp")
    if not _dtypes.is_integer(indices.dtype):
        fail(UserIndexError, f"arrays used as indices must be of integer type, not {indices.dtype}")
    if mode == "clip":
        return apply("gather", x, convert(indices, _dtypes.INT64), axis=place, mode="clamp")
    if mode == "wrap":
        index = apply("mod", convert(indices, _dtypes.INT64), constant(extent, _dtypes.INT64))
        return apply("gather", x, index, axis=place, mode="clamp")
    index = indices if _is_from_start(indices) else wrapped_places(indices, extent)
    return apply("gather", x, index, axis=place, mode="check")


def check_other_axes(indices: Sequence[int], x: Any, place: int) -> None:
    """Indices along an axis have the extents of x along the others, or one of both has 1."""
    for i, (n, m) in enumerate(zip(indices, x.shape, strict=True)):
        if i != place and n != m and 1 not in (n, m):
            fail(
                UserIndexError,
                f"indices of the shape {tuple(indices)} do not fit {x._type_text} along axis {i}",
            )


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    x = as_array(arr)
    if axis is None:
        x, axis = reshape(x, [x.size]), 0
    index = as_array(indices)
    place = axis_of(x, axis)
    if index.ndim != x.ndim:
        fail(
            UserIndexError,
            f"np.take_along_axis: {index._type_text} and {x._type_text} differ in the number of axes",
        )
    check_other_axes(index.shape, x, place)
    extents = enumerate(zip(index.shape, x.shape, strict=True))
    shape = [n if i == place or m == 1 else m for i, (n, m) in extents]
    flat = wrapped_places(index, x.shape[place])
    valid = are_inside(flat, x.shape[place])
    stride = 1
    total = constant(0, _dtypes.INT64)
    for i in reversed(range(x.ndim)):
        if i != place and x.shape[i] == 1:
            continue
        position = flat if i == place else iota(shape, i, _dtypes.INT64)
        total = apply("add", total, apply("mul", position, constant(stride, _dtypes.INT64)))
        stride *= x.shape[i]
    total = select(valid, total, constant(-1, _dtypes.INT64))
    return apply("gather", reshape(x, [x.size]), broadcast(total, shape), axis=0, mode="check")


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """Which elements are taken has to be known."""
    from .known import known

    chosen = known(condition)
    if chosen is None:
        unsupported(
            "np.compress with a condition that is computed",
            "its shape depends on values; use np.where with three arguments",
        )
    if chosen.ndim != 1:
        fail(UserValueError, "condition must be a 1-d array")
    return take(a, np.flatnonzero(chosen), axis)
