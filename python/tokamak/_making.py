"""Arrays over the memory of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _dtypes, _ops
from ._array import Array, array, check_device
from ._errors import Error, UserTypeError, UserValueError, fail
from ._numpy.known import plain

__all__ = ["asarray", "from_dlpack"]


class DLPackBufferError(UserTypeError, BufferError):
    """Memory that DLPack cannot hand over."""


class DLPackAttributeError(UserTypeError, AttributeError):
    """An object that does not speak DLPack."""


def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Array:
    """`obj` as an Array. The memory of an ndarray, or of another buffer, is shared, so it must not be changed
    while in use; copy=True copies, copy=False refuses where a copy is needed."""
    check_device(device)
    wanted = None if dtype is None else _dtypes.check(dtype)
    if copy:
        return array(obj, wanted)
    if not isinstance(obj, np.ndarray) and not _ops._holds_array(obj):
        obj = np.asarray(obj, wanted, copy=copy)
    given = plain(obj)
    made = given if wanted is None else _ops.convert(given, wanted)
    if copy is False and (made is not given or isinstance(obj, (list, tuple))):
        fail(UserValueError, f"asarray: {given._type_text} cannot be had as {made._type_text} without a copy")
    return made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An Array over the memory of any object that speaks DLPack (CPU), without a copy unless asked for one."""
    if not hasattr(x, "__dlpack__"):
        fail(DLPackAttributeError, f"from_dlpack: a {type(x).__name__} does not speak DLPack")
    check_device(device)
    try:
        return asarray(np.from_dlpack(x, copy=copy))
    except (BufferError, RuntimeError) as error:
        if isinstance(error, Error):
            raise
        fail(DLPackBufferError, f"from_dlpack: {error}")
