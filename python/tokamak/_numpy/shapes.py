"""Functions that move elements without computing: reshapes, transposes, flips, rolls."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import Error, UserTypeError, UserValueError, fail, make, unsupported, user_line
from .._ops import (
    apply,
    as_array,
    broadcast_shapes,
    check_shape,
    constant,
    convert,
    iota,
    is_array,
    reverse,
    slice_axis,
)
from .._ops import broadcast as broadcast_op
from .._ops import reshape as reshape_op
from .._ops import transpose as transpose_op
from .._registry import implements
from .._unknown import argument_name, need_numbers
from .known import known
from .reductions import AxisError, axes_of, axis_of, is_end_of_nothing


def shape_of(shape: Any) -> list[int]:
    """A shape (or axes) as users give it: a number, or numbers."""
    try:
        return [operator.index(shape)] if np.ndim(shape) == 0 else [operator.index(n) for n in shape]
    except TypeError as error:
        if isinstance(error, Error):
            raise
        fail(UserTypeError, f"{shape!r} is no shape: {error}")


@implements(np.reshape)
@_sharing.never_itself
@_sharing.shares
def reshape(a: Any, shape: Any = None, order: str = "C", *, copy: bool | None = None) -> Any:
    x = as_array(a)
    is_column_major = _is_column_major("np.reshape", order, x)
    wanted = shape_of(shape)
    if wanted.count(-1) > 1:
        fail(UserValueError, f"np.reshape: only one extent of {tuple(wanted)} can be -1")
    if -1 in wanted:
        rest = -math.prod(wanted)
        if rest == 0 or x.size % rest:
            fail(UserValueError, f"np.reshape: {x._type_text} does not fit {tuple(wanted)}")
        wanted[wanted.index(-1)] = x.size // rest
    check_shape(wanted)
    made = reshaped_by_columns(x, wanted) if is_column_major else reshape_op(x, wanted)
    if copy is False and not _shares_with(made, x):
        fail(UserValueError, f"np.reshape: {x._type_text} cannot be had as {tuple(wanted)} without a copy")
    return _sharing.fresh(made) if copy else made


def _is_column_major(what: str, order: str, x: Any) -> bool:
    """Whether the elements are to be counted with the first axis running fastest."""
    if order.upper() not in ("C", "F", "A"):
        fail(UserValueError, f"{what}: order must be 'C', 'F' or 'A', not {order!r}")
    return order.upper() == "F" or (order.upper() == "A" and _memory_order.is_column_major(x))


def reshaped_by_columns(x: Any, shape: list[int]) -> Any:
    """A reshape with the first axis running fastest: that of the transpose, transposed."""
    turned = reshape_op(transpose_op(x, range(x.ndim)[::-1]), shape[::-1])
    return transpose_op(turned, range(len(shape))[::-1])


class ShapeError(UserValueError, AttributeError):
    """A shape that an array cannot be given."""


def set_shape(x: Any, shape: Any) -> None:
    """x.shape = shape: no new array, but another shape of this one."""
    if name := argument_name(x):
        unsupported(
            f"setting the shape of the argument {name}",
            f"the caller's array would have to change its shape; write {name} = {name}.reshape({shape!r})",
        )
    made = reshape(x, shape)
    if made.shape == x.shape:
        return
    if not _shares_with(made, x):
        raise make(
            ShapeError,
            f"{x._type_text} cannot be given the shape {made.shape} without a copy; use reshape",
            user_line(),
        )
    _sharing.become(x, made)


def _shares_with(made: Any, x: Any) -> bool:
    """Whether they are views of one memory."""
    return made is x or _sharing.steps_between(x, made) is not None


@implements(np.ravel)
@_sharing.shares
def ravel(a: Any, order: str = "C") -> Any:
    x = as_array(a)
    order = order.upper()
    if order not in ("C", "F", "A", "K"):
        fail(UserValueError, f"np.ravel: order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if x.ndim > 1:
        x = transpose_op(x, _memory_order.visited(x) if order == "K" else _memory_order.named(order, x))
    flat = reshape_op(x, [x.size])
    return flat if _sharing.is_contiguous(x) else _sharing.fresh(flat)


@implements(np.transpose, np.permute_dims)
@_sharing.never_itself
@_sharing.shares
def transpose(a: Any, axes: Any = None) -> Any:
    x = as_array(a)
    if axes is None:
        return transpose_op(x, range(x.ndim)[::-1])
    order = [axis_of(x, axis) for axis in axes]
    if sorted(order) != list(range(x.ndim)):
        fail(UserValueError, f"np.transpose: axes {tuple(axes)} do not match {x._type_text}")
    return transpose_op(x, order)


@implements(np.matrix_transpose)
@_sharing.shares
def matrix_transpose(x: Any) -> Any:
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
@_sharing.never_itself
@_sharing.shares
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    x = as_array(a)
    first, second = axis_of(x, axis1), axis_of(x, axis2)
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return transpose_op(x, order)


@implements(np.moveaxis)
@_sharing.never_itself
@_sharing.shares
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    x = as_array(a)
    sources = [axis_of(x, axis) for axis in shape_of(source)]
    destinations = [axis_of(x, axis) for axis in shape_of(destination)]
    if len(sources) != len(destinations):
        fail(UserValueError, "np.moveaxis: source and destination differ in length")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return transpose_op(x, order)


@implements(np.squeeze)
@_sharing.shares
def squeeze(a: Any, axis: Any = None) -> Any:
    x = as_array(a)
    axes = axes_of(x, axis) if axis is not None else tuple(i for i, n in enumerate(x.shape) if n == 1)
    for i in axes:
        if x.shape[i] != 1:
            fail(UserValueError, f"np.squeeze: axis {i} of {x._type_text} is not 1")
    return reshape_op(x, [n for i, n in enumerate(x.shape) if i not in axes])


@implements(np.expand_dims)
@_sharing.never_itself
@_sharing.shares
def expand_dims(a: Any, axis: Any) -> Any:
    x = as_array(a)
    new = shape_of(axis)
    places = sorted(i + x.ndim + len(new) if i < 0 else i for i in new)
    if len(set(places)) != len(places) or any(not 0 <= i < x.ndim + len(new) for i in places):
        fail(AxisError, f"np.expand_dims: axis {axis} is out of range for {x._type_text}")
    shape = list(x.shape)
    for i in places:
        shape.insert(i, 1)
    return reshape_op(x, shape)


def append_axes(a: Any, count: int) -> Any:
    x = as_array(a)
    return reshape_op(x, [*x.shape, *[1] * count])


@implements(np.broadcast_to)
@_sharing.shares
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    wanted = shape_of(shape)
    check_shape(wanted)
    x = as_array(array)
    made = broadcast_op(x, wanted)
    return _sharing.read_only(x) if made is x else made


@implements(np.broadcast_arrays)
@_sharing.shares
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [as_array(a) for a in args]
    shape = broadcast_shapes("np.broadcast_arrays", [x.shape for x in arrays])
    return tuple(broadcast_op(x, shape) for x in arrays)


def _each(function: Any, arrays: Sequence[Any]) -> Any:
    results = tuple(function(as_array(a)) for a in arrays)
    return results[0] if len(results) == 1 else results


@implements(np.atleast_1d)
@_sharing.shares
def atleast_1d(*arys: Any) -> Any:
    return _each(lambda x: x if x.ndim >= 1 else reshape_op(x, [1]), arys)


@implements(np.atleast_2d)
@_sharing.shares
def atleast_2d(*arys: Any) -> Any:
    return _each(lambda x: x if x.ndim >= 2 else reshape_op(x, [1, x.size]), arys)


@implements(np.atleast_3d)
@_sharing.shares
def atleast_3d(*arys: Any) -> Any:
    def widen(x: Any) -> Any:
        if x.ndim >= 3:
            return x
        return reshape_op(x, [*x.shape, 1] if x.ndim == 2 else [1, x.size, 1])

    return _each(widen, arys)


@implements(np.flip)
@_sharing.never_itself
@_sharing.shares
def flip(m: Any, axis: Any = None) -> Any:
    x = as_array(m)
    axes = axes_of(x, axis)
    return reverse(x, axes) if x.ndim else _sharing.fresh(x)  # NumPy has a scalar there


@implements(np.fliplr)
@_sharing.shares
def fliplr(m: Any) -> Any:
    return flip(m, 1)


@implements(np.flipud)
@_sharing.shares
def flipud(m: Any) -> Any:
    return flip(m, 0)


@implements(np.rot90)
@_sharing.shares
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    x = as_array(m)
    if len(axes) != 2:
        fail(UserValueError, "np.rot90: len(axes) must be 2.")
    first, second = axis_of(x, axes[0]), axis_of(x, axes[1])
    if first == second:
        fail(UserValueError, "np.rot90: the two axes must be different")
    turns = k % 4
    if turns == 2:
        return reverse(x, (first, second))
    if turns == 1:
        return swapaxes(reverse(x, (second,)), first, second)
    return reverse(swapaxes(x, first, second), (second,)) if turns == 3 else x


@implements(np.roll)
@_sharing.gives_array
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = as_array(a)
    if axis is None:
        return reshape_op(roll(reshape_op(x, [x.size]), shift, 0), x.shape)
    return _rolled(x, shift, axis)


@_memory_order.makes("K")
def _rolled(x: Any, shift: Any, axis: Any) -> Any:
    from .joining import concatenate

    for amount, where in _shifts(shift, axis):
        place = axis_of(x, where)
        extent = x.shape[place]
        if is_array(amount):
            x = _rolled_by_value(x, amount, place)
            continue
        cut = -amount % extent if extent else 0
        if cut:
            x = concatenate([slice_axis(x, place, cut, extent), slice_axis(x, place, 0, cut)], place)
    return x


def _shifts(shift: Any, axis: Any) -> list[tuple[Any, Any]]:
    """Pairs of a shift and its axis. A shift is an integer, or an Array without axes where it depends on elements."""
    amounts, axes = (
        list(one) if isinstance(one, (tuple, list)) or np.ndim(one) else [one] for one in (shift, axis)
    )
    count = max(len(amounts), len(axes))
    if not {len(amounts), len(axes)} <= {1, count}:
        fail(
            UserValueError, "np.roll: 'shift' and 'axis' must be of the same length, or one of them a number"
        )
    amounts = [_amount(one) for one in (amounts if len(amounts) == count else amounts * count)]
    return list(zip(amounts, axes if len(axes) == count else axes * count, strict=True))


def _amount(shift: Any) -> Any:
    if is_array(shift) and shift._traced:
        need_numbers(shift)
        if not _dtypes.is_integer(shift.dtype):
            fail(UserTypeError, f"np.roll: the shift must be an integer, not {shift._type_text}")
        return shift
    return int(shift)


def _rolled_by_value(x: Any, shift: Any, axis: int) -> Any:
    extent = max(x.shape[axis], 1)
    places = apply("sub", iota([x.shape[axis]], 0, _dtypes.INT64), convert(shift, _dtypes.INT64))
    places = apply("mod", places, constant(extent, _dtypes.INT64))
    return apply("gather", x, places, axis=axis, mode="clamp")


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:  # noqa: N803 - NumPy's name
    x = as_array(A)
    counts = shape_of(reps)
    rank = max(len(counts), x.ndim)
    counts = [1] * (rank - len(counts)) + counts
    shape = [1] * (rank - x.ndim) + list(x.shape)
    made = _tiled(x, counts, shape)
    return _memory_order.all_laid_out(made, "K" if all(n == 1 for n in counts) else "C", x)


def _tiled(x: Any, counts: list[int], shape: list[int]) -> Any:
    apart = [n for pair in zip(counts, shape, strict=True) for n in pair]
    ones = [n for extent in shape for n in (1, extent)]
    return reshape_op(
        broadcast_op(reshape_op(x, ones), apart), [c * n for c, n in zip(counts, shape, strict=True)]
    )


@implements(np.repeat)
@_memory_order.makes("C")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    x = as_array(a)
    if axis is None or is_end_of_nothing(x, axis):
        x, axis = reshape_op(x, [x.size]), 0
    place = axis_of(x, axis)
    if np.ndim(repeats) != 0:
        from .indexing import take

        if (counts := known(repeats)) is None:
            need_numbers(as_array(repeats))
            unsupported(
                "np.repeat with counts that are computed",
                "the shape of the result depends on values; give counts that are known, or one number for all",
            )
        counts = counts.astype(np.int64) if counts.size == 0 else counts  # an empty list has no dtype
        return take(x, np.repeat(np.arange(x.shape[place]), counts), place)
    count = operator.index(repeats)
    before, after = x.shape[: place + 1], x.shape[place + 1 :]
    wide = broadcast_op(reshape_op(x, [*before, 1, *after]), [*before, count, *after])
    return reshape_op(wide, [*before[:-1], before[-1] * count, *after])


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return as_array(a).shape


@implements(np.ndim)
def ndim(a: Any) -> int:
    return as_array(a).ndim


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    x = as_array(a)
    return x.size if axis is None else math.prod(x.shape[i] for i in axes_of(x, axis))
