"""What stands for part of the program in a structure: compared by value, by type, or by identity."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from .. import _native


class Identity:
    """A value that is equal only to itself, kept alive so that it stays so."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value


class Function:
    """A function without variables of its own: equal to another that was made by the same code."""

    __slots__ = ("value",)

    def __init__(self, value: FunctionType) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value.__code__)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Function)
            and other.value.__code__ is self.value.__code__
            and other.value.__globals__ is self.value.__globals__
        )


def key_of(value: Any) -> Any:
    """A static value as part of a key: 1, 1.0 and True are different programs, and so are 0.0 and -0.0, however deep."""
    if isinstance(value, _native.ArrayBase):
        return type(value), value
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex):
        return type(value), value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, tuple):
        return type(value), tuple(key_of(one) for one in value)
    return type(value), value


class Static:
    """A value that is equal to others of its type with the same value."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = key_of(value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and other.key == self.key


class _Keys(tuple[Any, ...]):
    """The keys of a dict, not all of them text. Those that only compare equal, as 1, 1.0 and True, are different."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and key_of(tuple(self)) == key_of(tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def keys_of(value: dict[Any, Any]) -> tuple[Any, ...]:
    keys = tuple(value)
    return keys if all(type(key) is str for key in keys) else _Keys(keys)


def static_slice(value: slice) -> Any:
    parts = (value.start, value.stop, value.step)
    return Static(value) if _is_hashable(value) else _Slice(value, key_of(parts))


class _Slice(Static):
    """A slice, which cannot be hashed before Python 3.12."""

    def __init__(self, value: slice, key: Any) -> None:
        self.value = value
        self.key = key


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
