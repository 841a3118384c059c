"""Arguments and results, taken apart into leaves and put together again.

Containers are tuples, lists, dicts, named tuples, dataclasses, partials, and instances of the user's classes; what stands for part of
the program, such as text or a function, is kept in the structure. A structure is hashable: two calls with equal structures can
share a program.

What the arguments of one call lead to twice is one object: the structure says where it was met first (see Session).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import threading
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from types import EllipsisType, FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from . import _native
from ._captured import is_plain_object

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


class Function:
    """A function without variables of its own: equal to another that was made by the same code."""

    __slots__ = ("value",)

    def __init__(self, value: FunctionType) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value.__code__)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Function)
            and other.value.__code__ is self.value.__code__
            and other.value.__globals__ is self.value.__globals__
        )


def key_of(value: Any) -> Any:
    """A static value as part of a key: 1, 1.0 and True are different programs, and so are 0.0 and -0.0, however deep."""
    if isinstance(value, _native.ArrayBase):
        return type(value), value
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex):
        return type(value), value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, tuple):
        return type(value), tuple(key_of(one) for one in value)
    return type(value), value


class Static:
    """A value that is equal to others of its type with the same value."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = key_of(value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and other.key == self.key


class _Keys(tuple[Any, ...]):
    """The keys of a dict, not all of them text. Those that only compare equal, as 1, 1.0 and True, are different."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and key_of(tuple(self)) == key_of(tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def _keys_of(value: dict[Any, Any]) -> tuple[Any, ...]:
    keys = tuple(value)
    return keys if all(type(key) is str for key in keys) else _Keys(keys)


_STATIC_TYPES = (str, bytes, enum.Enum, np.dtype, EllipsisType, MethodType)
_UNIQUE_TYPES = (type, FunctionType, ModuleType, _native.JitCallable)


_NUMBERS = frozenset((bool, int, float, complex))


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


def _seen(container: Any) -> Any:
    """What stands for a container that was met before; None for others, which are met now."""
    session = _open.session
    if session is None:
        return None
    number = session.numbers.get(id(container))
    if number is not None:
        return ("seen", number)
    session.numbers[id(container)] = len(session.numbers)
    return None


def _leaf(value: Any, leaves: list[Any]) -> Any:
    session = _open.session
    if session is not None:
        if session.same_arrays and is_array(value) and not isinstance(value, np.generic):
            number = session.arrays.setdefault(id(value), session.leaf_count)
            if number != session.leaf_count:
                return ("same leaf", number)
        session.leaf_count += 1
    leaves.append(value)
    return LEAF


def flatten(value: Any, leaves: list[Any]) -> Any:
    """Appends the leaves of `value` and returns its structure."""
    kind = type(value)
    if kind is tuple:
        return ("tuple", *[flatten(item, leaves) for item in value])
    if kind is list:
        return _seen(value) or ("list", *[flatten(item, leaves) for item in value])
    if kind is dict:
        return _seen(value) or ("dict", _keys_of(value), *[flatten(item, leaves) for item in value.values()])
    if value is None:
        return NONE
    if kind is float or kind is int or kind is bool or kind is np.ndarray:
        return _leaf(value, leaves)
    return _flatten_other(value, kind, leaves)


def _flatten_other(value: Any, kind: type, leaves: list[Any]) -> Any:
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return ("named", kind, *[flatten(item, leaves) for item in value])
    if getattr(value, "_is_constant", False) is True:
        return ("value", Identity(value))
    if isinstance(value, _STATIC_TYPES):
        return ("value", Static(value))
    if kind is FunctionType and value.__closure__ is value.__defaults__ is value.__kwdefaults__ is None:
        return ("value", Function(value))
    if isinstance(value, _UNIQUE_TYPES):
        return ("value", Identity(value))
    if kind is range or kind is slice:
        return ("value", Static(value) if kind is range else _static_slice(value))
    if kind in (OrderedDict, defaultdict):
        factory = Identity(getattr(value, "default_factory", None))
        return _seen(value) or (
            "dicts",
            kind,
            factory,
            _keys_of(value),
            *[flatten(item, leaves) for item in value.values()],
        )
    if kind is functools.partial:
        function = flatten(value.func, leaves)
        args = ("list", *[flatten(item, leaves) for item in value.args])
        named = [flatten(item, leaves) for item in value.keywords.values()]
        return ("partial", function, args, ("dict", _keys_of(value.keywords), *named))
    if dataclasses.is_dataclass(value) and not is_array(value):
        return flatten_instance(value, leaves, numbers=(bool, int, float))
    if is_plain_object(value) and not is_array(value):
        return flatten_instance(value, leaves)
    if callable(value) and hasattr(value, "__name__") and not is_array(getattr(value, "__self__", None)):
        return ("value", Identity(value))
    return _leaf(value, leaves)


def _static_slice(value: slice) -> Any:
    parts = (value.start, value.stop, value.step)
    return Static(value) if _is_hashable(value) else _Slice(value, key_of(parts))


class _Slice(Static):
    """A slice, which cannot be hashed before Python 3.12."""

    def __init__(self, value: slice, key: Any) -> None:
        self.value = value
        self.key = key


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def unflatten(structure: Any, leaves: Iterator[Any]) -> Any:
    session = _open.session
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
        _note_made(items)
        items.extend(unflatten(part, leaves) for part in structure[1:])
        return items
    if kind == "dict":
        held: dict[Any, Any] = {}
        _note_made(held)
        held.update(_unflatten_items(structure[1], structure[2:], leaves))
        return held
    if kind == "named":
        return structure[1](*[unflatten(part, leaves) for part in structure[2:]])
    if kind == "value":
        return structure[1].value
    if kind == "dicts":
        made = structure[1](*([structure[2].value] if structure[1] is defaultdict else []))
        _note_made(made)
        made.update(_unflatten_items(structure[3], structure[4:], leaves))
        return made
    if kind == "partial":
        function = unflatten(structure[1], leaves)
        args = [unflatten(part, leaves) for part in structure[2][1:]]
        keywords = dict(_unflatten_items(structure[3][1], structure[3][2:], leaves))
        return functools.partial(function, *args, **keywords)
    if kind == "again":
        return _open.made[structure[1]]
    if session is not None and kind == "seen":
        return session.made[structure[1]]
    if session is not None and kind == "same leaf":
        return session.leaves[structure[1]]
    return _make_object(structure, leaves)


def _unflatten_items(keys: Any, parts: Any, leaves: Iterator[Any]) -> list[tuple[Any, Any]]:
    return [(key, unflatten(part, leaves)) for key, part in zip(keys, parts, strict=True)]


def _note_made(container: Any) -> None:
    if _open.session is not None:
        _open.session.made.append(container)


# Instances are containers too: the attributes that hold arrays are arguments, others are part of the program. Those that cannot be
# compared are the same only if they are the same object; what such an object holds is guarded (see _captured). Numbers that turn
# out to change from call to call become arguments (see Arguments.note_change).


class _Open(threading.local):
    """The instances that are being taken apart, and those that are being made: some hold themselves, or what they are part of."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.made: list[Any] = []
        self.numbers: frozenset[str] = frozenset()  # attributes whose numbers are arguments
        self.session: Session | None = None


_open = _Open()


def attributes_of(instance: Any) -> dict[str, Any]:
    found = dict(getattr(instance, "__dict__", {}))
    for name in slots_of(type(instance)):
        if hasattr(instance, name):
            found[name] = getattr(instance, name)
    return found


@contextmanager
def with_numbers(names: frozenset[str]) -> Iterator[None]:
    """Inside, numbers that are attributes with these names are leaves."""
    before, _open.numbers = _open.numbers, names
    try:
        yield
    finally:
        _open.numbers = before


@contextmanager
def together(same_arrays: bool = False) -> Iterator[None]:
    """Inside, what is taken apart or made belongs together: the same object in two places is one."""
    before, _open.session = _open.session, Session(same_arrays)
    try:
        yield
    finally:
        _open.session = before


_known_slots: weakref.WeakKeyDictionary[type, list[str]] = weakref.WeakKeyDictionary()


def slots_of(kind: type) -> list[str]:
    slots = _known_slots.get(kind)
    if slots is None:
        members = {name: member for base in kind.__mro__ for name, member in vars(base).items()}
        slots = [
            name
            for name, member in members.items()
            if isinstance(member, MemberDescriptorType) and name != "__dict__"
        ]
        _known_slots[kind] = slots
    return slots


def flatten_instance(instance: Any, leaves: list[Any], numbers: tuple[type, ...] = ()) -> Any:
    """`numbers` are the types of those numbers that are arguments. Others are part of the program: they may be sizes."""
    for i, other in enumerate(_open.taken):
        if other is instance:
            return ("again", i)
    if seen := _seen(instance):
        return seen
    with opened(instance):
        return ("object", type(instance), tuple(_attribute_parts(instance, leaves, numbers)))


@contextmanager
def opened(instance: Any) -> Iterator[None]:
    """Inside, the instance is being taken apart."""
    _open.taken.append(instance)
    try:
        yield
    finally:
        _open.taken.pop()


def _attribute_parts(
    instance: Any, leaves: list[Any], numbers: tuple[type, ...]
) -> Iterator[tuple[str, Any]]:
    for name, value in attributes_of(instance).items():
        kind = type(value)
        if kind is np.ndarray or kind in numbers or (name in _open.numbers and kind in _NUMBERS):
            yield name, _leaf(value, leaves)
            continue
        if kind in _NUMBERS:
            yield name, ("value", Static(value))
            continue
        inner: list[Any] = []
        mark = None if _open.session is None else _open.session.mark()
        structure = flatten(value, inner)
        if all(is_array(leaf) or type(leaf) in numbers for leaf in inner) and structure != NONE:
            leaves.extend(inner)
            yield name, structure
            continue
        if _open.session is not None and mark is not None:
            _open.session.back_to(mark)
        yield name, ("value", Identity(value))


def _make_object(structure: Any, leaves: Iterator[Any]) -> Any:
    """A shallow copy of the instance, with the arrays replaced."""
    _, kind, parts = structure
    instance = (kind if kind is SimpleNamespace else object).__new__(kind)
    _open.made.append(instance)
    _note_made(instance)
    try:
        for name, part in parts:
            object.__setattr__(instance, name, unflatten(part, leaves))
    finally:
        _open.made.pop()
    return instance


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
