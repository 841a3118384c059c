"""Matrix products, convolution, pooling and attention under tokamak's own names. Like the other functions they take
ndarrays, Arrays and traced values, and give ndarrays for ndarrays."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from ._errors import Error, UserTypeError, UserValueError, fail
from ._functions import _compiled
from ._numpy import contractions, ufuncs
from ._numpy.contractions import operand
from ._numpy.reductions import axis_of

__all__ = [
    "attention",
    "avg_pool",
    "batch_norm",
    "conv",
    "conv_transpose",
    "dot",
    "dot_general",
    "einsum",
    "inner",
    "matmul",
    "max_pool",
    "outer",
    "tensordot",
    "vdot",
    "window",
]

Ints = int | Sequence[int]
Padding = int | str | Sequence[int] | Sequence[tuple[int, int]]


def _ints(what: str, given: Any) -> tuple[int, ...]:
    """One integer, which holds for all axes, or one for each."""
    try:
        numbers = tuple(operator.index(n) for n in given) if np.iterable(given) else (operator.index(given),)
    except TypeError as error:
        if isinstance(error, Error):
            raise
        fail(UserTypeError, f"{what} takes an integer or one for each axis, not {given!r}")
    if any(abs(n) >= 1 << 63 for n in numbers):
        fail(UserValueError, f"{what}: integers have 64 bits here, not {given!r}")
    return numbers


def _int(what: str, given: Any) -> int:
    (number,) = _ints(what, (given,))
    return number


def _float(what: str, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        fail(UserTypeError, f"{what} is a number, not {given!r}")


def _pairs(what: str, padding: Any) -> tuple[tuple[int, int], ...] | None:
    """(low, high) for each axis, or once for all of them; None means "same"."""
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            fail(
                UserValueError,
                f'{what}: padding is "same", "valid", a number, one for each spatial axis, or a (low, high) for each, '
                f"not {padding!r}",
            )
        return None if padding == "same" else ((0, 0),)
    if not np.iterable(padding):
        padding = (padding,)
    pairs = []
    for one in padding:
        numbers = _ints(f"padding of {what}", one)
        if len(numbers) > 2:
            fail(UserValueError, f"{what}: padding has (low, high) for each axis, not {one!r}")
        pairs.append((numbers[0], numbers[-1]))
    return tuple(pairs)


# ---------------------------------------------------------------------------------------------------------------------
# Products


@_compiled()
def matmul(x1: Any, x2: Any, /) -> Any:
    """x1 @ x2, as np.matmul; bfloat16 stays bfloat16."""
    return contractions.matmul(x1, x2)


@_compiled()
def dot(a: Any, b: Any) -> Any:
    """Over the last axis of `a` and the last but one of `b`, as np.dot."""
    return contractions.dot(a, b)


@_compiled()
def inner(a: Any, b: Any) -> Any:
    """Over the last axis of both, as np.inner."""
    return contractions.inner(a, b)


@_compiled()
def outer(a: Any, b: Any) -> Any:
    """The products of all elements of `a` with all of `b`, as np.outer."""
    return contractions.outer(a, b)


@_compiled()
def vdot(a: Any, b: Any) -> Any:
    """The dot product of all elements in order, as np.vdot."""
    return contractions.vdot(a, b)


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Any:
    """Over pairs of axes, as np.tensordot."""
    return _tensordot(x1, x2, *(tuple(one) for one in contractions.tensordot_axes(axes)))


@_compiled("a_axes", "b_axes")
def _tensordot(a: Any, b: Any, a_axes: tuple[int, ...], b_axes: tuple[int, ...]) -> Any:
    return _native.tensordot(operand(a), operand(b), a_axes, b_axes)


def dot_general(
    a: Any,
    b: Any,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Any:
    """Sums over the axes of `a` and `b` that `contract` pairs up. Those that `batch` pairs up come first in the result,
    then the other axes of `a`, then those of `b`."""
    return _dot_general(a, b, *_axis_lists("contract", contract, a, b), *_axis_lists("batch", batch, a, b))


def _axis_lists(name: str, given: Any, a: Any, b: Any) -> list[tuple[int, ...]]:
    """Those of each operand of dot_general."""
    lists = tuple(given) if np.iterable(given) else ()
    if len(lists) != 2:
        types = f"{operand(a)._type_text} and {operand(b)._type_text}"
        fail(UserValueError, f"dot_general: {name} is a list of axes for each of {types}, not {given!r}")
    return [_ints("dot_general", one) for one in lists]


@_compiled("a_contract", "b_contract", "a_batch", "b_batch")
def _dot_general(
    a: Any,
    b: Any,
    a_contract: tuple[int, ...],
    b_contract: tuple[int, ...],
    a_batch: tuple[int, ...],
    b_batch: tuple[int, ...],
) -> Any:
    return _native.dot_general(operand(a), operand(b), a_contract, b_contract, a_batch, b_batch)


def einsum(*operands: Any) -> Any:
    """As np.einsum, with a string of subscripts or with lists. Several operands are multiplied in the order that takes
    the fewest operations."""
    subscripts, arrays = contractions.einsum_arguments(operands)
    return _einsum(subscripts, *arrays)


@_compiled("subscripts")
def _einsum(subscripts: str, *operands: Any) -> Any:
    return contractions.einsum(subscripts, *operands)


# ---------------------------------------------------------------------------------------------------------------------
# Windows


def window(x: Any, size: Ints, axis: Ints | None = None, stride: Ints = 1, dilation: Ints = 1) -> Any:
    """Sliding windows along `axis` (all axes unless given), one every `stride`, of elements `dilation` apart. Each of
    these axes becomes the axis of its windows; the positions inside them are new last axes. A view: nothing is copied.
    """
    axes = None if axis is None else _ints("window", axis)
    return _window(x, _ints("window", size), axes, _ints("window", stride), _ints("window", dilation))


@_compiled("size", "axis", "stride", "dilation")
def _window(
    x: Any,
    size: tuple[int, ...],
    axis: tuple[int, ...] | None,
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Any:
    array = operand(x)
    axes = [axis_of(array, i) for i in (range(array.ndim) if axis is None else axis)]
    return _native.window(
        array, axes, *(one * len(axes) if len(one) == 1 else one for one in (size, stride, dilation))
    )


def conv(
    x: Any,
    w: Any,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
    bias: Any = None,
) -> Any:
    """Convolution (without flipping the kernel) of x [N, C, spatial...] with w [O, C / groups, kernel...], for one to
    three spatial axes.

    `padding` is a number, one for each axis, a (low, high) for each axis, "valid" (none) or "same" (the result has
    ceil(extent / stride) elements; what does not halve goes behind).
    """
    return _conv(
        x,
        w,
        bias,
        _ints("stride of conv", stride),
        _pairs("conv", padding),
        _ints("dilation of conv", dilation),
        _int("groups of conv", groups),
    )


@_compiled("stride", "padding", "dilation", "groups")
def _conv(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return _native.conv(operand(x), operand(w), stride, padding, dilation, groups, _optional(bias))


def conv_transpose(
    x: Any,
    w: Any,
    stride: Ints = 1,
    padding: Padding = 0,
    output_padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    bias: Any = None,
) -> Any:
    """The transposed map of `conv`: every element of x [N, C, spatial...] places w [C, O / groups, kernel...], times
    the element, `stride` apart. `padding` is cut off the result, `output_padding` is added behind it."""
    lists = (
        _ints("stride of conv_transpose", stride),
        _pairs("conv_transpose", padding),
        _ints("output_padding of conv_transpose", output_padding),
        _ints("dilation of conv_transpose", dilation),
    )
    return _conv_transpose(x, w, bias, *lists, _int("groups of conv_transpose", groups))


@_compiled("stride", "padding", "output_padding", "dilation", "groups")
def _conv_transpose(
    x: Any, w: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
) -> Any:
    return _native.conv_transpose(
        operand(x), operand(w), stride, padding, output_padding, dilation, groups, _optional(bias)
    )


def max_pool(x: Any, size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1) -> Any:
    """The greatest element of every window of x [N, C, spatial...]; windows are `size` apart unless `stride` says so."""
    steps = () if stride is None else _ints("stride of max_pool", stride)
    return _max_pool(
        x,
        _ints("size of max_pool", size),
        steps,
        _pairs("max_pool", padding),
        _ints("dilation of max_pool", dilation),
    )


@_compiled("size", "stride", "padding", "dilation")
def _max_pool(x: Any, size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return _native.max_pool(operand(x), size, stride, padding, dilation)


def avg_pool(
    x: Any,
    size: Ints,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    count_include_pad: bool = True,
) -> Any:
    """The mean of every window of x [N, C, spatial...]. Padding counts as zeros, or with count_include_pad=False not at
    all. The mean of integers is float64."""
    steps = () if stride is None else _ints("stride of avg_pool", stride)
    lists = (
        _ints("size of avg_pool", size),
        steps,
        _pairs("avg_pool", padding),
        _ints("dilation of avg_pool", dilation),
    )
    return _avg_pool(x, *lists, bool(count_include_pad))


@_compiled("size", "stride", "padding", "dilation", "count_include_pad")
def _avg_pool(x: Any, size: Any, stride: Any, padding: Any, dilation: Any, count_include_pad: bool) -> Any:
    return _native.avg_pool(operand(x), size, stride, padding, dilation, count_include_pad)


# ---------------------------------------------------------------------------------------------------------------------
# Layers


def _optional(value: Any) -> Any:
    return None if value is None else operand(value)


def batch_norm(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel (axis 1), with statistics that are given:
    batch norm in inference. What depends on the statistics only has one element for each channel."""
    return _batch_norm(x, mean, var, weight, bias, _float("eps of batch_norm", eps))


@_compiled("eps")
def _batch_norm(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    return _native.batch_norm(
        operand(x), operand(mean), operand(var), _optional(weight), _optional(bias), eps
    )


def attention(
    q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, scale: float | None = None
) -> Any:
    """softmax(q @ k.mT * scale + mask) @ v, for q [..., m, d], k [..., n, d] and v [..., n, e].

    The scale is 1 / sqrt(d) unless given. A mask of bools says which positions count, any other is added.
    `causal` leaves out the positions of k that come after the position of q, both counted from the start.
    """
    if isinstance(mask, bool):
        fail(UserTypeError, "attention: mask is an array, not a bool; causal=True hides later positions")
    if mask is not None and np.result_type(getattr(mask, "dtype", np.float32)).kind in "iu":
        what = f"attention: a mask of {mask.dtype} is neither bools, which say what counts, nor floats, which are added"
        fail(UserTypeError, what)
    if isinstance(scale, _native.ArrayBase):  # computed later: it is not part of the program
        q, scale = ufuncs.call(np.multiply, q, scale), 1.0
    return _attention(
        q, k, v, mask, bool(causal), None if scale is None else _float("scale of attention", scale)
    )


@_compiled("causal", "scale")
def _attention(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float | None) -> Any:
    return _native.attention(operand(q), operand(k), operand(v), _optional(mask), causal, scale)
