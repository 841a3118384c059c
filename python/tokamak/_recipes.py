"""How results are put together by native code: see recipe.h for the kinds of (kind, value, keys, parts)."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from . import _tree

Part = tuple[str, Any, Any, Any]


class Unclear(Exception):
    """Native code does not make this."""


def describe(structure: Any, leaves: Iterator[Part]) -> Part:
    """What makes the structure of its leaves, each a recipe of its own. Raises Unclear where that takes Python."""

    def inner(structures: Any) -> list[Part]:
        return [describe(one, leaves) for one in structures]

    if structure == _tree.LEAF:
        return next(leaves)
    if structure == _tree.NONE:
        return leaf("constant")
    kind = structure[0]
    if kind in ("tuple", "list"):
        return kind, None, (), inner(structure[1:])
    if kind == "dict":
        return "dict", None, structure[1], inner(structure[2:])
    if kind == "named":
        return (
            ("named" if _is_plainly_named(structure[1]) else "called"),
            structure[1],
            (),
            inner(structure[2:]),
        )
    if kind == "value":
        return leaf("constant", structure[1].value)
    if kind == "again":
        return leaf("again", structure[1])
    if kind == "object":
        _check_makeable(structure[1])
        names = [name for name, _ in structure[2]]
        made = "space" if structure[1] is SimpleNamespace else "object"
        return made, structure[1], names, inner(part for _, part in structure[2])
    raise Unclear


def leaf(kind: str, value: Any = None) -> Part:
    return kind, value, (), ()


def _is_plainly_named(kind: Any) -> bool:
    """Whether making one is no more than making a tuple."""
    home = getattr(kind.__new__, "__globals__", {}).get("__name__", "")
    return home.startswith("namedtuple_") and kind.__init__ is object.__init__ and type(kind) is type


def _check_makeable(kind: type) -> None:
    if kind is SimpleNamespace:
        return
    try:
        object.__new__(kind)
    except TypeError:  # which Python's own way tells of in every call
        raise Unclear from None
