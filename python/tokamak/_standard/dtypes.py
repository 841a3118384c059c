"""The standard's functions of data types, and what a namespace tells about itself."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes, _native
from .._array import CPU, check_device
from .._errors import UserTypeError, UserValueError, fail
from .._numpy import joining
from . import constants
from .common import A, DType, DTypeLike, Number, run

#: The kinds of data types that the standard names
KINDS: dict[str, Callable[[DType], bool]] = {
    "bool": lambda dtype: dtype.kind == "b",
    "signed integer": lambda dtype: dtype.kind == "i",
    "unsigned integer": lambda dtype: dtype.kind == "u",
    "integral": _dtypes.is_integer,
    "real floating": _dtypes.is_float,
    "complex floating": lambda dtype: dtype.kind == "c",
    "numeric": lambda dtype: _dtypes.is_integer(dtype) or _dtypes.is_float(dtype) or dtype.kind == "c",
}


def _dtype_of(value: Any) -> DType:
    return value.dtype if isinstance(value, (_native.ArrayBase, np.ndarray)) else np.dtype(value)


def astype(x: A, dtype: DTypeLike, /, *, copy: bool = True, device: Any = None) -> A:
    """x with its elements converted; x itself where it has the dtype already and copy is False."""
    check_device(device)
    wanted = _dtypes.check(dtype)
    return x if x.dtype == wanted and not copy else run(np.astype, x, wanted)


def can_cast(from_: Any, to: DTypeLike, /) -> bool:
    """Whether a dtype, or that of an array, holds no value that another dtype does not."""
    return np.can_cast(_dtype_of(from_), np.dtype(to))


class FloatLimits(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating-point dtype, or of that of an array."""
    dtype = _dtype_of(type)
    if not _dtypes.is_float(dtype):
        fail(UserTypeError, f"finfo: {dtype} is not floating-point; iinfo tells about integers")
    found = _dtypes.limits_of_float(dtype)
    eps, high, low, normal = (
        float(getattr(found, name)) for name in ("eps", "max", "min", "smallest_normal")
    )
    return FloatLimits(found.bits, eps, high, low, normal, dtype)


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of that of an array."""
    dtype = _dtype_of(type)
    if not _dtypes.is_integer(dtype):
        fail(UserTypeError, f"iinfo: {dtype} is no integer; finfo tells about floating-point")
    found = np.iinfo(dtype)
    return IntegerLimits(found.bits, int(found.max), int(found.min), dtype)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is another, or of a kind ("bool", "integral", "real floating"...), or any of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if not isinstance(kind, str):
        return np.dtype(dtype) == np.dtype(kind)
    if kind not in KINDS:
        fail(UserValueError, f"isdtype: {kind!r} is no kind of dtypes; {', '.join(KINDS)} are")
    return KINDS[kind](np.dtype(dtype))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype in which arrays, dtypes and numbers meet."""
    if all(isinstance(one, Number) for one in arrays_and_dtypes):
        fail(UserValueError, "result_type: at least one argument must be an array or a dtype")
    return joining.result_type(
        *[one.dtype if isinstance(one, np.ndarray) else one for one in arrays_and_dtypes]
    )


# ---------------------------------------------------------------------------------------------------------------------
# What the namespace is


class NamespaceInfo:
    """What `__array_namespace_info__()` gives."""

    def capabilities(self) -> dict[str, Any]:
        """Shapes that depend on values are there outside of jitted functions only."""
        known = not _native.is_tracing()
        return {"boolean indexing": known, "data-dependent shapes": known, "max dimensions": 64}

    def default_device(self) -> str:
        return CPU

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Of the kinds that are there: there is no complex one."""
        check_device(device)
        return {
            "real floating": constants.float64,
            "integral": constants.int64,
            "indexing": constants.int64,
        }

    def devices(self) -> list[str]:
        return [CPU]

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The standard's dtypes that are there, by name, all or those of a kind."""
        check_device(device)
        names = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
        found: dict[str, DType] = {name: getattr(constants, name) for name in [*names, "float32", "float64"]}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """What the namespace has: dtypes, devices, capabilities."""
    return NamespaceInfo()
