"""Leaves and a structure, put together again."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from .sessions import LEAF, NONE, current, note_made


def unflatten(structure: Any, leaves: Iterator[Any]) -> Any:
    session = current.session
    if structure is LEAF or structure == LEAF:
        made = next(leaves)
        if session is not None:
            session.leaves.append(made)
        return made
    if structure == NONE:
        return None
    kind = structure[0]
    if kind == "tuple":
        return tuple(unflatten(part, leaves) for part in structure[1:])
    if kind == "list":
        items: list[Any] = []
        note_made(items)
        items.extend(unflatten(part, leaves) for part in structure[1:])
        return items
    if kind == "dict":
        held: dict[Any, Any] = {}
        note_made(held)
        held.update(_unflatten_items(structure[1], structure[2:], leaves))
        return held
    if kind == "named":
        return structure[1](*[unflatten(part, leaves) for part in structure[2:]])
    if kind == "value":
        return structure[1].value
    if kind == "dicts":
        made = structure[1](*([structure[2].value] if structure[1] is defaultdict else []))
        note_made(made)
        made.update(_unflatten_items(structure[3], structure[4:], leaves))
        return made
    if kind == "partial":
        function = unflatten(structure[1], leaves)
        args = [unflatten(part, leaves) for part in structure[2][1:]]
        keywords = dict(_unflatten_items(structure[3][1], structure[3][2:], leaves))
        return functools.partial(function, *args, **keywords)
    if kind == "again":
        return current.made[structure[1]]
    if session is not None and kind == "seen":
        return session.made[structure[1]]
    if session is not None and kind == "same leaf":
        return session.leaves[structure[1]]
    return _make_object(structure, leaves)


def _unflatten_items(keys: Any, parts: Any, leaves: Iterator[Any]) -> list[tuple[Any, Any]]:
    return [(key, unflatten(part, leaves)) for key, part in zip(keys, parts, strict=True)]


def _make_object(structure: Any, leaves: Iterator[Any]) -> Any:
    """A shallow copy of the instance, with the arrays replaced."""
    _, kind, parts = structure
    instance = (kind if kind is SimpleNamespace else object).__new__(kind)
    current.made.append(instance)
    note_made(instance)
    try:
        for name, part in parts:
            object.__setattr__(instance, name, unflatten(part, leaves))
    finally:
        current.made.pop()
    return instance
