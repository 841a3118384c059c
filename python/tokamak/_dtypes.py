"""Which NumPy dtypes there are, and what joins them."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _native
from ._errors import UserTypeError, fail

BOOL = np.dtype(np.bool_)
INT32 = np.dtype(np.int32)
UINT8 = np.dtype(np.uint8)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

_bfloat16_known = False


def know_bfloat16() -> np.dtype[Any] | None:
    """The bfloat16 of ml_dtypes, once somebody has imported it."""
    global _bfloat16_known
    module = sys.modules.get("ml_dtypes")
    if module is None:
        return None
    dtype = np.dtype(module.bfloat16)
    if not _bfloat16_known:
        _native.set_bfloat16(dtype)
        _bfloat16_known = True
    return dtype


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "V" and dtype.name == "bfloat16"


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or is_bfloat16(dtype)


def limits_of_float(dtype: np.dtype[Any]) -> Any:
    """NumPy's finfo, which does not know bfloat16."""
    return sys.modules["ml_dtypes"].finfo(dtype) if is_bfloat16(dtype) else np.finfo(dtype)


def is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu"


def check(dtype: Any) -> np.dtype[Any]:
    """A dtype that arrays can have."""
    found = np.dtype(dtype)
    if found.kind in "biuf" and found.itemsize <= 8:
        return found if found.isnative else found.newbyteorder("=")
    if is_bfloat16(found):
        know_bfloat16()
        return found
    fail(
        UserTypeError,
        f"dtype {found} is not supported; bool, integers, and floats of 16, 32 and 64 bits are",
    )


def float_for(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The float that functions without a ufunc of their own compute in."""
    return dtype if is_float(dtype) else FLOAT64


def default_of(number: type) -> np.dtype[Any]:
    """The dtype that a Python number has when no array says otherwise."""
    return {bool: BOOL, int: INT64, float: FLOAT64}[number]
