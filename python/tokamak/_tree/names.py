"""The parts of a structure, with names as users write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .sessions import LEAF


def named_parts(structure: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The parts of a container, each with a name as users write it."""
    if not isinstance(structure, tuple):
        return
    kind = structure[0]
    if kind in ("tuple", "list"):
        yield from ((f"{prefix}[{i}]", part) for i, part in enumerate(structure[1:]))
    elif kind == "named":
        names = structure[1]._fields
        yield from ((f"{prefix}.{name}", part) for name, part in zip(names, structure[2:], strict=True))
    elif kind in ("dict", "dicts"):
        keys, parts = (structure[1], structure[2:]) if kind == "dict" else (structure[3], structure[4:])
        yield from ((f"{prefix}[{key!r}]", part) for key, part in zip(keys, parts, strict=True))
    elif kind == "partial":
        yield f"{prefix}.func", structure[1]
        yield from named_parts(structure[2], f"{prefix}.args")
        yield from named_parts(structure[3], f"{prefix}.keywords")
    elif kind == "object":
        yield from ((f"{prefix}.{name}", part) for name, part in structure[2])


def paths(structure: Any, prefix: str) -> Iterator[str]:
    """A name for every leaf, in order: params['w'], params['b'], x."""
    if structure == LEAF:
        yield prefix
    for name, part in named_parts(structure, prefix):
        yield from paths(part, name)


def values(structure: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """What is part of the structure itself, with names."""
    if isinstance(structure, tuple) and structure and structure[0] == "value":
        yield prefix, structure[1].value
    if isinstance(structure, tuple) and structure and structure[0] == "object":
        yield prefix, structure[1]
    for name, part in named_parts(structure, prefix):
        yield from values(part, name)
