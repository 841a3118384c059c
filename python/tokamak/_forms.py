"""The forms of calls: what native code looks at so that calls like one that was seen before need no Python.

A form says what arguments have to be so that _tree takes them apart into the same structure again. It is made of the structure and
the arguments of one call, and describes every part as (kind, value, keys, slots, parts); see part.h for the kinds. Where it cannot
be said there is no form, and Python takes the calls apart, always.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

import numpy as np

from . import _arguments, _native, _results, _tree


_MOST_FLAT = 16  # arguments that JitCallable looks at without a form
_MOST_ATTEMPTS = 4  # to make forms for one table: equal keys may be too different for native code

Part = tuple[str, Any, Any, Any, Any]


class Unclear(Exception):
    """What something is taken apart into does not depend on what a form looks at."""


class Forms:
    """The forms of the calls of one function."""

    def __init__(self, capacity: int) -> None:
        self.native = _native.Forms(capacity, _results.Changed, _results.Container)
        self._attempts: dict[int, int] = {}

    def remember(self, call: _arguments.Call, table: Any) -> None:
        """Makes a form of a call for which `table` has a program."""
        attempts = self._attempts.get(id(table), 0)
        if attempts == _MOST_ATTEMPTS or _is_flat(call):
            return
        if self.native.leaves_of(table, call.args, call.kwargs) is not None:
            return
        self._attempts[id(table)] = attempts + 1
        try:
            positional = _positional(call)
            names, named = _named(call)
        except Unclear:
            self._attempts[id(table)] = _MOST_ATTEMPTS
            return
        self.native.add(positional, names, named, table, call.distinct)
        if not _same_leaves(self.native.leaves_of(table, call.args, call.kwargs), call.leaves):
            self.native.drop(table)

    def forget(self, table: Any) -> None:
        self.native.drop(table)
        self._attempts.pop(id(table), None)

    def clear(self) -> None:
        self.native.clear()
        self._attempts.clear()


def _is_flat(call: _arguments.Call) -> bool:
    """Calls that are found without a form."""
    if not call.hot or call.statics or len(call.args) > _MOST_FLAT:
        return False
    return all(type(leaf) in (np.ndarray, float, int, bool) for leaf in call.leaves)


def _same_leaves(found: list[Any] | None, leaves: list[Any]) -> bool:
    return (
        found is not None
        and len(found) == len(leaves)
        and all(a is b or isinstance(b, np.generic) for a, b in zip(found, leaves, strict=True))
    )


def _positional(call: _arguments.Call) -> list[Part]:
    return [
        _part("equal", value) if structure == _arguments.STATIC_PART else _describe(structure, value, False)
        for structure, value in zip(call.structure[0][1:], call.args, strict=True)
    ]


def _named(call: _arguments.Call) -> tuple[list[str], list[tuple[int, Part]]]:
    """The names of keywords as they were given, and what is to be looked at in turn: where it is, and what it must be."""
    names = list(call.kwargs)
    taken = dict(zip(call.structure[1][1], call.structure[1][2:], strict=True))
    parts = [
        (names.index(name), _describe(structure, call.kwargs[name], False))
        for name, structure in taken.items()
    ]
    static = [(i, _part("equal", call.kwargs[name])) for i, name in enumerate(names) if name not in taken]
    return names, parts + static


def _part(
    kind: str, value: Any = None, keys: Any = None, slots: list[Any] | None = None, parts: Any = ()
) -> Part:
    return kind, value, keys, slots or [], list(parts)


def _describe(structure: Any, value: Any, is_inside: bool, is_opaque: bool = False) -> Part:
    """A part that was taken apart into `structure`. Inside of objects, what is a leaf depends on its type; where something
    is `is_opaque`, it was found to hold other leaves than arrays, and is part of the program."""

    def inner(structures: Any, values: Any) -> list[Part]:
        return [
            _describe(one, held, is_inside, is_opaque) for one, held in zip(structures, values, strict=True)
        ]

    if structure == _tree.LEAF:
        return _describe_leaf(value, is_inside, is_opaque)
    if structure == _tree.NONE:
        return _part("same", None)
    kind = structure[0]
    if kind == "value":
        return _describe_value(structure[1], value, is_inside)
    if kind == "tuple":
        return _part("tuple", tuple, parts=inner(structure[1:], value))
    if kind == "named":
        return _part("tuple", structure[1], parts=inner(structure[2:], value))
    if kind == "list":
        return _part("list", parts=inner(structure[1:], value))
    if kind == "dict":
        return _part("dict", keys=list(value), parts=inner(structure[2:], value.values()))
    if kind == "dicts":
        parts = inner(structure[4:], value.values())
        if structure[1] is OrderedDict:
            return _part("ordered_dict", keys=list(value), parts=parts)
        return _part("default_dict", value.default_factory, list(value), [structure[1]], parts)
    if kind == "partial":
        function, args, keywords = inner(structure[1:], (value.func, value.args, value.keywords))
        return _part("partial", functools.partial, parts=[function, ("tuple", tuple, *args[2:]), keywords])
    if kind == "object":
        return _describe_object(structure, value, is_opaque)
    if kind == "again":
        return _part("again", structure[1])
    if kind == "seen":
        return _part("seen", structure[1])
    if kind == "same leaf":
        return _part("same_leaf", structure[1])
    raise Unclear


def _describe_leaf(value: Any, is_inside: bool, is_opaque: bool) -> Part:
    if is_opaque:
        return _part("opaque", type(value))
    if not is_inside:
        return _part("leaf")
    return _part("array") if _tree.is_array(value) else _part("number", type(value))


def _describe_value(wrapped: Any, value: Any, is_inside: bool) -> Part:
    if isinstance(wrapped, _tree.Static):
        return _part("equal", value)
    if isinstance(wrapped, _tree.Function):
        return _part("function", value)
    if not is_inside:
        return _part("same", value)
    structure = _tree.flatten(value, [])
    if structure == _tree.NONE or (isinstance(structure, tuple) and structure[0] == "value"):
        return _part("same", value)
    return _part("held", value, parts=[_describe(structure, value, True, True)])


def _describe_object(structure: Any, value: Any, is_opaque: bool) -> Part:
    """Its dict and its slots are looked at without Python: they must be what the object says that they are."""
    kind: Any = type(value)
    if kind.__getattribute__ is not object.__getattribute__ and kind is not SimpleNamespace:
        raise Unclear
    held: Any = getattr(value, "__dict__", None)
    if held is not None and type(held) is not dict:
        raise Unclear
    attributes: dict[str, Any] = held or {}
    names = list(attributes)
    slots = [(name, _member(kind, name)) for name in _tree.slots_of(kind)]
    if any(name in names for name, _ in slots):
        raise Unclear
    structures = dict(structure[2])
    with _tree.opened(value):
        parts = [_describe(structures[name], attributes[name], True, is_opaque) for name in names]
        for name, member in slots:
            if name in structures:
                parts.append(_describe(structures[name], member.__get__(value), True, is_opaque))
            else:
                parts.append(_part("absent"))
    return _part("object", kind, None if held is None else names, [member for _, member in slots], parts)


def _member(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in vars(base):
            found = vars(base)[name]
            if isinstance(found, MemberDescriptorType):
                return found
            break
    raise Unclear
