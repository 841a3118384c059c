"""How Array meets NumPy, the array API standard and DLPack."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _sharing
from .._errors import UserTypeError, UserValueError, fail
from .._numpy import dispatch
from .._unknown import STATIC, unknown, unknown_elements
from .operators import Operators

if TYPE_CHECKING:
    from . import Array

CPU = "cpu"  # the only device there is
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")  # of the array API standard


def check_device(device: Any) -> None:
    if device is not None and device != CPU:
        fail(UserValueError, f"device {device!r}: there is only {CPU!r}")


class Protocols(Operators):
    """What other libraries call."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return dispatch.array_ufunc(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return dispatch.array_function(func, args, dict(kwargs))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._traced:
            unknown_elements(self)
        view = self._view(False)
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                fail(UserTypeError, f"a {view.dtype} array cannot become {np.dtype(dtype)} without a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version is not None and api_version not in VERSIONS:
            fail(
                UserValueError,
                f"version {api_version!r} of the array API is not there; {', '.join(VERSIONS)} are",
            )
        return sys.modules[__package__.partition(".")[0]]

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if self._traced:
            unknown(self, "__dlpack__", STATIC)
        # Older versions of DLPack cannot say that memory is read-only, and NumPy then refuses to hand it over.
        options: Any = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        return self._view(not _sharing.is_read_only(self)).__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Array:
        check_device(device)
        if stream is not None:
            fail(UserValueError, f"to_device: the {CPU} has no streams")
        return self
