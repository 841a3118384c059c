"""Nested tuples, lists and dicts of arrays, taken apart into leaves and put together again.

A structure is hashable: two calls with equal structures can share a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

LEAF = "*"
NONE = "None"


class Identity:
    """A value that is equal only to itself, kept alive so that it stays so."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value


def flatten(value: Any, leaves: list[Any]) -> Any:
    """Appends the leaves of `value` and returns its structure."""
    kind = type(value)
    if kind is tuple:
        return ("tuple", *[flatten(item, leaves) for item in value])
    if kind is list:
        return ("list", *[flatten(item, leaves) for item in value])
    if kind is dict:
        return ("dict", tuple(value), *[flatten(item, leaves) for item in value.values()])
    if value is None:
        return NONE
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return ("named", kind, *[flatten(item, leaves) for item in value])
    if getattr(value, "_is_constant", False):
        return ("value", Identity(value))
    leaves.append(value)
    return LEAF


def unflatten(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is LEAF or structure == LEAF:
        return next(leaves)
    if structure == NONE:
        return None
    kind = structure[0]
    if kind == "tuple":
        return tuple(unflatten(part, leaves) for part in structure[1:])
    if kind == "list":
        return [unflatten(part, leaves) for part in structure[1:]]
    if kind == "dict":
        return dict(zip(structure[1], [unflatten(part, leaves) for part in structure[2:]], strict=True))
    if kind == "named":
        return structure[1](*[unflatten(part, leaves) for part in structure[2:]])
    if kind == "value":
        return structure[1].value
    return _make_object(structure, leaves)


# The instance of a jitted method is a container too: the attributes that hold arrays are arguments, all others are
# constants, compared by identity.


def flatten_instance(instance: Any, leaves: list[Any], is_leaf: Callable[[Any], bool]) -> Any:
    parts = []
    for name, value in vars(instance).items():
        inner: list[Any] = []
        structure = flatten(value, inner)
        if inner and all(is_leaf(leaf) for leaf in inner):
            leaves.extend(inner)
            parts.append((name, structure))
        else:
            parts.append((name, ("value", Identity(value))))
    return ("object", type(instance), tuple(parts))


def _make_object(structure: Any, leaves: Iterator[Any]) -> Any:
    """A shallow copy of the instance, with the arrays replaced."""
    _, kind, parts = structure
    instance = kind.__new__(kind)
    for name, part in parts:
        object.__setattr__(instance, name, unflatten(part, leaves))
    return instance


def paths(structure: Any, prefix: str) -> Iterator[str]:
    """A name for every leaf, in order: params_w, params_b, x."""
    if structure == LEAF:
        yield prefix
    elif isinstance(structure, tuple) and structure[0] in ("tuple", "list"):
        for i, part in enumerate(structure[1:]):
            yield from paths(part, f"{prefix}_{i}")
    elif isinstance(structure, tuple) and structure[0] == "named":
        for name, part in zip(structure[1]._fields, structure[2:], strict=True):
            yield from paths(part, f"{prefix}_{name}")
    elif isinstance(structure, tuple) and structure[0] == "dict":
        for name, part in zip(structure[1], structure[2:], strict=True):
            yield from paths(part, f"{prefix}_{name}")
    elif isinstance(structure, tuple) and structure[0] == "object":
        for name, part in structure[2]:
            yield from paths(part, f"{prefix}_{name}")
