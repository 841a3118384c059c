"""Numbers among the arguments whose values a function needs to know.

A number is computed with like an array, and any value of it is served by one program. Where Python needs to know it (a number of
turns, a size, an axis, `if n > 3`), the program is one for that value: tracing starts again with the number itself in place of a
traced value, and the function remembers that this argument is used so. True and False are always known: code asks `flag is True`,
which nobody hears. Only where there are many of them next to each other are they data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from . import _tree
from ._errors import Error, Where
from ._native import ArrayBase
from ._reasons import warn

_MOST_VALUES = 32
_SEVERAL = 4
_MOST_FLAGS = 8  # in one list or tuple
_TYPES = (int, float, np.generic)  # bool is an int


def is_number(leaf: Any) -> bool:
    """Python's numbers and NumPy's scalars, not arrays without axes: those are written to, and change."""
    return isinstance(leaf, _TYPES) and not isinstance(leaf, ArrayBase)


def _root(name: str) -> str:
    """The argument that a number is part of: shape of shape[0]."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _flags(names: list[str], leaves: list[Any]) -> set[str]:
    """The arguments that are True or False, and not one of many in a list or tuple."""
    flags = [name for name, leaf in zip(names, leaves, strict=True) if type(leaf) is bool]
    if not flags:
        return set()
    together = Counter(_sequence(name) for name in flags)
    return {name for name in flags if not _sequence(name) or together[_sequence(name)] <= _MOST_FLAGS}


def _sequence(name: str) -> str:
    """The list or tuple that an argument is part of: masks of masks[3]."""
    return name.rpartition("[")[0] if re.search(r"\[\d+\]$", name) else ""


class NumbersNeeded(Error):
    """Ends a trace that needs to know numbers: argument -> where in the user's code. Or to have lists of Arrays taken."""

    def __init__(self, uses: dict[str, Where | None], lists: bool = False) -> None:
        super().__init__(f"the values of {', '.join(uses)} are needed")
        self.uses = uses
        self.lists = lists


class Known(NamedTuple):
    """The numbers that a program is compiled for."""

    positions: list[int]  # among the leaves
    values: list[tuple[str, Any]]  # with the names of the arguments

    @property
    def key(self) -> Any:
        return tuple((name, _tree.key_of(value)) for name, value in self.values) if self.values else ()


class Numbers:
    """The arguments of one function whose values it needs."""

    def __init__(self, function: str) -> None:
        self._function = function
        self._uses: dict[str, Where | None] = {}
        self._values: dict[str, set[Any]] = {}
        self._warned: set[str] = set()

    def need(self, uses: dict[str, Where | None], names: list[str], leaves: list[Any]) -> None:
        """Notes uses; of a container of which several numbers are used already, all are taken to be."""
        for name, where in uses.items():
            self._uses.setdefault(name, where)
            used = sum(_root(other) == _root(name) for other in list(self._uses))
            if used > _SEVERAL:
                alike = [other for other in self.unknown(names, leaves) if _root(other) == _root(name)]
                self._uses.update(dict.fromkeys(alike, where))

    def known(self, names: list[str], leaves: list[Any], others: Collection[str] = ()) -> Known:
        """Those of a call; `others` are to be known, too."""
        if not self._uses and not others and bool not in map(type, leaves):
            return Known([], [])
        flags = _flags(names, leaves)
        positions = [
            i
            for i, name in enumerate(names)
            if name in flags or ((name in self._uses or name in others) and is_number(leaves[i]))
        ]
        return Known(positions, [(names[i], leaves[i]) for i in positions])

    def unknown(self, names: list[str], leaves: list[Any]) -> list[str]:
        """The names of those numbers that are still only computed with."""
        flags = _flags(names, leaves)
        return [
            name
            for name, leaf in zip(names, leaves, strict=True)
            if is_number(leaf) and name not in self._uses and name not in flags
        ]

    def compiled_for(self, known: Known) -> list[str]:
        """Counts values, and gives those arguments that a program is compiled for the first time, with the reason."""
        new = []
        for name, value in known.values:
            values = self._values.setdefault(name, set())
            if not values and name in self._uses:
                new.append(
                    f"argument `{name}` is used as a number{self.place(name)}: compiled for each of its values"
                )
            if len(values) <= _MOST_VALUES:
                values.add(_tree.key_of(value))
            if len(values) > _MOST_VALUES and name not in self._warned:
                self._warned.add(name)
                self._warn(name)
        return new

    def place(self, name: str) -> str:
        where = self._uses.get(name)
        return "" if where is None else f" at {where[0]}:{where[1]}"

    def _warn(self, name: str) -> None:
        warn(
            f"{self._function} was compiled for more than {_MOST_VALUES} values of the argument {name}, which is used as a "
            f"number{self.place(name)}; where that is a size, pad to a few sizes; where it is a number of turns, jit the body of the "
            "loop and loop outside; where it is a condition, np.where takes any value"
        )
