"""What is known while arguments are taken apart or made: what belongs together, and which instances are open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _native

LEAF = "*"
NONE = "None"


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, _native.ArrayBase))


class Session:
    """The arguments of one call, while they are taken apart or made: which lists, dicts and instances there were, and which leaves,
    in order. Those that are met again are the same object: ("seen", number) or ("same leaf", number)."""

    def __init__(self, same_arrays: bool = False) -> None:
        self.same_arrays = same_arrays  # whether an array that is met again is the same leaf
        self.numbers: dict[int, int] = {}  # of containers, by id
        self.arrays: dict[int, int] = {}  # of leaves that are arrays, by id
        self.leaf_count = 0
        self.made: list[Any] = []  # containers
        self.leaves: list[Any] = []

    def mark(self) -> tuple[int, int, int]:
        return len(self.numbers), len(self.arrays), self.leaf_count

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Forgets what was met since."""
        while len(self.numbers) > mark[0]:
            self.numbers.popitem()
        while len(self.arrays) > mark[1]:
            self.arrays.popitem()
        self.leaf_count = mark[2]


class _Open(threading.local):
    """The instances that are being taken apart, and those that are being made: some hold themselves, or what they are part of."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.made: list[Any] = []
        self.numbers: frozenset[str] = frozenset()  # attributes whose numbers are arguments
        self.session: Session | None = None


current = _Open()


def seen(container: Any) -> Any:
    """What stands for a container that was met before; None for others, which are met now."""
    session = current.session
    if session is None:
        return None
    number = session.numbers.get(id(container))
    if number is not None:
        return ("seen", number)
    session.numbers[id(container)] = len(session.numbers)
    return None


def add_leaf(value: Any, leaves: list[Any]) -> Any:
    session = current.session
    if session is not None:
        if session.same_arrays and is_array(value) and not isinstance(value, np.generic):
            number = session.arrays.setdefault(id(value), session.leaf_count)
            if number != session.leaf_count:
                return ("same leaf", number)
        session.leaf_count += 1
    leaves.append(value)
    return LEAF


def note_made(container: Any) -> None:
    if current.session is not None:
        current.session.made.append(container)


@contextmanager
def with_numbers(names: frozenset[str]) -> Iterator[None]:
    """Inside, numbers that are attributes with these names are leaves."""
    before, current.numbers = current.numbers, names
    try:
        yield
    finally:
        current.numbers = before


class together:
    """Inside, what is taken apart or made belongs together: the same object in two places is one."""

    __slots__ = ("_before", "_session")

    def __init__(self, same_arrays: bool = False) -> None:
        self._session = Session(same_arrays)

    def __enter__(self) -> None:
        self._before = current.session
        current.session = self._session

    def __exit__(self, *raised: object) -> None:
        current.session = self._before


@contextmanager
def opened(instance: Any) -> Iterator[None]:
    """Inside, the instance is being taken apart."""
    current.taken.append(instance)
    try:
        yield
    finally:
        current.taken.pop()
