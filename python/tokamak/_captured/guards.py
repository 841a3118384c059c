"""What was found, as guards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

import numpy as np

from .. import _left_behind, _native
from .._errors import UserError, fail


class Captured:
    """Guards, and a name for each."""

    def __init__(self) -> None:
        self.guards = _native.Guards()
        self.names: list[str] = []
        self.generators: list[Any] = []  # of random numbers
        self.iterators: list[str] = []  # by name
        self.is_traced = False  # whether there are values that another trace is computing
        self.memoised: frozenset[CodeType] = (
            frozenset()
        )  # of functions whose results are kept by functools.lru_cache
        self.asking_types: list[dict[str, Any]] = []  # the variables of modules whose functions name `type`
        #: where they have functions of NumPy: the variables, and the name
        self.imported: list[tuple[dict[str, Any], str]] = []
        self._owners: set[int] = set()  # of memory that is guarded
        self._places: list[tuple[str, tuple[Any, ...]]] = []
        self._arrays: dict[int, Any] = {}  # tokamak.Arrays that were there

    def add(self, kind: str, place: tuple[Any, ...], name: str) -> None:
        if kind == "memory":
            self._owners.add(id(owner_of(place[0])))
            if isinstance(place[0], _native.ArrayBase):
                self._arrays[id(place[0])] = place[0]
        elif kind in _left_behind.PLACES:
            self._places.append((kind, place))
        getattr(self.guards, kind)(*place)
        self.names.append(name)

    def refuse_iterators(self, function: str) -> None:
        """What can be read only once is another in every call, in a way that nobody can look at."""
        if self.iterators:
            fail(
                UserError,
                f"{function}: it reads from `{self.iterators[0]}`, an iterator: that would happen only while the function is "
                "traced, not in every call; pass what comes next as an argument, or use a list",
            )

    def add_owners(self, references: Iterable[Callable[[], Any]]) -> None:
        """Guards the memory that became part of the program and still has other owners, however the function got at it."""
        for reference in references:
            owner = reference()
            if owner is not None and id(owner) not in self._owners:
                self.add("memory", (owner,), f"an array of {owner.dtype}{list(owner.shape)}")

    def as_numpy_would_leave(self) -> None:
        """Puts ndarrays where the function has left Arrays."""
        _left_behind.convert(self._places, self._arrays)

    def changed(self) -> str | None:
        """The name of something that is not what it was; None when everything is."""
        broken = self.guards.broken()
        if broken < 0:
            return None
        attribute = self.guards.detail(broken)
        return self.names[broken] + (f".{attribute}" if attribute else "")


def owner_of(array: Any) -> Any:
    while issubclass(type(array), np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array
