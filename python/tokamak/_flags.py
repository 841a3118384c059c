"""x.flags: what NumPy would tell about the memory of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _sharing
from ._errors import UserValueError, fail

if TYPE_CHECKING:
    from ._array import Array

_SHORT = {
    "C": "c_contiguous",
    "CONTIGUOUS": "c_contiguous",
    "F": "f_contiguous",
    "FORTRAN": "f_contiguous",
    "O": "owndata",
    "W": "writeable",
    "A": "aligned",
    "X": "writebackifcopy",
}


class Flags:
    """By attribute or by item: x.flags.c_contiguous, x.flags["C"]."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        return _sharing.is_contiguous(self._array)

    contiguous = c_contiguous

    @property
    def f_contiguous(self) -> bool:
        x = self._array
        return x.size == 0 or _sharing.is_dense(x.shape[::-1], _sharing.strides_of(x)[::-1])

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        return self.f_contiguous or self.c_contiguous

    @property
    def carray(self) -> bool:
        return self.c_contiguous and self.writeable

    @property
    def behaved(self) -> bool:
        return self.writeable

    @property
    def aligned(self) -> bool:
        return True

    @property
    def writebackifcopy(self) -> bool:
        return False

    @property
    def owndata(self) -> bool:
        return not _sharing.is_part(self._array)

    @property
    def writeable(self) -> bool:
        return _sharing.is_writeable(self._array)

    @writeable.setter
    def writeable(self, value: Any) -> None:
        if value and not self.writeable:
            fail(UserValueError, "cannot set WRITEABLE flag to True of this array")
        if not value:
            _sharing.make_read_only(self._array)

    def _name(self, key: Any) -> str:
        name = _SHORT.get(key) or str(key).lower()
        if name not in {*_SHORT.values(), "fnc", "forc", "carray", "behaved"}:
            raise KeyError("Unknown flag")
        return name

    def __getitem__(self, key: Any) -> bool:
        return bool(getattr(self, self._name(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        setattr(self, self._name(key), value)
