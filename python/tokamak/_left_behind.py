"""What a traced function leaves in globals, caches, closures and attributes.

What np.zeros gives it is an Array, so that it can be written to. Others, who find it there when the trace is over, expect an ndarray.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _native


class _Left:
    """Makes ndarrays of Arrays that were not there before, also inside of tuples, lists and dicts; gives other values as they are."""

    def __init__(self, before: dict[int, Any]) -> None:
        self.before = before
        self.met: set[int] = set()  # lists and dicts that were looked into

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, _native.ArrayBase):
            return value if value._traced or id(value) in self.before else np.array(value._view(False))
        if kind is tuple:
            made = tuple(map(self, value))
            return value if all(a is b for a, b in zip(made, value, strict=True)) else made
        if (kind is list or kind is dict) and id(value) not in self.met:
            self.met.add(id(value))
            _leave_in_contents(self, value)
        return value


def convert(places: list[tuple[str, tuple[Any, ...]]], before: dict[int, Any]) -> None:
    """Puts ndarrays into the places that hold Arrays now. `before` are the Arrays that were there, by id."""
    left = _Left(before)
    for kind, place in places:
        PLACES[kind](left, *place)


def _may_hold_array(value: Any) -> bool:
    return type(value) in (tuple, list, dict) or isinstance(value, _native.ArrayBase)


def _leave_in_item(left: Callable[[Any], Any], owner: dict[Any, Any], key: Any) -> None:
    if key in owner and _may_hold_array(owner[key]) and (made := left(owner[key])) is not owner[key]:
        owner[key] = made


def _leave_in_cell(left: Callable[[Any], Any], cell: Any) -> None:
    try:
        held = cell.cell_contents
    except ValueError:  # not filled
        return
    if _may_hold_array(held) and (made := left(held)) is not held:
        cell.cell_contents = made


def _leave_in_contents(left: Callable[[Any], Any], container: Any) -> None:
    keys = (
        list(container)
        if isinstance(container, dict)
        else range(len(container))
        if type(container) is list
        else ()
    )
    for key in keys:
        held = container[key]
        if _may_hold_array(held) and (made := left(held)) is not held:
            container[key] = made


def _leave_in_slot(left: Callable[[Any], Any], instance: Any, member: Any) -> None:
    try:
        held = member.__get__(instance)
    except AttributeError:  # not set
        return
    if _may_hold_array(held) and (made := left(held)) is not held:
        member.__set__(instance, made)


#: Guards of places in which something may be left, and what puts another value there
PLACES: dict[str, Callable[..., None]] = {
    "item": _leave_in_item,
    "cell": _leave_in_cell,
    "contents": _leave_in_contents,
    "slot": _leave_in_slot,
}
