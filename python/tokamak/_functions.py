"""Functions that NumPy lacks. They take ndarrays, Arrays and traced values alike, and give what they were given:
ndarrays for ndarrays, through a compiled program of their own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from . import _dtypes
from ._errors import UserTypeError, UserValueError, fail, naming
from ._jit import jit
from ._native import ArrayBase
from ._numpy import elementwise, reductions
from ._numpy.ufuncs import call
from ._ops import apply, as_array, constant, convert, strong

__all__ = [
    "erf",
    "erfc",
    "gelu",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "relu",
    "rms_norm",
    "rsqrt",
    "sigmoid",
    "silu",
    "softmax",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(*static: str) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        function.__name__ = function.__name__.lstrip("_")  # graphs and errors show it
        program: Any = jit(function, static_argnames=static)
        program.arguments.takes_text = False  # what may be text is declared; all else is an operand

        @naming(function.__name__)
        @functools.wraps(function)
        def either(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(value, ArrayBase) for value in (*args, *kwargs.values())):
                return function(*args, **kwargs)
            return program(*args, **kwargs)

        return either  # type: ignore[return-value]

    return decorate


def _float(x: Any) -> Any:
    array = as_array(x)
    return convert(strong(array, array.dtype), _dtypes.float_for(array.dtype))


def _wide(x: Any) -> Any:
    """What formulas of several steps are computed in: halves lose too much on the way."""
    return convert(x, np.dtype(np.float32)) if x.dtype.itemsize < 4 else x


@_compiled()
def erf(x: Any) -> Any:
    """The error function."""
    return apply("erf", _float(x))


@_compiled()
def erfc(x: Any) -> Any:
    """1 - erf(x), without losing small values."""
    return apply("erfc", _float(x))


@_compiled()
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))"""
    return apply("sigmoid", _float(x))


@_compiled()
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)"""
    return apply("rsqrt", _float(x))


@_compiled()
def relu(x: Any) -> Any:
    """max(x, 0)"""
    return call(np.maximum, x, 0)


@_compiled()
def silu(x: Any) -> Any:
    """x * sigmoid(x)"""
    x = _float(x)
    return apply("mul", x, apply("sigmoid", x))


@_compiled("approximate")
def gelu(x: Any, approximate: bool = False) -> Any:
    """x times the normal distribution function of x; `approximate` uses tanh instead of erf."""
    x = _float(x)
    wide = _wide(x)
    if approximate:
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))
        return convert(0.5 * wide * (1 + call(np.tanh, inner)), x.dtype)
    return convert(0.5 * wide * (1 + apply("erf", wide * constant(math.sqrt(0.5), wide.dtype))), x.dtype)


@_compiled("axis")
def softmax(x: Any, axis: int | tuple[int, ...] = -1) -> Any:
    """exp(x) / sum(exp(x)), with the maximum subtracted first."""
    x = _float(x)
    powers = call(np.exp, x - reductions.max_(x, axis, keepdims=True))
    return powers / reductions.sum_(powers, axis, keepdims=True)


@_compiled("axis")
def log_softmax(x: Any, axis: int | tuple[int, ...] = -1) -> Any:
    """log(softmax(x)), without losing small values."""
    x = _float(x)
    shifted = x - reductions.max_(x, axis, keepdims=True)
    return shifted - call(np.log, reductions.sum_(call(np.exp, shifted), axis, keepdims=True))


@_compiled("axis", "keepdims")
def logsumexp(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))), without overflow."""
    x = _float(x)
    wide = _wide(x)
    highest = reductions.max_(wide, axis, keepdims=True)
    shift = elementwise.where(call(np.isfinite, highest), highest, 0.0)  # an infinite shift would give NaN
    total = reductions.sum_(call(np.exp, wide - shift), axis, keepdims=keepdims)
    axes = reductions.axes_of(x, axis)
    back = shift if keepdims else shift.reshape([n for i, n in enumerate(x.shape) if i not in axes])
    return convert(call(np.log, total) + back, x.dtype)


@_compiled("axis", "eps")
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: int | tuple[int, ...] = -1, eps: float = 1e-5
) -> Any:
    """(x - mean) / sqrt(var + eps) along `axis`, times `weight`, plus `bias`."""
    x = _float(x)
    wide = _wide(x)
    centered = wide - reductions.mean(wide, axis, keepdims=True)
    spread = reductions.mean(centered * centered, axis, keepdims=True)
    return _scaled(centered * apply("rsqrt", spread + eps), x.dtype, weight, bias)


@_compiled("axis", "eps")
def rms_norm(x: Any, weight: Any = None, axis: int | tuple[int, ...] = -1, eps: float = 1e-6) -> Any:
    """x / sqrt(mean(x * x) + eps) along `axis`, times `weight`."""
    x = _float(x)
    wide = _wide(x)
    scaled = wide * apply("rsqrt", reductions.mean(wide * wide, axis, keepdims=True) + eps)
    return _scaled(scaled, x.dtype, weight, None)


def _scaled(x: Any, dtype: np.dtype[Any], weight: Any, bias: Any) -> Any:
    """Of the dtype that NumPy's rules give arrays of `dtype` with the weight and the bias."""
    for name, change, by in (("weight", np.multiply, weight), ("bias", np.add, bias)):
        if by is not None:
            _check_beside(x, name, by)
            dtype = np.result_type(dtype, by.dtype)
            x = call(change, x, by)
    return convert(x, dtype)


def _check_beside(x: Any, what: str, values: Any) -> None:
    """Whether `values` are an array that broadcasts with `x`."""
    if not isinstance(values, (np.ndarray, ArrayBase)):
        given = type(values).__name__
        fail(UserTypeError, f"the {what} is a {given}, not an array; axis= says which axes are normalised")
    try:
        np.broadcast_shapes(x.shape, values.shape)
    except ValueError:
        given = as_array(values)._type_text
        fail(UserValueError, f"the {what} {given} does not broadcast with the values {x._type_text}")
