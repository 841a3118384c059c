"""x[...] = y, np.copyto, np.putmask: new elements for part of an array.

What is written is a new value; `_sharing` makes the array, and all that shares its memory, stand for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _native, _sharing
from .._errors import Unsupported, UserIndexError, UserTypeError, UserValueError, fail, unsupported
from .._native import ArrayBase
from .._ops import (
    apply,
    as_array,
    as_number,
    broadcast,
    convert,
    is_array,
    is_number,
    reshape,
    select,
    slice_axis,
    stored,
)
from .._registry import implements
from .._unknown import IN_NDARRAY, need_more
from .indexing import basic, expanded, is_index_array
from .masked import Masked, everywhere, is_computed_mask, is_mask, is_same_mask, refuse, view_under_mask

#: Known places in an array as small as this are a choice between old and new elements, which fuses with what follows.
_FEW = 1 << 14
#: After as many writes to an array the next ones go to memory: everything that reads it would have to make all the choices.
_MANY_WRITES = 8
#: As many slices are written one by one.
_FEW_SLICES = 4


def setitem(x: Any, key: Any, value: Any) -> None:
    selection = _native.select(x, key)
    if selection is None:
        is_one = is_number(value) or getattr(value, "ndim", None) == 0
        counts = is_mask if is_one and _is_choice(x) else is_computed_mask
        if (found := view_under_mask(x, key, counts)) is not None:
            _write_under_mask(*found, value)
            return
        items = expanded(x, key)
        if any(is_index_array(item) for item in items):
            _write_places(x, items, value)
            return
        selection = _native.select(x, tuple(items))
        assert selection is not None
    if _sharing.is_scalar(x):
        _sharing.refuse_scalar(x, "x[...] = y")
    dtype, shape = x.dtype, selection.shape
    if not shape and np.ndim(value) and not _has_ellipsis(key):
        fail(UserValueError, "setting an array element with a sequence.")
    new = fitting(dtype, shape, as_number(value, dtype), "x[...] = y", "unsafe")
    _sharing.write_selected(x, selection, new, "x[...] = y")


def _is_choice(x: Any) -> bool:
    """Whether a number under a known mask is written by choosing for every element, which fuses with what makes x and what follows.
    In the memory of a large argument only the elements under the mask are written."""
    is_in_memory = x.size > _FEW and _sharing.is_argument(x)
    return not is_in_memory and _sharing.count_writes(x) < _MANY_WRITES


def _has_ellipsis(key: Any) -> bool:
    return any(item is Ellipsis for item in (key if isinstance(key, tuple) else (key,)))


def _write_places(x: Any, items: list[Any], value: Any) -> None:
    from .scattering import set_places

    if any(is_array(item) for item in items):
        set_places(x, items, value)
    elif x.size <= _FEW and _sharing.count_writes(x) < _MANY_WRITES:
        _sharing.write(x, _at_known_places(x, tuple(items), value), "x[indices] = y")
    elif (axis := _axis_of_few(items)) is not None:
        _write_slices(x, items, axis, value)
    else:
        set_places(x, items, value)


def _axis_of_few(items: list[Any]) -> int | None:
    """The axis of the only index array, if it names a few slices: the first and last row, say."""
    axes = [axis for axis, item in enumerate(items) if is_index_array(item) or type(item) is int]
    if len(axes) != 1 or items[axes[0]].ndim != 1 or items[axes[0]].size > _FEW_SLICES:
        return None
    return axes[0]


def _write_slices(x: Any, items: list[Any], axis: int, value: Any) -> None:
    """One after the other; each is a choice, so they fuse with what follows."""
    places = items[axis].tolist()
    shape = list(basic(x, [slice(None) if i == axis else item for i, item in enumerate(items)]).shape)
    shape[axis] = len(places)
    given = _sharing.fresh(stored(value, x.dtype))  # it may be a view of x
    new = broadcast_into(given, shape, "x[indices] = y")
    for i, place in enumerate(places):
        one = basic(x, [place if k == axis else item for k, item in enumerate(items)])
        _sharing.write(one, reshape(slice_axis(new, axis, i, i + 1), one.shape), "x[indices] = y")


def fitting(dtype: np.dtype[Any], shape: tuple[int, ...], value: Any, what: str, casting: Any) -> Any:
    """What is written to an array of that dtype and shape: a value of both."""
    if isinstance(value, ArrayBase) and value.dtype is dtype and value._weak is None:
        return broadcast_into(value, shape, what)
    if is_number(value) and dtype.kind == "f":  # which adopts the dtype
        return broadcast_into(stored(value, dtype), shape, what)
    if not (is_number(value) and np.can_cast(np.result_type(value, dtype), dtype, casting)):
        given = as_array(value)
        if not np.can_cast(given.dtype, dtype, casting):
            fail(UserTypeError, f"{what}: cannot cast {given.dtype} to {dtype} in place; use astype")
    return broadcast_into(stored(value, dtype), shape, what)


def fitting_result(x: Any, result: Any, what: str, casting: Any) -> Any:
    """What a result that x is the place for becomes there: NumPy takes none with more axes, not even of one element."""
    if result.ndim > x.ndim:
        fail(UserValueError, f"{what}: {result._type_text} does not fit into the shape {tuple(x.shape)}")
    return fitting(x.dtype, x.shape, result, what, casting)


def broadcast_into(value: Any, shape: Sequence[int], what: str) -> Any:
    if value.shape == tuple(shape):
        return value
    given = value
    while given.ndim > len(shape) and given.shape[0] == 1:
        given = reshape(given, given.shape[1:])
    fits = given.ndim <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(given.shape), reversed(shape), strict=False)
    )
    if not fits:
        fail(UserValueError, f"{what}: {value._type_text} does not fit into the shape {tuple(shape)}")
    return broadcast(given, shape)


def _write_under_mask(x: Any, mask: Any, axis: int, value: Any) -> None:
    """x[mask] = value, where the mask begins at an axis: behind others, the value has to be the same for all elements."""
    if axis != 0 and np.ndim(value) != 0:
        refuse("x[:, mask] = y with a y that is not a number")
    _sharing.write(x, _masked(x, as_array(mask), axis, value), "x[mask] = y")


def _masked(x: Any, mask: Any, axis: int, given: Any) -> Any:
    """x with `given` where the mask is true: elements under the same mask, or what is the same for all of them, but for
    the axes behind."""
    where = broadcast(mask, x.shape) if mask.ndim == 0 else everywhere(mask, x, axis)
    if isinstance(given, Masked):
        if not is_same_mask(given.mask, mask) or given.values.shape != x.shape:
            refuse("x[mask] = y[other_mask]")
        return select(where, convert(given.values, x.dtype), x)
    value = stored(given, x.dtype)
    behind = x.ndim - axis - mask.ndim
    if value.ndim == behind + 1 and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    if value.ndim > behind:
        fail(
            Unsupported,
            f"x[mask] = y with y of {value._type_text} is not supported, because how many elements are true depends "
            "on values: use np.where(mask, y, x) with a y of the shape of x",
        )
    return select(where, broadcast_into(value, x.shape, "x[mask] = y"), x)


def _at_known_places(x: Any, key: Any, value: Any) -> Any:
    """x with `value` where NumPy would put it: every element knows which of the values it becomes, if any."""
    try:
        places = np.arange(x.size).reshape(x.shape)[key]
    except IndexError as error:
        fail(UserIndexError, f"x[indices] = y: {error} ({x._type_text})")
    new = broadcast_into(stored(value, x.dtype), places.shape, "x[indices] = y")
    flat = with_known_places(
        reshape(_sharing.fresh(x), [x.size]), places.ravel(), reshape(new, [places.size])
    )
    return reshape(flat, x.shape)


def with_known_places(x: Any, places: np.ndarray, new: Any) -> Any:
    """x, of one axis, with the new elements at places that are known and inside."""
    if places.size == 0:
        return x
    if x.size > _FEW:
        return apply("scatter", x, as_array(places), new, axis=0, mode="clamp", combine="set")
    source = np.full(x.size, -1)
    source[places] = np.arange(places.size)  # of several for the same element, the last
    picked = apply("gather", new, as_array(np.maximum(source, 0)), axis=0, mode="clamp")
    return select(as_array(source >= 0), picked, x)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    check_destination("np.copyto", dst, src, where)
    if isinstance(src, (list, tuple)):
        src = as_array(src)  # its elements have a dtype of their own, before they are cast
    new = fitting(dst.dtype, dst.shape, src, "np.copyto", casting)
    if where is not True:
        new = select(broadcast(as_array(where), dst.shape), new, dst)
    _sharing.write(dst, new, "np.copyto")


def check_destination(what: str, x: Any, *values: Any) -> None:
    if not isinstance(x, ArrayBase):
        for value in values:
            if is_array(value) and value._traced:
                need_more(value)
        unsupported(
            f"{what} into an ndarray", f"a value that is computed later cannot be stored in it; {IN_NDARRAY}"
        )
