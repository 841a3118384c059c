"""Polynomials by their coefficients, the highest power first."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _memory_order, _sharing
from .._errors import UserTypeError, UserValueError, fail, unsupported
from .._ops import apply, constant, convert, full, reshape
from .._registry import implements
from .joining import common_dtype, concatenate
from .known import part, plain
from .sequences import convolve
from .ufuncs import call


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    coefficients, at = plain(p), plain(x)
    if coefficients.ndim == 0:
        fail(UserTypeError, "np.polyval: the coefficients are iterated over, and these have no axis")
    zeros = _memory_order.laid_out(full(at.shape, 0, at.dtype), _memory_order.order_of(at))
    result = _sharing.with_memory(zeros)
    for i in range(coefficients.shape[0]):
        result = call(np.add, call(np.multiply, result, at), coefficients[i])
    return result


def _of_one_length(a1: Any, a2: Any) -> tuple[Any, Any]:
    x, y = (reshape(one, [one.size]) if one.ndim == 0 else one for one in (plain(a1), plain(a2)))
    count = max(x.shape[0], y.shape[0])

    def filled(one: Any) -> Any:
        missing = count - one.shape[0]
        return apply("pad", one, constant(0, one.dtype), low=[missing], high=[0], interior=[0])

    return filled(x), filled(y)


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    return call(np.add, *_of_one_length(a1, a2))


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return call(np.subtract, *_of_one_length(a1, a2))


@implements(np.polyder)
@_sharing.may_be_argument
def polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        fail(UserValueError, "Order of derivative must be positive (see polyint)")
    result = plain(p)
    for _ in range(m):
        degrees = np.arange(max(result.shape[0] - 1, 0), 0, -1)
        result = call(np.multiply, part(result, 0, None, -1), degrees)
    return result


@implements(np.polyint)
@_sharing.may_be_argument
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        fail(UserValueError, "Order of integral must be positive (see polyder)")
    constants = full([m], 0, np.dtype(float)) if k is None else plain(k)
    constants = reshape(constants, [constants.size])
    if constants.size == 1 and m > 1:
        constants = call(np.multiply, full([m], 1, np.dtype(float)), constants)
    if constants.size < m:
        fail(UserValueError, "k must be a scalar or a rank-1 array of length 1 or >m.")
    result = plain(p)
    for i in range(m):
        divided = call(np.true_divide, result, np.arange(result.shape[0], 0, -1))
        last = reshape(constants[i], [1])
        dtype = common_dtype([divided, last])
        result = concatenate([convert(divided, dtype), convert(last, dtype)])
    return result


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the product of (x - zero)."""
    zeros = plain(seq_of_zeros)
    zeros = reshape(zeros, [1]) if zeros.ndim == 0 else zeros
    if zeros.ndim == 2:
        unsupported("np.poly of a matrix", "it needs eigenvalues; compute them outside")
    if zeros.ndim != 1:
        fail(UserValueError, "input must be 1d or non-empty square 2d array.")
    dtype = _dtypes.FLOAT32 if zeros.dtype == _dtypes.FLOAT32 else _dtypes.FLOAT64
    zeros = convert(zeros, dtype)
    result = full([1], 1, dtype)
    for i in range(zeros.shape[0]):
        factor = concatenate([full([1], 1, dtype), reshape(call(np.negative, zeros[i]), [1])])
        result = convolve(result, factor)
    return result if zeros.shape[0] else full([], 1.0, np.dtype(float))
