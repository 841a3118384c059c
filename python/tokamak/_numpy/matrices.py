"""Diagonals, products by blocks and across, norms and powers of matrices."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserTypeError, UserValueError, fail, make, unsupported, user_line
from .._ops import (
    against_diagonal,
    apply,
    broadcast,
    broadcast_shapes,
    constant,
    convert,
    reshape,
    select,
    slice_axis,
)
from .._registry import implements
from .contractions import LinAlgError, matmul
from .joining import concatenate, stack
from .known import plain
from .reductions import axes_of, axis_of, max_, min_, sum_
from .shapes import moveaxis, swapaxes, transpose
from .ufuncs import call

# ---------------------------------------------------------------------------------------------------------------------
# Diagonals


@implements(np.diagonal)
@_sharing.shares
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A view that cannot be written to, as in NumPy."""

    def forward(parent: Any) -> Any:
        return _sharing.fresh(_diagonal(parent, offset, axis1, axis2))

    x = plain(a)
    made = forward(x)

    def strides() -> list[int]:
        own, pair = _sharing.strides_of(x), (axis_of(x, axis1), axis_of(x, axis2))
        return [*(s for i, s in enumerate(own) if i not in pair), sum(own[i] for i in pair)]

    return _sharing.view(x, made, strides, forward, None)


def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    if x.ndim < 2:
        fail(UserValueError, "diag requires an array of at least two dimensions")
    first, second = axis_of(x, axis1), axis_of(x, axis2)
    if first == second:
        fail(UserValueError, "axis1 and axis2 cannot be the same")
    x = moveaxis(x, (first, second), (-2, -1))
    rows, columns = x.shape[-2:]
    skipped = min(offset, columns) if offset >= 0 else min(-offset, rows) * columns
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    # In one axis, the diagonal is every (columns + 1)-th element.
    flat = reshape(x, [*x.shape[:-2], rows * columns])
    if count == 0:
        return slice_axis(flat, flat.ndim - 1, 0, 0)
    return slice_axis(flat, flat.ndim - 1, skipped, skipped + (count - 1) * (columns + 1) + 1, columns + 1)


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out=out)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    x = plain(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        fail(UserValueError, "Input must be 1- or 2-d.")
    extent = x.size + abs(k)
    longer = apply("pad", x, constant(0, x.dtype), low=[0], high=[abs(k)], interior=[0])
    # The elements belong to the rows above the main diagonal, and to the columns below it.
    placed = reshape(longer, [extent, 1] if k >= 0 else [1, extent])
    return select(against_diagonal("eq", [extent, extent], k), placed, constant(0, x.dtype))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    x = plain(v)
    return diag(reshape(x, [x.size]), k)


# ---------------------------------------------------------------------------------------------------------------------
# Products


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    x, y = plain(a), plain(b)
    rank = max(x.ndim, y.ndim)
    left, right = ([1] * (rank - one.ndim) + list(one.shape) for one in (x, y))
    wide = reshape(x, [n for extent in left for n in (extent, 1)])
    fine = reshape(y, [n for extent in right for n in (1, extent)])
    return reshape(call(np.multiply, wide, fine), [m * n for m, n in zip(left, right, strict=True)])


@implements(np.cross)
@_sharing.gives_array
@_memory_order.makes("C")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = plain(a), plain(b)
    if x.ndim < 1 or y.ndim < 1:
        fail(UserValueError, "At least one array has zero dimension")
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        fail(
            UserValueError,
            f"np.cross: the vectors of {x._type_text} and {y._type_text} must have 2 or 3 elements",
        )
    shape = broadcast_shapes("np.cross", [x.shape[:-1], y.shape[:-1]])
    x, y = (broadcast(one, [*shape, one.shape[-1]]) for one in (x, y))
    first, second = ([one[..., i] for i in range(one.shape[-1])] for one in (x, y))

    def minor(i: int, j: int) -> Any:
        return call(
            np.subtract, call(np.multiply, first[i], second[j]), call(np.multiply, first[j], second[i])
        )

    if len(first) == len(second) == 2:
        return minor(0, 1)
    if len(first) == len(second):
        parts = [minor(1, 2), minor(2, 0)]
    elif len(first) == 2:  # the third element of the shorter one is zero
        parts = [call(np.multiply, first[1], second[2]), call(np.negative, call(np.multiply, first[0], second[2]))]
    else:
        parts = [call(np.negative, call(np.multiply, first[2], second[1])), call(np.multiply, first[2], second[0])]
    parts.append(minor(0, 1))
    return moveaxis(stack(parts, -1), -1, axisc)


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x, y = plain(x1), plain(x2)
    if x.shape[axis_of(x, axis)] != 3 or y.shape[axis_of(y, axis)] != 3:
        fail(
            UserValueError,
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {x.shape[axis]} and "
            f"{y.shape[axis]} dimensional instead.",
        )
    return cross(x, y, axis=axis)


@implements(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x: Any, /) -> Any:
    return swapaxes(x, -1, -2)


@implements(np.linalg.matrix_power)
@_sharing.may_be_argument
def matrix_power(a: Any, n: int) -> Any:
    x = plain(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise make(LinAlgError, f"np.linalg.matrix_power: {x._type_text} is no square matrix", user_line())
    try:
        exponent = operator.index(n)
    except TypeError:
        fail(UserTypeError, "exponent must be an integer")
    if exponent < 0:
        unsupported("np.linalg.matrix_power with a negative exponent", "invert the matrix outside")
    if exponent == 0:
        extent = x.shape[-1]
        return broadcast(convert(against_diagonal("eq", [extent, extent], 0), x.dtype), x.shape)
    if exponent == 3:
        return matmul(matmul(x, x), x)
    # The squares of squares whose exponents add up.
    square, product = None, None
    while exponent:
        square = x if square is None else matmul(square, square)
        exponent, bit = divmod(exponent, 2)
        if bit:
            product = square if product is None else matmul(product, square)
    return product


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - NumPy's name
    array = plain(x)
    if array.ndim != 1:
        fail(UserValueError, "x must be a one-dimensional array or sequence.")
    count = array.size if N is None else N
    dtype = np.promote_types(array.dtype, np.dtype(int))
    array = convert(array, dtype)
    powers = [broadcast(constant(1, dtype), array.shape)]
    for _ in range(1, count):
        powers.append(array if len(powers) == 1 else call(np.multiply, powers[-1], array))
    columns = [reshape(one, [array.size, 1]) for one in powers[:count]]
    if not columns:
        return broadcast(constant(0, dtype), [array.size, 0])
    return concatenate(columns if increasing else columns[::-1], 1)


# ---------------------------------------------------------------------------------------------------------------------
# Norms


def _as_float(value: Any) -> Any:
    x = plain(value)
    return x if _dtypes.is_float(x.dtype) else convert(x, _dtypes.FLOAT64)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = _as_float(x)
    if axis is None and (
        ord is None or (ord in ("f", "fro") and array.ndim == 2) or (ord == 2 and array.ndim == 1)
    ):
        flat = reshape(array, [array.size])
        total = call(np.sqrt, sum_(call(np.multiply, flat, flat)))
        return reshape(total, [1] * array.ndim) if keepdims else total
    axes = axes_of(array, axis)
    if len(axes) == 1:
        return _vector_norm(array, ord, axes[0], keepdims)
    if len(axes) != 2:
        fail(UserValueError, "Improper number of dimensions to norm.")
    given = axis if axis is not None else axes
    rows, columns = axis_of(array, given[0]), axis_of(array, given[1])
    return _matrix_norm(array, ord, rows, columns, keepdims)


def _vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if isinstance(ord, str):
        fail(UserValueError, f"Invalid norm order '{ord}' for vectors")
    if ord == 0:
        return sum_(convert(call(np.not_equal, x, 0), x.dtype), axis, keepdims=keepdims)
    if ord is None or ord == 2:
        return call(np.sqrt, sum_(call(np.multiply, x, x), axis, keepdims=keepdims))
    size = call(np.absolute, x)
    if ord == math.inf:
        return _largest(size, axis, keepdims)
    if ord == -math.inf:
        return min_(size, axis, keepdims)
    if ord == 1:
        return sum_(size, axis, keepdims=keepdims)
    total = sum_(call(np.power, size, ord), axis, keepdims=keepdims)
    return call(np.power, total, call(np.reciprocal, constant(ord, x.dtype)))


def _largest(sizes: Any, axis: int, keepdims: bool) -> Any:
    """Of nothing, zero."""
    return max_(sizes, axis, keepdims, initial=None if sizes.shape[axis] else 0)


def _matrix_norm(x: Any, ord: Any, rows: int, columns: int, keepdims: bool) -> Any:
    if rows == columns:
        fail(UserValueError, "Duplicate axes given.")
    if ord in (None, "fro", "f"):
        squares = call(np.multiply, x, x)
        return call(np.sqrt, sum_(squares, (rows, columns), keepdims=keepdims))
    if ord in (2, -2, "nuc"):
        unsupported(
            f"np.linalg.norm of matrices with ord={ord!r}",
            "it needs singular values; use the Frobenius norm, or compute it outside",
        )
    if ord not in (1, -1, math.inf, -math.inf):
        fail(UserValueError, "Invalid norm order for matrices.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum_(call(np.absolute, x), summed, keepdims=True)
    found = (_largest if ord > 0 else min_)(sums, kept, True)
    return found if keepdims else _sharing.fresh(np.squeeze(found, (rows, columns)))


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    array = _as_float(x)
    axes = axes_of(array, axis)
    rest = [i for i in range(array.ndim) if i not in axes]
    merged = transpose(array, [*rest, *axes])
    merged = reshape(merged, [*[array.shape[i] for i in rest], math.prod(array.shape[i] for i in axes)])
    found = _vector_norm(merged, ord, len(rest), False)
    return reshape(found, [1 if i in axes else n for i, n in enumerate(array.shape)]) if keepdims else found


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    array = _as_float(x)
    if array.ndim < 2:
        raise make(LinAlgError, f"np.linalg.matrix_norm: {array._type_text} is no matrix", user_line())
    return _matrix_norm(array, ord, array.ndim - 2, array.ndim - 1, keepdims)
