"""Python's numbers among themselves: where they raise errors, and what kind of number comes out."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes
from .._errors import UserZeroDivisionError, fail
from .._ops import as_array, checked, convert, is_array
from . import ufuncs

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
