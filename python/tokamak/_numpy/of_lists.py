"""Ufuncs that take lists of Arrays: np.sqrt([x, y]), np.maximum.reduce([a, b, c])."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._native import is_tracing
from .._ops import _holds_array
from . import creating
from .while_tracing import UFUNC_METHODS


class OfLists:
    """Stands for a ufunc in NumPy's namespace while a function is traced that passes lists of Arrays to one: NumPy does not ask Arrays
    that are inside lists. It is equal to the ufunc, and has all that the ufunc has."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.replaces = ufunc

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.replaces(*map(_joined, args), **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.replaces, name)
        if name == "at":
            return lambda a, indices, *values: found(a, _indices(indices), *map(_joined, values))
        return _taking_lists(found) if name in UFUNC_METHODS else found

    def __eq__(self, other: object) -> bool:
        return self.replaces is getattr(other, "replaces", other)

    def __hash__(self) -> int:
        return hash(self.replaces)

    def __repr__(self) -> str:
        return repr(self.replaces)

    def __reduce__(self) -> Any:
        return _ufunc_of_name, (self.replaces.__name__,)


def _ufunc_of_name(name: str) -> Any:
    return getattr(np, name)


def _taking_lists(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: method(*map(_joined, args), **kwargs)


def _indices(given: Any) -> Any:
    """A tuple has an index for each axis."""
    return tuple(map(_joined, given)) if isinstance(given, tuple) else _joined(given)


def _joined(x: Any) -> Any:
    return creating.array(x) if isinstance(x, (list, tuple)) and is_tracing() and _holds_array(x) else x
