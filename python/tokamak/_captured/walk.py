"""The walk over all that code can reach by name."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import gc
import io
import sys
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CodeType,
    EllipsisType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    NoneType,
    NotImplementedType,
)
from typing import Any

import numpy as np

from .. import _native
from .._code_names import Names, names_in
from .._type_of import TypeOf
from .guards import Captured
from .libraries import LIBRARIES, is_library

_ATOMS = frozenset(
    (
        *(bool, int, float, complex, str, bytes, range, slice),
        *(EllipsisType, NoneType, NotImplementedType, np.ufunc),
    )
)
_NO_MEMORY = frozenset((tuple, list, dict, set, frozenset, FunctionType, type, ModuleType))  # known at once
_ALL = "*"  # among names of attributes: all of them
_TAKE_ALL = (dataclasses.asdict, dataclasses.astuple, dataclasses.fields, dataclasses.replace)
# Methods that Python calls by itself: code does not name them.
_SPECIAL = frozenset(
    name
    for kind in (int, float, complex, str, list, dict, set, range, type, FunctionType, property, np.ndarray)
    for name, member in vars(kind).items()
    if name.startswith("__") and callable(member)
) | {
    f"__{name}__"
    for name in (
        *(
            "enter",
            "exit",
            "getattr",
            "get",
            "set",
            "delete",
            "set_name",
            "instancecheck",
            "subclasscheck",
            "missing",
        ),
        *("array_ufunc", "array_function", "array_interface", "array_priority", "array_namespace", "dlpack"),
        *("matmul", "rmatmul", "imatmul", "complex", "length_hint", "fspath"),
    )
}


def _takes_all(names: Names, variables: dict[str, Any]) -> bool:
    """Whether code takes all attributes of an object without naming them."""
    if "vars" in names.read or "__dict__" in names.all:
        return True
    found = [variables.get(name) for name in names.read]
    if any(one is taker for one in found for taker in _TAKE_ALL):
        return True
    from_module = "dataclasses" in names.imported or any(one is dataclasses for one in found)
    return from_module and any(function.__name__ in names.all for function in _TAKE_ALL)


def _has_memory(value: Any) -> bool:
    """An array, or another object whose bytes can be written to by others."""
    if isinstance(value, (np.ndarray, _native.ArrayBase, bytearray, memoryview)):
        return True
    if type(value) in _NO_MEMORY:
        return False
    return any(base.__module__ in ("array", "mmap", "_ctypes") for base in type(value).__mro__)


def captured_by(roots: list[tuple[str, Any]], home: str | None) -> Captured:
    """What is reached from the roots, which are (name, value). `home` is the module of the jitted function."""
    package = None if home is None else home.partition(".")[0]
    known: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    while True:  # until no more code is reached: attributes that it names may be anywhere
        walk = _Walk(known, asked, package)
        for name, value in roots:
            walk.visit(value, name)
        if not walk.went_by_names or (walk.found <= known and walk.found_asked <= asked):
            return walk.finish()
        known |= walk.found
        asked |= walk.found_asked


class _Walk:
    def __init__(self, attributes: frozenset[str], asked: frozenset[str], package: str | None) -> None:
        self.found = set(attributes)  # with those that are found on the way: then fewer walks are needed
        self.found_asked = set(asked)  # those that need not be there
        self.went_by_names = False  # whether it would have gone elsewhere if it had known more names
        self.package = package
        self.seen: dict[int, Any] = {}
        self.places: dict[tuple[Any, ...], tuple[str, tuple[Any, ...], str]] = {}
        self.members: dict[int, set[str]] = {}  # names of attributes of classes
        self.generators: list[Any] = []
        self.iterators: list[str] = []
        self.is_traced = False
        self.asking_types: dict[int, dict[str, Any]] = {}
        self.imported: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
        self.memoised: set[CodeType] = set()

    @property
    def attributes(self) -> set[str]:
        self.went_by_names = True
        return self.found

    @property
    def asked(self) -> set[str]:
        self.went_by_names = True
        return self.found_asked

    def finish(self) -> Captured:
        captured = Captured()
        for kind, place, name in self.places.values():
            if kind == "attributes":
                place = (*place, tuple(sorted(_SPECIAL | self.members[id(place[0])])))
            captured.add(kind, place, name)
        captured.generators = self.generators
        captured.iterators = self.iterators
        captured.is_traced = self.is_traced
        captured.memoised = frozenset(self.memoised)
        captured.asking_types = list(self.asking_types.values())
        captured.imported = list(self.imported.values())
        return captured

    def note(self, kind: str, name: str, *place: Any) -> None:
        key = (kind, *(part if isinstance(part, str) else id(part) for part in place))
        self.places.setdefault(key, (kind, place, name))

    def is_library(self, module: Any) -> bool:
        if not isinstance(module, str):
            return False
        return is_library(module) and (
            module.partition(".")[0] != self.package or module.partition(".")[0] in LIBRARIES
        )

    # -- One value

    def visit(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind in _ATOMS or id(value) in self.seen or issubclass(kind, (np.generic, np.dtype, enum.Enum)):
            return
        self.seen[id(value)] = value
        if _has_memory(value):
            self.is_traced = self.is_traced or getattr(value, "_traced", False)
            self.note("memory", name, value)
        elif isinstance(value, (tuple, frozenset)):
            for i, item in enumerate(value):
                self.visit(item, f"{name}[{i}]")
        elif isinstance(value, (list, set, dict, deque)):
            self.visit_container(value, name)
        elif kind in _KINDS:
            _KINDS[kind](self, value, name)
        elif isinstance(value, ModuleType):
            self.visit_module(value, name)
        elif isinstance(value, type):
            self.visit_class(value, name)
        else:
            self.visit_instance(value, name)

    def visit_container(self, value: Any, name: str) -> None:
        self.note("contents", name, value)
        if isinstance(value, dict):
            for key, item in value.items():
                self.visit(item, f"{name}[{key!r}]")
        else:
            for i, item in enumerate(value):
                self.visit(item, f"{name}[{i}]")
        if not self.is_library(type(value).__module__):
            self.visit_instance(value, name)

    def visit_function(self, value: FunctionType, name: str) -> None:
        if self.is_library(value.__globals__.get("__name__")):
            self.visit_wrapped(value, name)
            return
        self.note("function", f"{value.__name__}, its code or defaults", value)
        code = value.__code__
        names = names_in(code)
        self.found |= names.all
        self.found_asked |= names.asked
        if "type" in names.read and value.__globals__.get("type", TypeOf) is TypeOf:
            self.asking_types[id(value.__globals__)] = value.__globals__
        for key in names.read:
            named = value.__globals__.get(key)
            if callable(named) and getattr(named, "__module__", None) == "numpy":
                self.imported[id(value.__globals__), key] = (value.__globals__, key)
        if _takes_all(names, value.__globals__):
            self.found.add(_ALL)
        for variable, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            self.note("cell", variable, cell)
            try:
                self.visit(cell.cell_contents, variable)
            except ValueError:  # not filled yet
                continue
        for i, default in enumerate(value.__defaults__ or ()):
            self.visit(default, f"default {i} of {value.__name__}")
        self.visit(value.__kwdefaults__, f"keyword defaults of {value.__name__}")
        self.visit_items(value.__globals__, names.all if "globals" in names.read else names.read, "")
        for key in names.read - value.__globals__.keys():
            if not hasattr(builtins, key):
                self.note("item", key, value.__globals__, key)
        for module in names.imported:
            if module in sys.modules:
                self.visit(sys.modules[module], module)
        if vars(value):
            self.visit_items(vars(value), self.attributes, f"{name}.")

    def visit_wrapped(self, value: Any, name: str) -> None:
        """A function of the user's inside one of a library, which a decorator made."""
        for cell in getattr(value, "__closure__", None) or ():
            try:
                if callable(cell.cell_contents):
                    self.visit(cell.cell_contents, name)
            except ValueError:  # not filled yet
                continue
        self.visit(getattr(value, "__wrapped__", None), name)

    def visit_items(self, items: dict[str, Any], names: Iterable[str], prefix: str) -> None:
        for name in sorted(names):
            if name not in items:
                continue
            value = items[name]
            if value is TypeOf or (isinstance(value, ModuleType) and self.is_library(value.__name__)):
                continue
            self.note("item", prefix + name, items, name)
            self.visit(value, prefix + name)

    def visit_module(self, value: ModuleType, name: str) -> None:
        if not self.is_library(value.__name__):
            self.visit_items(vars(value), self.attributes & vars(value).keys(), f"{name}.")
            self.note_absent(vars(value), name)

    def note_absent(self, held: dict[str, Any], name: str) -> None:
        for key in sorted(self.asked - held.keys()):
            self.note("item", f"{name}.{key}", held, key)

    def visit_class(self, value: type, name: str) -> None:
        if self.is_library(value.__module__):
            return
        self.note("attributes", name, value)
        members = self.members.setdefault(id(value), set())
        members |= self.asked
        for base in value.__mro__:
            if self.is_library(base.__module__):
                continue
            for key, member in vars(base).items():
                if key in self.attributes and not isinstance(member, MemberDescriptorType):
                    members.add(key)
                    self.visit(member, f"{name}.{key}")
                elif key.startswith("__") and isinstance(member, FunctionType):
                    self.visit(member, f"{name}.{key}")
        self.visit(type(value), type(value).__name__)

    def visit_instance(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] == "numpy":
            if hasattr(value, "bit_generator") or hasattr(value, "_bit_generator"):
                self.generators.append(value)
            return
        if kind.__module__ == "random" and hasattr(value, "getstate"):
            self.generators.append(value)
            return
        held = getattr(value, "__dict__", None)
        if type(held) is dict:
            if _ALL in self.attributes:
                self.note("contents", name, held)
            self.visit_items(
                held, held if _ALL in self.attributes else self.attributes & held.keys(), f"{name}."
            )
            self.note_absent(held, name)
        if self.is_library(kind.__module__):
            if issubclass(kind, Iterator) and not issubclass(kind, io.IOBase):
                self.iterators.append(name)
            self.visit_wrapped(value, name)
            return
        self.note("instance", name, value)
        for base in kind.__mro__:
            for key, member in vars(base).items():
                if isinstance(member, MemberDescriptorType) and _ALL in self.attributes:
                    self.visit_slot(value, member, f"{name}.{key}")
                if key not in self.attributes:
                    continue
                if isinstance(member, MemberDescriptorType):
                    self.visit_slot(value, member, f"{name}.{key}")
                elif type(held) is dict and key not in held and not hasattr(type(member), "__set__"):
                    self.note("item", f"{name}.{key}", held, key)  # would hide that of the class
        self.visit(kind, kind.__name__)

    def visit_slot(self, value: Any, member: MemberDescriptorType, name: str) -> None:
        self.note("slot", name, value, member)
        try:
            self.visit(member.__get__(value), name)
        except AttributeError:  # not set
            return


def _visit_method(walk: _Walk, value: Any, name: str) -> None:
    walk.visit(value.__self__, "self")
    walk.visit(value.__func__, name)


def _visit_partial(walk: _Walk, value: functools.partial[Any], name: str) -> None:
    walk.visit_slot(value, functools.partial.__dict__["func"], name)
    walk.visit_slot(value, functools.partial.__dict__["args"], f"{name}'s arguments")
    walk.visit_slot(value, functools.partial.__dict__["keywords"], f"{name}'s keywords")


def _visit_proxy(walk: _Walk, value: MappingProxyType[Any, Any], name: str) -> None:
    for held in gc.get_referents(value):
        walk.visit(held, name)


def _visit_wrapper(attribute: str) -> Callable[[_Walk, Any, str], None]:
    return lambda walk, value, name: walk.visit(getattr(value, attribute), name)


def _visit_memoised(walk: _Walk, value: Any, name: str) -> None:
    code = getattr(value.__wrapped__, "__code__", None)
    if isinstance(code, CodeType):
        walk.memoised.add(code)
    walk.visit(value.__wrapped__, name)


_KINDS: dict[type, Callable[[_Walk, Any, str], None]] = {
    FunctionType: _Walk.visit_function,
    MethodType: _visit_method,
    BuiltinFunctionType: _visit_wrapper("__self__"),  # x.sum; that of a function is its module
    MethodWrapperType: _visit_wrapper("__self__"),
    functools.partial: _visit_partial,
    MappingProxyType: _visit_proxy,
    ChainMap: _visit_wrapper("maps"),
    UserDict: _visit_wrapper("data"),
    UserList: _visit_wrapper("data"),
    staticmethod: _visit_wrapper("__func__"),
    classmethod: _visit_wrapper("__func__"),
    property: _visit_wrapper("fget"),
    functools.cached_property: _visit_wrapper("func"),
    functools.partialmethod: _visit_wrapper("func"),
    type(functools.lru_cache(id)): _visit_memoised,
    _native.JitCallable: _visit_wrapper("__wrapped__"),
    _native.BoundJit: _visit_method,
    np.vectorize: _visit_wrapper("pyfunc"),
}
