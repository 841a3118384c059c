"""Functions that make arrays from shapes and numbers, asked for with like=, and small questions about arrays."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserValueError, fail, unsupported
from .._ops import (
    against_diagonal,
    as_array,
    as_number,
    broadcast,
    check_shape,
    convert,
    full,
    iota,
    is_array,
)
from .._registry import implements
from .creation import copied
from .joining import stack
from .known import plain
from .reductions import all_, axis_of
from .shapes import shape_of
from .ufuncs import call


def _new(shape: Any, value: Any, dtype: Any, order: str = "C") -> Any:
    extents = shape_of(shape)
    check_shape(extents)
    wanted = _dtypes.check(float if dtype is None else dtype)
    made = broadcast(convert(as_array(value), wanted), extents)
    if any(made is one for one in (value, as_array(value))):
        made = _sharing.fresh(made)
    return _sharing.with_memory(_memory_order.laid_out(made, _memory_order.named(order, made)))


@implements(np.zeros)
def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    return _new(shape, 0, dtype, order)


@implements(np.empty)
def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    return _new(shape, 0, dtype, order)


@implements(np.ones)
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    return _new(shape, 1, dtype, order)


@implements(np.full)
def full_(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    return _new(shape, fill_value, as_array(fill_value).dtype if dtype is None else dtype, order)


#: What copy= says where the result may be the argument
_MAY_SHARE = (None, False, np._CopyMode.IF_NEEDED, np._CopyMode.NEVER)


@implements(np.asarray, np.asanyarray)
@_sharing.may_be_argument
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None) -> Any:
    if dtype is not None and isinstance(a, (list, tuple)):
        a = as_number(a, _dtypes.check(dtype))
    x = plain(a)
    made = x if dtype is None else convert(x, _dtypes.check(dtype))
    if order in (None, "A", "a", "K", "k") or not _lies_as(made, order):
        made = _memory_order.laid_out(made, _memory_order.named(order, made))
    if order in ("F", "f") and made._traced:
        made._give_numpy_strides()
    may_share = copy in _MAY_SHARE and _lies_as(made, order) and not (made is a and _sharing.is_scalar(a))
    return _sharing.with_memory(made if may_share else _sharing.owned(made, (x, a)))


def _lies_as(x: Any, order: Any) -> bool:
    """Whether it lies in memory as it is asked for: "C" and "F" are without gaps."""
    strides = _sharing.strides_of(x)
    if order in ("F", "f"):
        return x.size == 0 or _sharing.is_dense(x.shape[::-1], strides[::-1])
    return order not in ("C", "c") or _sharing.is_contiguous(x)


@implements(np.array)
@_sharing.may_be_argument
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int | None = None,
) -> Any:
    if ndmax is not None and ndmin > ndmax:
        fail(UserValueError, f"ndmin must be <= ndmax ({ndmax})")
    made = asarray(object, dtype, order, copy=copy)
    if ndmax is not None and not is_array(object) and made.ndim > ndmax:
        unsupported(f"np.array with ndmax={ndmax} of {made._type_text}", "its elements would be arrays")
    missing = ndmin - made.ndim
    return made.reshape((1,) * missing + made.shape) if missing > 0 else made


@implements(np.ascontiguousarray)
@_sharing.may_be_argument
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    made = array(a, dtype, copy=None, ndmin=1)
    return made if _sharing.is_contiguous(made) else copied(made, "C")


@implements(np.asfortranarray)
@_sharing.may_be_argument
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    made = array(a, dtype, copy=None, ndmin=1)
    return _memory_order.asked_for(made, "F", made) if _lies_as(made, "F") else copied(made, "F")


@implements(np.arange)
def arange(*args: Any, dtype: Any = None, device: Any = None, **more: Any) -> Any:
    """The length has to be known, so that all arguments are."""
    return as_array(np.arange(*args, dtype=dtype, **more))


def _diagonal_of_ones(shape: list[int], k: int, op: str, dtype: Any) -> Any:
    check_shape(shape)
    return convert(against_diagonal(op, shape, k), _dtypes.check(dtype))


@implements(np.eye)
def eye(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803 - NumPy's name
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: Any = None,
) -> Any:
    return _diagonal_of_ones([N, N if M is None else M], k, "eq", dtype)


@implements(np.identity)
def identity(n: int, dtype: Any = None) -> Any:
    return _diagonal_of_ones([n, n], 0, "eq", float if dtype is None else dtype)


@implements(np.tri)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:  # noqa: N803 - NumPy's names
    return _diagonal_of_ones([max(N, 0), N if M is None else M], k, "le", dtype)


@implements(np.fromfunction)
def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    extents = shape_of(shape)
    check_shape(extents)
    axes = [iota(extents, axis, _dtypes.check(dtype)) for axis in range(len(extents))]
    return function(*axes, **kwargs)


# ---------------------------------------------------------------------------------------------------------------------
# Indices that follow from a shape


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return _triangle_indices(np.tril_indices, arr, k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return _triangle_indices(np.triu_indices, arr, k)


def _triangle_indices(function: Callable[..., Any], arr: Any, k: int) -> Any:
    x = plain(arr)
    if x.ndim != 2:
        fail(UserValueError, "input array must be 2-d")
    return function(x.shape[-2], k=k, m=x.shape[-1])


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    x = plain(arr)
    if x.ndim < 2:
        fail(UserValueError, "input array must be at least 2-d")
    if len(set(x.shape)) > 1:
        fail(UserValueError, "All dimensions of input must be of equal length")
    return np.diag_indices(x.shape[0], x.ndim)


# ---------------------------------------------------------------------------------------------------------------------
# Complex numbers that are real, and questions about arrays


@implements(np.imag)
@_sharing.gives_array
def imag(val: Any) -> Any:
    x = plain(val)
    return full(x.shape, 0, x.dtype)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    turned = call(np.arctan2, 0, plain(z))
    return call(np.multiply, turned, 180 / math.pi) if deg else turned


@implements(np.real_if_close)
@_sharing.shares
def real_if_close(a: Any, tol: float = 100) -> Any:
    return plain(a)


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return full(plain(x).shape, True, _dtypes.BOOL)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return full(plain(x).shape, False, _dtypes.BOOL)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = plain(a1), plain(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return all_(call(np.equal, x, y))._with_weak(bool)


@implements(np.common_type)
def common_type(*arrays: Any) -> type:
    return np.common_type(*[np.empty(0, plain(a).dtype) for a in arrays])


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if is_array(from_) else from_, to.dtype if is_array(to) else to, casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    """The dtype itself, but for arrays without axes, whose value decides and has to be known."""
    x = plain(a)
    return x.dtype if x.ndim else np.min_scalar_type(np.asarray(x))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    x = plain(a)
    for axis in shape_of(axes):
        place = axis + x.ndim if axis < 0 else axis
        result = func(x, place)
        x = result if result.ndim == x.ndim else np.expand_dims(result, place)
    return x


#: more calls than this would make a program that is mostly waited for
_MOST_CALLS = 1024


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function is called for every row, as NumPy calls it."""
    x = plain(arr)
    place = axis_of(x, axis)
    rest = [n for i, n in enumerate(x.shape) if i != place]
    count = math.prod(rest)
    if count == 0:
        fail(UserValueError, "Cannot apply_along_axis when any iteration dimensions are 0")
    if count > _MOST_CALLS:
        unsupported(
            f"np.apply_along_axis with {count} calls", "write the function for all rows, with axis=-1"
        )
    rows = np.moveaxis(x, place, -1).reshape((count, x.shape[place]))
    results = [plain(func1d(rows[i], *args, **kwargs)) for i in range(count)]
    rank = results[0].ndim
    joined = stack(results).reshape((*rest, *results[0].shape))
    if rank == 0:
        return joined
    # The axes of the results stand where the row was.
    order = [*range(place), *range(len(rest), len(rest) + rank), *range(place, len(rest))]
    return joined.transpose(order)
