"""x.view(dtype): the bits of elements as those of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserValueError, fail, unsupported
from .._ops import apply, as_array, broadcast, convert, full, reshape, slice_axis
from .._sharing import fresh


def _as_bits(x: Any, dtype: Any) -> Any:
    if x.dtype == dtype:
        return fresh(x)
    if x.dtype.kind == "b" or dtype.kind == "b":  # of the integers that are bool's bits, 0 and 1
        return convert(x, dtype)
    return apply("bitcast", x, dtype=dtype)


def _put_back(before: Any, made: Any, change: Any) -> Any:
    """What a write to a view of `before` as `made` does. A bool is known as true or false, not as the byte that it is: of the bytes
    beside what is written, and of written ones that are neither 0 nor 1, would nothing be known any more."""

    def refused(parent: Any, new: Any) -> Any:
        unsupported(
            f"writing to a view of {before} as {made}",
            f"its bytes may be other ones than 0 and 1; write to the array of {before} itself, or to a copy of it, "
            f"x.astype({made})",
        )

    return refused if "b" in (before.kind, made.kind) else lambda parent, new: change(new)


def _unsigned(size: int) -> np.dtype[Any]:
    return np.dtype(f"u{size}")


def _cut(x: Any, size: int) -> Any:
    """Integers as several of that size, the lowest bits first, along the last axis."""
    count = x.dtype.itemsize // size
    shifts = as_array(np.arange(count, dtype=x.dtype) * (8 * size))
    parts = apply("shift_right", *(broadcast(one, [*x.shape, count]) for one in (_with_axis(x), shifts)))
    return reshape(convert(parts, _unsigned(size)), [*x.shape[:-1], x.shape[-1] * count])


def _with_axis(x: Any) -> Any:
    return reshape(x, [*x.shape, 1])


def _joined(x: Any, size: int) -> Any:
    """Integers along the last axis as fewer of that size."""
    count = size // x.dtype.itemsize
    shape = [*x.shape[:-1], x.shape[-1] // count]
    apart = reshape(x, [*shape, count])
    result: Any = None
    for i in range(count):
        part = convert(reshape(slice_axis(apart, x.ndim, i, i + 1), shape), _unsigned(size))
        shift = full(shape, 8 * x.dtype.itemsize * i, part.dtype)
        part = apply("shift_left", part, shift) if i else part
        result = part if result is None else apply("bit_or", result, part)
    return result


def _as_bytes_of(x: Any, dtype: Any) -> Any:
    """The bytes of the last axis as elements of another size."""
    bits = _as_bits(x, _unsigned(x.dtype.itemsize))
    is_smaller = dtype.itemsize < x.dtype.itemsize
    return _as_bits(_cut(bits, dtype.itemsize) if is_smaller else _joined(bits, dtype.itemsize), dtype)


def _view_of_another_size(x: Any, wanted: Any) -> Any:
    if x.ndim == 0:
        fail(UserValueError, "Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    strides, own = _sharing.strides_of(x), x.dtype
    if x.shape[-1] != 1 and x.size and strides[-1] != 1:
        fail(UserValueError, "To change to a dtype of a different size, the last axis must be contiguous")
    if x.shape[-1] * own.itemsize % wanted.itemsize:
        fail(
            UserValueError,
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last "
            f"axis of the array: {x._type_text} has no elements of {wanted}",
        )
    return _sharing.view(
        x,
        _as_bytes_of(x, wanted),
        lambda: [*(stride * own.itemsize // wanted.itemsize for stride in strides[:-1]), 1],
        lambda parent: _as_bytes_of(parent, wanted),
        _put_back(own, wanted, lambda new: _as_bytes_of(new, own)),
    )


@_sharing.shares
def view(x: Any, dtype: Any = None, kind: Any = None) -> Any:
    """Shares the memory: what is written to the view is written to x."""
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        dtype, kind = None, dtype
    if kind is not None and kind is not np.ndarray:
        unsupported(f"x.view({kind.__name__})", "values have no classes of their own; use NumPy functions")
    wanted = x.dtype if dtype is None else _dtypes.check(dtype)
    if wanted != x.dtype and any(_dtypes.is_float(one) and one.itemsize == 2 for one in (wanted, x.dtype)):
        unsupported(f"{x._type_text}.view({wanted})", "view floats of 32 or 64 bits; astype converts values")
    if x.dtype.kind == "b" and wanted.kind != "b" and _sharing.is_seen_as(x, "b"):
        unsupported(f"{x._type_text}.view({wanted}) of a view of bytes as bool", "view the bytes themselves")
    if wanted.itemsize != x.dtype.itemsize:
        return _view_of_another_size(x, wanted)
    if _sharing.is_scalar(x):
        return _sharing.fresh(_as_bits(x, wanted))
    if wanted == x.dtype and x.ndim:
        return _sharing.whole(x)
    before = x.dtype
    return _sharing.view(
        x,
        _as_bits(x, wanted),
        lambda: _sharing.strides_of(x),
        lambda parent: _as_bits(parent, wanted),
        _put_back(before, wanted, lambda new: _as_bits(new, before)),
    )
