"""Python's numbers among themselves: where they raise errors, and what kind of number comes out.

Python's integers have as many bits as they need, those of a program 64: a result that does not fit is an error when the program runs.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes
from .._errors import UserZeroDivisionError, fail
from .._ops import apply, as_array, checked, constant, convert, is_array, select
from .._unknown import constant_value
from . import ufuncs

_LIMITS = np.iinfo(np.int64)
_EXACT = 2.0**53  # integers below it are floats

_TEXTS = {
    "divide": "division by zero",
    "floor_divide": "integer division or modulo by zero",
    "remainder": "integer division or modulo by zero",
}


def divisor(y: Any, ufunc: np.ufunc) -> Any:
    """The divisor, which is checked: unlike NumPy, Python does not divide by zero. A traced one is when the program runs."""
    if not is_array(y):
        if y == 0:
            fail(UserZeroDivisionError, _TEXTS[ufunc.__name__])
        return y
    holds = ufuncs.call(np.not_equal, y._with_weak(None), 0)
    return checked(y, holds, "check_divisor")._with_weak(y._weak)


def power(x: Any, y: Any, kind: type) -> tuple[Any, Any, type]:
    """x, y and the kind of x ** y. An integer to a negative one is a float: so the exponent has to be known there."""
    if kind is not int:
        return x, y, kind
    exponent = int(y)
    if exponent >= 0:
        return x, exponent, int
    return (
        convert(divisor(as_array(x), np.true_divide), _dtypes.FLOAT64)._with_weak(float),
        float(exponent),
        float,
    )


def compared(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """Compares an integer with a float, exactly: integers beyond 2**53 are not all floats. Where the float that is nearest
    to the integer is the other one, what is left to compare are integers."""
    x, y = as_array(x), as_array(y)
    near = [convert(one, _dtypes.FLOAT64) for one in (x, y)]
    by_floats = ufuncs.call(ufunc, *near)
    of_float = 0 if x.dtype.kind == "f" else 1
    known = constant_value((x, y)[of_float])
    if known is not None and not abs(float(known)) >= _EXACT:
        return by_floats
    whole = [convert(one, _dtypes.INT64) for one in (x, y)]
    is_beyond = _is("ge", near[1 - of_float], float(_LIMITS.max))  # 2**63 is no integer here, but above all of them
    whole[of_float] = select(is_beyond, constant(_LIMITS.max, _dtypes.INT64), whole[of_float])
    whole[1 - of_float] = select(is_beyond, constant(0, _dtypes.INT64), whole[1 - of_float])
    return select(apply("eq", *near), ufuncs.call(ufunc, *whole), by_floats)


# ---------------------------------------------------------------------------------------------------------------------
# Results that a program cannot have


def _all(*conditions: Any) -> Any:
    holds = conditions[0]
    for one in conditions[1:]:
        holds = apply("bit_and", holds, one)
    return holds


def _any(*conditions: Any) -> Any:
    holds = conditions[0]
    for one in conditions[1:]:
        holds = apply("bit_or", holds, one)
    return holds


def _is(op: str, x: Any, y: Any) -> Any:
    return apply(op, x, y if is_array(y) else constant(y, x.dtype))


def within_64_bits(ufunc: np.ufunc, x: Any, y: Any, result: Any) -> Any:
    """The result of two integers, which the program raises an error for when it does not fit."""
    test = _FITS.get(ufunc)
    if test is None:
        return result
    x, y = (convert(as_array(one), _dtypes.INT64) for one in (x, y))
    return checked(result, test(x, y, result), "check_fits")


def _sum_fits(x: Any, y: Any, result: Any) -> Any:
    """The sign is that of one of the operands at least."""
    return _is("ge", apply("bit_and", apply("bit_xor", x, result), apply("bit_xor", y, result)), 0)


def _difference_fits(x: Any, y: Any, result: Any) -> Any:
    return _is("ge", apply("bit_and", apply("bit_xor", x, y), apply("bit_xor", x, result)), 0)


def _product_fits(x: Any, y: Any, result: Any) -> Any:
    is_zero = _is("eq", x, 0)
    divided = apply("floor_div", result, apply("bit_or", x, convert(is_zero, _dtypes.INT64)))
    wraps = _all(_is("eq", x, -1), _is("eq", y, _LIMITS.min))
    return _any(is_zero, _all(_is("eq", divided, y), apply("bit_not", wraps)))


def _shift_fits(x: Any, y: Any, result: Any) -> Any:
    is_back = _all(_is("lt", y, 64), _is("eq", apply("shift_right", result, y), x))
    return _all(_is("ge", y, 0), _any(is_back, _is("eq", x, 0)))


def _power_fits(x: Any, y: Any, result: Any) -> Any:
    """The exponent is known: see `power`."""
    exponent = int(y)
    if exponent < 2:
        return constant(True, _dtypes.BOOL)
    largest, smallest = _root(_LIMITS.max, exponent), -_root(-int(_LIMITS.min), exponent)
    return _all(_is("le", x, largest), _is("ge", x, smallest if exponent % 2 else -largest))


def _root(number: int, exponent: int) -> int:
    """The largest integer whose power is not above a number."""
    root = int(round(number ** (1 / exponent))) + 1
    while root**exponent > number:
        root -= 1
    return root


_FITS: dict[np.ufunc, Callable[[Any, Any, Any], Any]] = {
    np.add: _sum_fits,
    np.subtract: _difference_fits,
    np.multiply: _product_fits,
    np.left_shift: _shift_fits,
    np.right_shift: lambda x, y, result: _is("ge", y, 0),
    np.floor_divide: lambda x, y, result: apply("bit_not", _all(_is("eq", x, _LIMITS.min), _is("eq", y, -1))),
    np.power: _power_fits,
}


def real_power(x: Any, y: Any, result: Any) -> Any:
    """x ** y of floats: complex for negative x, where the exponent is no integer. One that is too large is infinity, as in NumPy."""
    is_integer = not is_array(y) and float(y).is_integer()
    if is_integer and y >= 0:
        return result
    base, exponent = (convert(as_array(one), _dtypes.FLOAT64) for one in (x, y))
    if is_array(y) or y < 0:
        is_pole = _all(_is("eq", base, 0), _is("lt", exponent, 0), apply("is_finite", exponent))
        result = checked(result, apply("bit_not", is_pole), "check_divisor")
    if is_integer:
        return result
    is_nan = [apply("is_nan", one) for one in (result, base, exponent)]
    return checked(result, _any(apply("bit_not", is_nan[0]), is_nan[1], is_nan[2]), "check_fits")
