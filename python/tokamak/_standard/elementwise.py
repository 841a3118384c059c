"""The standard's element-wise functions. Those that are ufuncs are one line each."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, overload

import numpy as np

from .._array import Array
from .common import A, NDArray, Number, run


class Unary(Protocol):
    def __call__(self, x: A, /) -> A: ...


class Binary(Protocol):
    @overload
    def __call__(self, x1: Array, x2: Array | NDArray | Number, /) -> Array: ...
    @overload
    def __call__(self, x1: NDArray | Number, x2: Array, /) -> Array: ...
    @overload
    def __call__(self, x1: NDArray, x2: NDArray | Number, /) -> NDArray: ...
    @overload
    def __call__(self, x1: Number, x2: NDArray, /) -> NDArray: ...


def _named(function: Callable[..., Any], name: str, ufunc: np.ufunc) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "tokamak"
    function.__doc__ = _summary(ufunc)
    return function


def _summary(ufunc: np.ufunc) -> str:
    """The sentence after the signature."""
    lines = [line.strip() for line in (ufunc.__doc__ or "").splitlines()]
    return next((line for line in lines if line and f"{ufunc.__name__}(" not in line), "")


def _unary(name: str, ufunc: np.ufunc) -> Unary:
    def function(x: Any, /) -> Any:
        return run(ufunc, x)

    made: Unary = _named(function, name, ufunc)
    return made


def _binary(name: str, ufunc: np.ufunc) -> Binary:
    def function(x1: Any, x2: Any, /) -> Any:
        return run(ufunc, x1, x2)

    made: Binary = _named(function, name, ufunc)
    return made


abs = _unary("abs", np.abs)
acos = _unary("acos", np.acos)
acosh = _unary("acosh", np.acosh)
add = _binary("add", np.add)
asin = _unary("asin", np.asin)
asinh = _unary("asinh", np.asinh)
atan = _unary("atan", np.atan)
atan2 = _binary("atan2", np.atan2)
atanh = _unary("atanh", np.atanh)
bitwise_and = _binary("bitwise_and", np.bitwise_and)
bitwise_invert = _unary("bitwise_invert", np.bitwise_invert)
bitwise_left_shift = _binary("bitwise_left_shift", np.bitwise_left_shift)
bitwise_or = _binary("bitwise_or", np.bitwise_or)
bitwise_right_shift = _binary("bitwise_right_shift", np.bitwise_right_shift)
bitwise_xor = _binary("bitwise_xor", np.bitwise_xor)
ceil = _unary("ceil", np.ceil)
conj = _unary("conj", np.conj)
copysign = _binary("copysign", np.copysign)
cos = _unary("cos", np.cos)
cosh = _unary("cosh", np.cosh)
divide = _binary("divide", np.divide)
equal = _binary("equal", np.equal)
exp = _unary("exp", np.exp)
expm1 = _unary("expm1", np.expm1)
floor = _unary("floor", np.floor)
floor_divide = _binary("floor_divide", np.floor_divide)
greater = _binary("greater", np.greater)
greater_equal = _binary("greater_equal", np.greater_equal)
hypot = _binary("hypot", np.hypot)
isfinite = _unary("isfinite", np.isfinite)
isinf = _unary("isinf", np.isinf)
isnan = _unary("isnan", np.isnan)
less = _binary("less", np.less)
less_equal = _binary("less_equal", np.less_equal)
log = _unary("log", np.log)
log10 = _unary("log10", np.log10)
log1p = _unary("log1p", np.log1p)
log2 = _unary("log2", np.log2)
logaddexp = _binary("logaddexp", np.logaddexp)
logical_and = _binary("logical_and", np.logical_and)
logical_not = _unary("logical_not", np.logical_not)
logical_or = _binary("logical_or", np.logical_or)
logical_xor = _binary("logical_xor", np.logical_xor)
maximum = _binary("maximum", np.maximum)
minimum = _binary("minimum", np.minimum)
multiply = _binary("multiply", np.multiply)
negative = _unary("negative", np.negative)
nextafter = _binary("nextafter", np.nextafter)
not_equal = _binary("not_equal", np.not_equal)
positive = _unary("positive", np.positive)
pow = _binary("pow", np.pow)
reciprocal = _unary("reciprocal", np.reciprocal)
remainder = _binary("remainder", np.remainder)
sign = _unary("sign", np.sign)
signbit = _unary("signbit", np.signbit)
sin = _unary("sin", np.sin)
sinh = _unary("sinh", np.sinh)
sqrt = _unary("sqrt", np.sqrt)
square = _unary("square", np.square)
subtract = _binary("subtract", np.subtract)
tan = _unary("tan", np.tan)
tanh = _unary("tanh", np.tanh)
trunc = _unary("trunc", np.trunc)


def clip(x: A, /, min: A | Number | None = None, max: A | Number | None = None) -> A:
    """Each element, or the bound that it lies beyond."""
    return run(np.clip, x, min, max)


def imag(x: A, /) -> A:
    """Zero: elements are real."""
    return run(np.imag, x)


def real(x: A, /) -> A:
    """x itself: elements are real."""
    return run(np.real, x)


def round(x: A, /) -> A:
    """The nearest integer, the even one where two are as near."""
    return run(np.round, x)
