"""Functions that make arrays longer, shorter or larger at places that are known."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserIndexError, UserTypeError, UserValueError, fail, unsupported
from .._ops import (
    apply,
    as_array,
    broadcast,
    constant,
    convert,
    full,
    is_array,
    reshape,
    select,
    slice_axis,
    stored,
)
from .._registry import implements
from .joining import concatenate
from .known import at_places, known, plain
from .padding import pad
from .reductions import axis_of, is_end_of_nothing
from .shapes import moveaxis, shape_of, transpose
from .ufuncs import call


def _static(what: str, index: Any) -> Any:
    """Where to edit, which decides the shape, so that it has to be known."""
    if isinstance(index, slice) or not is_array(index):
        return index
    elements = known(index)
    if elements is None:
        unsupported(f"{what} at places that are computed", "the result's shape depends on them; use np.where")
    return elements


def _along(x: Any, axis: Any) -> tuple[Any, int]:
    if axis is None:
        return reshape(x, [x.size]), 0
    return x, axis_of(x, axis)


def _along_bits(x: Any, axis: Any) -> tuple[Any, int]:
    """The same for what takes the first and the last axis of an array without axes, too."""
    return _along(x, None if is_end_of_nothing(x, axis) else axis)


def _edited(function: Any, *args: Any) -> np.ndarray:
    """NumPy's own function, applied to places instead of elements."""
    try:
        return function(*args)
    except IndexError as error:
        fail(UserIndexError, str(error))
    except ValueError as error:
        fail(UserValueError, str(error))


@implements(np.delete)
@_memory_order.makes("A")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    x, place = _along(plain(arr), axis)
    kept = _edited(np.delete, np.arange(x.shape[place]), _static("np.delete", obj))
    return at_places(x, kept, place)


@implements(np.insert)
@_memory_order.makes("A")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x, place = _along(plain(arr), axis)
    where = _static("np.insert", obj)
    new = stored(values, x.dtype)
    new = reshape(new, [*[1] * (x.ndim - new.ndim), *new.shape])
    extent = x.shape[place]
    if not isinstance(where, slice) and np.ndim(where) == 0:
        # Several rows at one place: their first axis is the one that grows.
        new = moveaxis(new, 0, place)
        count = new.shape[place]
        order = _edited(np.insert, np.arange(extent), [where] * count, np.arange(extent, extent + count))
    else:
        listed = np.arange(extent)[where] if isinstance(where, slice) else np.asarray(where)
        marked = listed.astype(np.int64) if listed.size == 0 else listed
        count = int(listed.sum()) if listed.dtype.kind == "b" else listed.size
        order = _edited(np.insert, np.arange(extent), marked, np.arange(extent, extent + count))
    shape = [count if i == place else n for i, n in enumerate(x.shape)]
    try:
        np.broadcast_shapes(new.shape, tuple(shape))
    except ValueError:
        fail(UserValueError, f"np.insert: values of {new._type_text} do not fit {tuple(shape)}")
    return at_places(concatenate([x, broadcast(new, shape)], place), order, place)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    x = plain(a)
    shape = shape_of(new_shape)
    if any(n < 0 for n in shape):
        fail(UserValueError, "all elements of `new_shape` must be non-negative")
    wanted = int(np.prod(shape, dtype=np.int64))
    if x.size == 0 or wanted == 0:
        return broadcast(constant(0, x.dtype), shape)
    times = -(-wanted // x.size)
    repeated = broadcast(reshape(x, [1, x.size]), [times, x.size])
    return reshape(slice_axis(reshape(repeated, [times * x.size]), 0, 0, wanted), shape)


@implements(np.rollaxis)
@_sharing.shares
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    x = plain(a)
    place = axis_of(x, axis)
    if not -x.ndim <= start <= x.ndim:
        axis_of(x, start)  # raises
    before = start + x.ndim if start < 0 else start
    order = [i for i in range(x.ndim) if i != place]
    order.insert(before - 1 if place < before else before, place)
    return transpose(x, order)


def _depth(blocks: Any) -> int:
    """How deep the lists are nested, which has to be the same everywhere."""
    if isinstance(blocks, tuple):
        fail(
            UserTypeError,
            "np.block: only lists can be used to arrange blocks, and np.block does not allow tuples",
        )
    if not isinstance(blocks, list):
        return 0
    if not blocks:
        fail(UserValueError, "List at arrays[0] cannot be empty")
    depths = {_depth(one) for one in blocks}
    if len(depths) > 1:
        fail(UserValueError, "np.block: list depths are mismatched")
    return depths.pop() + 1


def _leaves(blocks: Any) -> list[Any]:
    return [leaf for one in blocks for leaf in _leaves(one)] if isinstance(blocks, list) else [blocks]


@implements(np.block)
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    rank = max(depth, *[plain(leaf).ndim for leaf in _leaves(arrays)], 0)

    def join(blocks: Any, level: int) -> Any:
        if isinstance(blocks, list):
            return concatenate([join(one, level - 1) for one in blocks], rank - level)
        x = plain(blocks)
        return reshape(x, [*[1] * (rank - x.ndim), *x.shape])

    return _sharing.fresh(join(arrays, depth))


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    results = []
    for i, one in enumerate(args):
        x = plain(one)
        if x.ndim != 1:
            fail(UserValueError, "Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            elements = known(one)
            if elements is None:
                unsupported("np.ix_ of a boolean mask that is computed", "its shape depends on values")
            x = as_array(np.flatnonzero(elements))
        results.append(reshape(x, [x.size if j == i else 1 for j in range(len(args))]))
    return tuple(results)


# ---------------------------------------------------------------------------------------------------------------------
# Bits


@implements(np.unpackbits)
@_memory_order.makes("A")
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    x, place = _along_bits(_bytes("np.unpackbits", a), axis)
    # Every byte eight times, beside the bits in turns: lanes go through several bytes at once.
    before, behind = list(x.shape[:place]), list(x.shape[place + 1 :])
    every = [*before, x.shape[place], 8, *behind]
    one_bit = as_array(np.uint8(1) << _bit_shifts(bitorder))
    one_bit = reshape(one_bit._as_traced() if x._traced else one_bit, [8, *[1] * len(behind)])
    wide = reshape(x, [*before, x.shape[place], 1, *behind])
    longer, in_turns = (
        reshape(broadcast(one, every), [*before, 8 * x.shape[place], *behind]) for one in (wide, one_bit)
    )
    is_set = call(np.not_equal, call(np.bitwise_and, longer, in_turns), 0)
    bits = convert(is_set, np.dtype(np.uint8))
    if count is None:
        return bits
    wanted = count if count >= 0 else bits.shape[place] + count
    if wanted < 0:
        fail(UserValueError, f"-count larger than number of elements: {count}")
    missing = [(0, max(wanted - n, 0)) if i == place else (0, 0) for i, n in enumerate(bits.shape)]
    return slice_axis(pad(bits, missing), place, 0, wanted)


@implements(np.packbits)
@_memory_order.makes("A")
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    given = plain(a)
    if given.dtype.kind not in "biu":
        fail(UserTypeError, "Expected an input array of integer or boolean data type")
    shifts = _bit_shifts(bitorder)
    is_byte = given.dtype.kind in "iu" and given.dtype.itemsize == 1
    x, place = _along_bits(given if is_byte else convert(given, _dtypes.BOOL), axis)
    whole = x.shape[place] // 8 * 8
    if whole == x.shape[place]:
        return _packed(x, place, shifts)
    rest = slice_axis(x, place, whole, x.shape[place])
    missing = [(0, whole + 8 - x.shape[place]) if i == place else (0, 0) for i in range(x.ndim)]
    last = _packed(pad(rest, missing), place, shifts)
    if whole == 0:
        return last
    return concatenate([_packed(slice_axis(x, place, 0, whole), place, shifts), last], place)


def _packed(x: Any, place: int, shifts: np.ndarray) -> Any:
    """Of whole bytes. Along the last axis bits are next to each other: with numbers of eight bytes the lanes lie side by side."""
    before, behind = list(x.shape[:place]), list(x.shape[place + 1 :])
    apart = reshape(x, [*before, x.shape[place] // 8, 8, *behind])
    dtype = np.dtype(np.uint64 if place == x.ndim - 1 else np.uint8)
    result: Any = None
    for i, shift in enumerate(shifts):
        bit = reshape(slice_axis(apart, place + 1, i, i + 1), [*before, x.shape[place] // 8, *behind])
        if bit.dtype.kind != "b":
            bit = apply("ne", convert(bit, dtype), constant(0, dtype))
        value = select(bit, *(full(bit.shape, number, dtype) for number in (1 << int(shift), 0)))
        result = value if result is None else apply("bit_or", result, value)
    return convert(result, np.dtype(np.uint8))


def _bytes(what: str, a: Any) -> Any:
    x = plain(a)
    if x.dtype != np.uint8:
        fail(UserTypeError, f"{what}: Expected an input array of unsigned byte data type, not {x.dtype}")
    return x


def _bit_shifts(order: str) -> np.ndarray:
    if order not in ("big", "little"):
        fail(UserValueError, "'order' must be either 'little' or 'big'")
    return np.arange(8, dtype=np.uint8)[:: -1 if order == "big" else 1].copy()
