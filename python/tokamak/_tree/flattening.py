"""Values, taken apart into leaves and a structure.

Instances are containers too: the attributes that hold arrays are arguments, others are part of the program. Those that cannot be
compared are the same only if they are the same object; what such an object holds is guarded (see _captured). Numbers that turn
out to change from call to call become arguments (see Arguments.note_change).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from types import EllipsisType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from .. import _native
from .._captured import is_plain_object
from .sessions import NONE, add_leaf, current, is_array, opened, seen
from .statics import Function, Identity, Static, keys_of, static_slice

_STATIC_TYPES = (str, bytes, enum.Enum, np.dtype, EllipsisType, MethodType)
_UNIQUE_TYPES = (type, FunctionType, ModuleType, _native.JitCallable)
_NUMBERS = frozenset((bool, int, float, complex))


def flatten(value: Any, leaves: list[Any]) -> Any:
    """Appends the leaves of `value` and returns its structure."""
    kind = type(value)
    if kind is tuple:
        return ("tuple", *[flatten(item, leaves) for item in value])
    if kind is list:
        return seen(value) or ("list", *[flatten(item, leaves) for item in value])
    if kind is dict:
        return seen(value) or ("dict", keys_of(value), *[flatten(item, leaves) for item in value.values()])
    if value is None:
        return NONE
    if kind is float or kind is int or kind is bool or kind is np.ndarray:
        return add_leaf(value, leaves)
    if issubclass(kind, _native.ArrayBase):
        return ("value", Identity(value)) if value._is_constant else add_leaf(value, leaves)
    return _flatten_other(value, kind, leaves)


def _flatten_other(value: Any, kind: type, leaves: list[Any]) -> Any:
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return ("named", kind, *[flatten(item, leaves) for item in value])
    if isinstance(value, _STATIC_TYPES):
        return ("value", Static(value))
    if kind is FunctionType and value.__closure__ is value.__defaults__ is value.__kwdefaults__ is None:
        return ("value", Function(value))
    if isinstance(value, _UNIQUE_TYPES):
        return ("value", Identity(value))
    if kind is range or kind is slice:
        return ("value", Static(value) if kind is range else static_slice(value))
    if kind in (OrderedDict, defaultdict):
        factory = Identity(getattr(value, "default_factory", None))
        return seen(value) or (
            "dicts",
            kind,
            factory,
            keys_of(value),
            *[flatten(item, leaves) for item in value.values()],
        )
    if kind is functools.partial:
        function = flatten(value.func, leaves)
        args = ("list", *[flatten(item, leaves) for item in value.args])
        named = [flatten(item, leaves) for item in value.keywords.values()]
        return ("partial", function, args, ("dict", keys_of(value.keywords), *named))
    if dataclasses.is_dataclass(value) and not is_array(value):
        return flatten_instance(value, leaves, numbers=(bool, int, float))
    if is_plain_object(value) and not is_array(value):
        return flatten_instance(value, leaves)
    if callable(value) and hasattr(value, "__name__") and not is_array(getattr(value, "__self__", None)):
        return ("value", Identity(value))
    return add_leaf(value, leaves)


def attributes_of(instance: Any) -> dict[str, Any]:
    found = dict(getattr(instance, "__dict__", {}))
    for name in slots_of(type(instance)):
        if hasattr(instance, name):
            found[name] = getattr(instance, name)
    return found


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
    for i, other in enumerate(current.taken):
        if other is instance:
            return ("again", i)
    if again := seen(instance):
        return again
    with opened(instance):
        return ("object", type(instance), tuple(_attribute_parts(instance, leaves, numbers)))


def _attribute_parts(
    instance: Any, leaves: list[Any], numbers: tuple[type, ...]
) -> Iterator[tuple[str, Any]]:
    for name, value in attributes_of(instance).items():
        kind = type(value)
        if kind is np.ndarray or kind in numbers or (name in current.numbers and kind in _NUMBERS):
            yield name, add_leaf(value, leaves)
            continue
        if kind in _NUMBERS:
            yield name, ("value", Static(value))
            continue
        inner: list[Any] = []
        mark = None if current.session is None else current.session.mark()
        structure = flatten(value, inner)
        if _are_arguments(inner, numbers) and structure != NONE:
            leaves.extend(inner)
            yield name, structure
            continue
        if current.session is not None and mark is not None:
            current.session.back_to(mark)
        yield name, ("value", Identity(value))


def _are_arguments(leaves: list[Any], numbers: tuple[type, ...]) -> bool:
    """Whether what an attribute holds is arguments: arrays, and numbers beside them. Numbers by themselves are part of the program."""
    if any(is_array(leaf) for leaf in leaves):
        numbers = (bool, int, float)
    return all(is_array(leaf) or type(leaf) in numbers for leaf in leaves)
