"""What asks an Array for its elements: numbers, text, pickles; and indexing."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _ops, _sharing
from .._errors import Unsupported, UserTypeError, fail, make, user_line
from .._numpy import elementwise, indexing, masked, reductions, ufuncs, writing
from .._unknown import (
    STATIC,
    TRACED,
    constant_value,
    need_numbers,
    unknown,
    unknown_number,
    unknown_truth,
)
from .protocols import Protocols

if TYPE_CHECKING:
    from . import Array


#: What to do where there is no such attribute
_INSTEAD = {
    "resize": "an array keeps its size: make another, y = y.ravel()[:n].reshape(shape), or "
    "y = np.pad(y.ravel(), (0, n)).reshape(shape), which puts zeros at the end as resize does",
}


class UnsupportedAttribute(Unsupported, AttributeError):
    """An attribute of ndarray that Array does not have."""


class Values(Protocols):
    """While a function is traced, elements are known only where they are constants."""

    __slots__ = ()

    def _value(self, what: str, remedy: str) -> Any:
        if not self._traced:
            return self._view(False)
        known = constant_value(self)
        if known is None:
            unknown(self, what, remedy)
        return known._view(False)

    def _number(self, what: str) -> Any:
        known = constant_value(self) if self._traced else self
        if known is None:
            unknown_number(self, what)
        return known._view(False)

    def __bool__(self) -> bool:
        known = constant_value(self) if self._traced else self
        if known is None:
            unknown_truth(self)
        return bool(known._view(False))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()", STATIC))

    def __index__(self) -> int:
        return operator.index(
            self._value("using it as an integer (range, a shape, an index of a list)", STATIC)
        )

    def __round__(self: Any, digits: int | None = None) -> Any:
        """An integer of Python's, of its numbers and of NumPy's scalars, unless digits are asked for; arrays remain arrays."""
        if self._weak is None and (digits is not None or not _sharing.is_scalar(self)):
            return elementwise.round_(self, digits or 0)
        if digits is not None:  # of the decimal digits that Python would show
            return round(self._weak(self._value("round()", STATIC)), digits)
        if self._weak is None and self.dtype.kind == "b":
            fail(UserTypeError, "type numpy.bool doesn't define __round__ method")
        if not self._traced:
            return round(self._view(False)[()])
        whole = ufuncs.call(np.rint, self) if _dtypes.is_float(self.dtype) else self
        return _ops.as_integer(whole)

    def item(self, *args: Any) -> Any:
        return self._value("item()", STATIC).item(*args)

    def tolist(self) -> Any:
        return self._value("tolist()", STATIC).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return bytes(self._value("tobytes()", STATIC).tobytes(order))

    def numpy(self) -> np.ndarray:
        """The elements as a read-only ndarray over the same memory."""
        return self.__array__()

    def __len__(self) -> int:
        if self.ndim == 0:
            fail(UserTypeError, "len() of an array without axes")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            fail(UserTypeError, "iteration over an array without axes")
        return (indexing.getitem(self, i) for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> Any:
        return bool(reductions.any_(ufuncs.call(np.equal, self, value)))

    def __getitem__(self, key: Any) -> Any:
        if (found := indexing.plain_getitem(self, key)) is not None:
            return found
        under_mask = masked.getitem(self, key)
        return indexing.getitem(self, key) if under_mask is None else under_mask

    def __setitem__(self, key: Any, value: Any) -> None:
        writing.setitem(self, key, value)

    def fill(self, value: Any) -> None:
        writing.setitem(self, ..., value)

    def __repr__(self) -> str:
        if self._traced:
            need_numbers(self)
            return f"{TRACED}{self._type_text}>"
        text = np.array2string(self._view(False), separator=", ", prefix="Array(")
        return f"Array({text}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        return repr(self) if self._traced else format(self._view(False)[()], spec)

    def __copy__(self: Any) -> Array:
        return _sharing.copied(self)

    def __deepcopy__(self: Any, memo: Any) -> Array:
        return _sharing.copied(self)

    def __reduce__(self) -> Any:
        from . import array  # which is made of this

        return (array, (np.array(self._value("pickling", STATIC)),))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Array' object has no attribute {name!r}")
        instead = _INSTEAD.get(name, "see what Array has")
        raise make(
            UnsupportedAttribute,
            f"the ndarray attribute {name!r} is not there; {instead}",
            user_line(),
        )
