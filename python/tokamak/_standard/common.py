"""How a function of the array API standard reaches its implementation.

NumPy's main namespace has the standard's functions, and NumPy's functions on Arrays are implemented already: so each
function here is NumPy's, called with Arrays, under the standard's name and with the standard's signature.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .._array import Array
from .._numpy.masked import Masked
from .._ops import as_array

NDArray = np.ndarray[Any, Any]
DType = np.dtype[Any]
DTypeLike = DType | type[Any] | str
Number = bool | int | float
Axes = int | tuple[int, ...] | None

#: What a function is given decides what it gives: Arrays for Arrays, ndarrays for ndarrays.
A = TypeVar("A", Array, NDArray)


def run(function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """What NumPy's `function` gives for Arrays. Where there are only ndarrays, their memory is used as it is, and the
    result is an ndarray (a NumPy scalar where it has no axes)."""
    if _holds_array(operands) or _holds_array(options):
        return function(*operands, **options)
    lifted = _as_arrays(operands)
    if operands and not _holds_array(lifted):  # numbers only
        lifted = (as_array(operands[0]), *lifted[1:])
    return _as_ndarrays(function(*lifted, **_as_arrays(options)))


def _holds_array(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_array(one) for one in value)
    if isinstance(value, dict):
        return any(_holds_array(one) for one in value.values())
    return isinstance(value, (Array, Masked))


def _as_arrays(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_as_arrays(one) for one in value)
    if isinstance(value, dict):
        return {name: _as_arrays(one) for name, one in value.items()}
    return as_array(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _as_ndarrays(value: Any) -> Any:
    if isinstance(value, Array):
        return _as_ndarray(value)
    if isinstance(value, (list, tuple)):
        results = [_as_ndarrays(one) for one in value]
        return type(value)(*results) if hasattr(value, "_fields") else type(value)(results)
    return value


def _as_ndarray(x: Array) -> Any:
    view = x._view(True)
    repeats = any(stride == 0 and n > 1 for stride, n in zip(view.strides, view.shape, strict=True))
    return (view.copy() if repeats else view)[()]
