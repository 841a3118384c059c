"""Writes at places that are computed: x[i] = y, ufunc.at, np.put and the like.

What is indexed by integer arrays is seen as one axis, the "places": the axes that have an index array, made neighbours and then one.
A scatter puts the values there; the axes are then split and moved back. Indices that are known are checked here, computed ones when
the program runs.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserIndexError, UserTypeError, UserValueError, fail
from .._ops import (
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
    stored,
    transpose,
)
from .._registry import implements
from .indexing import (
    array_axes,
    basic,
    check_other_axes,
    is_index_array,
    known_places,
    point_places,
    wrapped_places,
)
from .known import known
from .reductions import axis_of, cumsum
from .writing import broadcast_into, check_destination, with_known_places


class Places:
    """Where x[items] is, for items with integer arrays among them; each is for one axis of `part`, which shares the memory of x."""

    def __init__(self, x: Any, items: list[Any]) -> None:
        items = [np.asarray(item) if type(item) is int else item for item in items]
        self.part = basic(x, [slice(None) if is_index_array(item) else item for item in items])
        advanced, first = array_axes(items)
        others = [axis for axis in range(self.part.ndim) if axis not in advanced]
        self.axis = first
        self.order = [*others[:first], *advanced, *others[first:]]
        self.moved = [self.part.shape[axis] for axis in self.order]
        self.extents = self.moved[first : first + len(advanced)]
        self.index, self.mode = point_places([one for one in items if is_index_array(one)], self.extents, first)

    @property
    def shape(self) -> list[int]:
        """Of what NumPy has at x[items]."""
        behind = self.moved[self.axis + len(self.extents) :]
        return [*self.moved[: self.axis], *self.index.shape, *behind]

    @property
    def elements(self) -> Any:
        """All of the part, with one axis for the places."""
        return self._merged(self.part)

    def _merged(self, x: Any) -> Any:
        behind = self.moved[self.axis + len(self.extents) :]
        return reshape(transpose(x, self.order), [*self.moved[: self.axis], math.prod(self.extents), *behind])

    def read(self) -> Any:
        return apply("gather", self.elements, self.index, axis=self.axis, mode=self.mode)

    def replaced(self, values: Any, combine: str = "set") -> Any:
        """The part, with values of the shape above there, one after the other."""
        new = apply(
            "scatter",
            self.elements,
            self.index,
            values,
            axis=self.axis,
            mode=self.mode,
            combine=combine,
        )
        return self._split(new)

    def _split(self, new: Any) -> Any:
        inverse = [self.order.index(axis) for axis in range(len(self.order))]
        return transpose(reshape(new, self.moved), inverse)

    def write(self, values: Any, what: str, combine: str = "set") -> None:
        _sharing.write(self.part, self.replaced(values, combine), what)

    def write_elements(self, new: Any, what: str) -> None:
        _sharing.write(self.part, self._split(new), what)


def set_places(x: Any, items: list[Any], value: Any) -> None:
    """x[items] = value, with integer arrays among the items; of several values for one element, the last stays."""
    places = Places(x, items)
    given = stored(value, x.dtype)
    places.write(broadcast_into(given, places.shape, "x[indices] = y"), "x[indices] = y")


# ---------------------------------------------------------------------------------------------------------------------
# By position in the flattened array


def _cycled(values: Any, count: int) -> Any:
    """The first `count` of the values, which begin again when they end."""
    if values.size == 1:
        return broadcast(reshape(values, [1]), [count])
    flat = reshape(values, [values.size])
    if values.size == count:
        return flat
    turn = apply("mod", iota([count], 0, _dtypes.INT64), constant(values.size, _dtypes.INT64))
    return apply("gather", flat, turn, axis=0, mode="clamp")


def _write_flat(a: Any, index: Any, mode: str, values: Any, what: str) -> None:
    flat = reshape(_sharing.fresh(a), [a.size])
    new = apply("scatter", flat, index, values, axis=0, mode=mode, combine="set")
    _sharing.write(a, reshape(new, a.shape), what)


def _write_flat_known(a: Any, places: np.ndarray, values: Any, what: str) -> None:
    flat = reshape(_sharing.fresh(a), [a.size])
    _sharing.write(a, reshape(with_known_places(flat, places, values), a.shape), what)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    check_destination("np.put", a, ind, v)
    if mode not in ("raise", "wrap", "clip"):
        fail(UserValueError, f"np.put: mode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    values = stored(v, a.dtype)
    places = known(ind)
    if places is not None and places.size == 0:
        return
    index: Any = as_array(ind) if places is None else places
    if not np.can_cast(index.dtype, np.int64):
        fail(UserTypeError, f"np.put: cannot cast indices from {index.dtype} to int64 safely")
    if index.size == 0 or values.size == 0:
        return
    if a.size == 0:
        fail(UserIndexError, "np.put: cannot replace elements of an empty array")
    new = _cycled(values, index.size)
    if places is not None:
        places = places.ravel().astype(np.int64)
        if mode == "raise":
            places = known_places(places, a.size, 0)
        places = places % a.size if mode == "wrap" else np.clip(places, 0, a.size - 1)
        _write_flat_known(a, places, new, "np.put")
        return
    flat = convert(reshape(index, [index.size]), _dtypes.INT64)
    if mode == "wrap":
        flat = apply("mod", flat, constant(a.size, _dtypes.INT64))
    elif mode == "raise":
        flat = wrapped_places(flat, a.size)
    _write_flat(a, flat, "check" if mode == "raise" else "clamp", new, "np.put")


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    check_destination("np.put_along_axis", arr, indices, values)
    index = indices if is_array(indices) else np.asarray(indices)
    if not _dtypes.is_integer(index.dtype):
        fail(UserIndexError, "`indices` must be an integer array")
    if axis is None:
        if index.ndim != 1:
            fail(UserValueError, "when axis=None, `indices` must have a single dimension.")
        _put_flat(arr, index, values)
        return
    place = axis_of(arr, axis)
    if index.ndim != arr.ndim:
        fail(UserValueError, "`indices` and `arr` must have the same number of dimensions")
    check_other_axes(index.shape, arr, place)
    items = []
    for i, extent in enumerate(arr.shape):
        shape = [-1 if k == i else 1 for k in range(arr.ndim)]
        items.append(index if i == place else np.arange(extent).reshape(shape))
    if place == arr.ndim - 1 == 0:
        set_places(arr, [index], values)
    else:
        set_places(arr, items, values)


def _put_flat(arr: Any, index: Any, values: Any) -> None:
    new = broadcast_into(stored(values, arr.dtype), index.shape, "np.put_along_axis")
    places, mode = point_places([index], [arr.size], 0)
    _write_flat(arr, places, mode, new, "np.put_along_axis")


def _cast_safely(what: str, values: Any, dtype: np.dtype[Any]) -> Any:
    """Arrays keep their values; scalars and lists are cast as they are elsewhere."""
    is_array_of_its_own = is_ndarray(values) or (is_array(values) and not _sharing.is_scalar(values))
    if is_array_of_its_own and not np.can_cast(values.dtype, dtype, "safe"):
        fail(
            UserTypeError,
            f"{what}: cannot cast {values.dtype} to {dtype} according to the rule 'safe'; use astype first",
        )
    return stored(values, dtype)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    check_destination("np.place", arr, mask, vals)
    condition = reshape(convert(as_array(mask), _dtypes.BOOL), [np.size(mask)])
    if condition.size != arr.size:
        fail(UserValueError, "place: mask and data must be the same size")
    values = _cast_safely("np.place", vals, arr.dtype)
    if values.size == 0:
        chosen = known(mask)
        if chosen is not None and not chosen.any():
            return
        fail(UserValueError, "Cannot insert from an empty array!")
    if arr.size == 0:
        return
    new = values
    if values.size > 1:
        # The n-th that is true gets the n-th value, and so on in turns.
        rank = cumsum(condition) - 1
        turn = apply("mod", rank, constant(values.size, _dtypes.INT64))
        new = apply("gather", reshape(values, [values.size]), turn, axis=0, mode="clamp")
    flat = reshape(_sharing.fresh(arr), [arr.size])
    written = select(condition, broadcast(reshape(new, [new.size]), [arr.size]), flat)
    _sharing.write(arr, reshape(written, arr.shape), "np.place")


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Unlike np.place, an element gets the value at its own position, in turns where there are fewer."""
    check_destination("np.putmask", a, mask, values)
    condition = convert(as_array(mask), _dtypes.BOOL)
    if condition.size != a.size:
        fail(UserValueError, "putmask: mask and data must be the same size")
    given = _cast_safely("np.putmask", values, a.dtype)
    if given.size == 0 or a.size == 0:
        return
    new = given if given.shape == a.shape else reshape(_cycled(given, a.size), a.shape)
    _sharing.write(a, select(reshape(condition, a.shape), new, _sharing.fresh(a)), "np.putmask")


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    check_destination("np.fill_diagonal", a, val)
    if a.ndim < 2:
        fail(UserValueError, "array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        fail(UserValueError, "All dimensions of input must be of equal length")
    values = stored(val, a.dtype)
    if a.size == 0:
        return
    if values.size == 1 and not (wrap and a.ndim == 2):
        on_diagonal = _equal_positions(a.shape)
        new = broadcast(reshape(values, []), a.shape)
        _sharing.write(a, select(on_diagonal, new, _sharing.fresh(a)), "np.fill_diagonal")
        return
    if a.ndim == 2:
        places = np.arange(0, a.size if wrap else min(a.shape[1] ** 2, a.size), a.shape[1] + 1)
    else:
        places = np.arange(0, a.size, 1 + int(np.cumprod(a.shape[:-1]).sum()))
    if values.size == 0:
        fail(UserValueError, "Error setting single item of array.")
    _write_flat_known(a, places, _cycled(values, len(places)), "np.fill_diagonal")


def _equal_positions(shape: Sequence[int]) -> Any:
    first = iota(shape, 0, _dtypes.INT64)
    result = None
    for axis in range(1, len(shape)):
        same = apply("eq", first, iota(shape, axis, _dtypes.INT64))
        result = same if result is None else apply("bit_and", result, same)
    return result
