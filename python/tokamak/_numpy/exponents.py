"""Ufuncs on the parts of numbers: exponents, units in the last place, common divisors."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import _dtypes
from .._ops import apply, as_array, constant, convert, select
from .._registry import implements

_LOWEST, _HIGHEST = -1074, 1023  # the powers of two that f64 has


@functools.cache
def _powers() -> np.ndarray:
    return np.ldexp(1.0, np.arange(_LOWEST, _HIGHEST + 1))


def _power_of_two(exponent: Any) -> Any:
    """Exact, for exponents that f64 has; the nearest that there is for others."""
    index = apply("sub", exponent, constant(_LOWEST, _dtypes.INT64))
    index = apply("max", index, constant(0, _dtypes.INT64))
    return apply("gather", as_array(_powers()), index, axis=0, mode="clamp")


def _times_power(x: Any, exponent: int) -> Any:
    return apply("mul", x, constant(2.0**exponent, _dtypes.FLOAT64))


def _taken_apart(x: Any) -> tuple[Any, Any]:
    """x, which is f64, as a mantissa of [0.5, 1) and an exponent; what has none stays as it is, with exponent 0."""
    size = apply("abs", x)
    tiny = apply("lt", size, constant(2.0**-1022, _dtypes.FLOAT64))
    size = select(tiny, _times_power(size, 54), size)
    usual = apply("bit_and", apply("is_finite", x), apply("ne", x, constant(0, _dtypes.FLOAT64)))
    size = select(usual, size, constant(1, _dtypes.FLOAT64))
    # The logarithm may be off by its rounding, next to powers of two: compare.
    guess = convert(apply("floor", apply("log2", size)), _dtypes.INT64)
    high = apply("min", guess, constant(_HIGHEST, _dtypes.INT64))
    too_high = apply("gt", _power_of_two(high), size)
    high = select(too_high, apply("sub", high, constant(1, _dtypes.INT64)), high)
    next_one = apply("add", high, constant(1, _dtypes.INT64))
    too_low = apply(
        "bit_and",
        apply("le", next_one, constant(_HIGHEST, _dtypes.INT64)),
        apply("le", _power_of_two(next_one), size),
    )
    high = select(too_low, next_one, high)
    mantissa = _times_power(apply("mul", size, _power_of_two(apply("neg", high))), -1)
    exponent = apply("add", high, constant(1, _dtypes.INT64))
    exponent = select(tiny, apply("sub", exponent, constant(54, _dtypes.INT64)), exponent)
    return (
        select(usual, apply("copysign", mantissa, x), x),
        select(usual, exponent, constant(0, _dtypes.INT64)),
    )


@implements(np.frexp)
def frexp(x: Any) -> Any:
    mantissa, exponent = _taken_apart(convert(x, _dtypes.FLOAT64))
    return convert(mantissa, x.dtype), exponent


@implements(np.ldexp)
def ldexp(x: Any, exponent: Any) -> Any:
    """Rounded once: the mantissa times a power of two that there is."""
    mantissa, own = _taken_apart(convert(x, _dtypes.FLOAT64))
    most = constant(5000, _dtypes.INT64)
    wanted = convert(exponent, _dtypes.INT64)
    wanted = apply("max", apply("min", wanted, most), apply("neg", most))
    total = apply("add", own, wanted)
    # From [0.5, 1) to [1, 2) for large results, which would need 2 ** 1024; far below all numbers there is only zero.
    large = apply("gt", total, constant(1000, _dtypes.INT64))
    result = apply("mul", mantissa, _power_of_two(total))
    doubled = _times_power(mantissa, 1)
    huge = apply("mul", doubled, _power_of_two(apply("sub", total, constant(1, _dtypes.INT64))))
    beyond = apply("gt", total, constant(1024, _dtypes.INT64))
    infinite = apply("mul", mantissa, constant(math.inf, _dtypes.FLOAT64))
    zero = apply("copysign", constant(0, _dtypes.FLOAT64), mantissa)
    result = select(large, select(beyond, infinite, huge), result)
    result = select(apply("lt", total, constant(_LOWEST, _dtypes.INT64)), zero, result)
    ordinary = apply(
        "bit_and", apply("is_finite", mantissa), apply("ne", mantissa, constant(0, _dtypes.FLOAT64))
    )
    return convert(select(ordinary, result, mantissa), x.dtype)


@implements(np.spacing)
def spacing(x: Any) -> Any:
    """The distance to the next number away from zero; to the next greater one in f16, as NumPy has it."""
    outward = constant(math.inf, x.dtype)
    if x.dtype != _dtypes.FLOAT16:
        outward = select(apply("lt", x, constant(0, x.dtype)), apply("neg", outward), outward)
    distance = apply("sub", apply("nextafter", x, outward), x)
    return select(apply("is_finite", x), distance, constant(math.nan, x.dtype))


# How many divisions Euclid's algorithm takes at most, by bits: neighbours of Fibonacci's sequence take the most.
_DIVISIONS = {8: 13, 16: 24, 32: 47, 64: 93}


def _magnitudes(x: Any, y: Any) -> tuple[Any, Any]:
    """Without signs, in the unsigned dtype of the same size, which holds the size of the lowest number too."""
    if x.dtype.kind == "u":
        return x, y
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return convert(apply("abs", x), unsigned), convert(apply("abs", y), unsigned)


def _common_divisor(x: Any, y: Any) -> Any:
    zero = constant(0, x.dtype)
    steps = _DIVISIONS[8 * x.dtype.itemsize]
    for step in range(steps):
        # Nothing is left to divide by: the remainder of a division by zero is zero, and x stays.
        rest = y if step == steps - 1 else apply("mod", x, y)
        x, y = select(apply("eq", y, zero), x, y), rest
    return x


@implements(np.gcd)
def gcd(x: Any, y: Any) -> Any:
    return _common_divisor(*_magnitudes(x, y))


@implements(np.lcm)
def lcm(x: Any, y: Any) -> Any:
    x, y = _magnitudes(x, y)
    return apply("mul", apply("floor_div", x, _common_divisor(x, y)), y)
