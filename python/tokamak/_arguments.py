"""A call, taken apart: which of its arguments are arrays and numbers, and which are part of the program."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _dtypes, _native, _tree
from ._array import Array
from ._errors import UserTypeError, UserValueError, fail

STATIC_PART = ("static",)
_LEAVES = frozenset((np.ndarray, float, int, bool))  # of these types nothing else needs to be known
_PLAIN = frozenset((np.ndarray, Array, float, int, bool, *np.sctypeDict.values()))
_SUPPORTED = "bool, int8 to int64, uint8 to uint64, float16, float32, float64 (and bfloat16 of ml_dtypes)"


class Call(NamedTuple):
    leaves: list[Any]
    structure: Any  # of (arguments that are not static, keywords)
    statics: tuple[tuple[Any, Any], ...]  # (position or name, value)
    hot: bool  # whether calls like this can take the hot path
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    distinct: bool  # whether arrays that are the same object are one leaf


class Arguments:
    """How the arguments of one function are taken apart."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        static_argnums: tuple[int, ...],
        static_argnames: frozenset[str],
    ) -> None:
        self.name = name
        self.is_method = False
        self.donates = (
            False  # whether results may take over the memory of arguments: then none may be there twice
        )
        self.writes = False  # whether the function writes to arrays among its arguments
        self.takes_text = True  # whether text is part of the program without being declared so
        self._numbers: frozenset[str] = (
            frozenset()
        )  # attributes whose numbers change, and therefore are arguments
        self._changes: Counter[str] = Counter()
        self._parameters, self._rest, self._takes_any_name = _parameter_names(function)
        self._static_names = static_argnames | {
            self._parameters[i] for i in static_argnums if i < len(self._parameters)
        }
        self.static_positions = set(static_argnums) | {
            i for i, name in enumerate(self._parameters) if name in static_argnames
        }

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if not self._numbers:
            return self._take_apart(args, kwargs)
        with _tree.with_numbers(self._numbers):
            return self._take_apart(args, kwargs)

    def note_change(self, name: str, value: Any) -> None:
        """Something that was part of the program has changed: an attribute that is a number becomes an argument the second time."""
        attribute = name.rpartition(".")[2]
        if "." in name and type(value) in (int, float):
            self._changes[attribute] += 1
            if self._changes[attribute] >= 2:
                self._numbers |= {attribute}

    def _take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """An array that is met twice is one argument, unless the arguments are arrays and numbers alone, of which the function only
        reads: then it does not matter, and calls need not look."""
        is_plain = not (kwargs or self.static_positions or self.writes or self.is_method)
        if is_plain and _LEAVES.issuperset(map(type, args)):
            structure = (("tuple", *[_tree.LEAF] * len(args)), ("dict", ()))
            return Call(list(args), structure, (), True, args, kwargs, False)
        distinct = not self.donates and (
            self.writes
            or bool(kwargs)
            or any(
                type(value) not in _PLAIN and i not in self.static_positions for i, value in enumerate(args)
            )
        )
        with _tree.together(same_arrays=distinct):
            return self._take_together(args, kwargs, distinct)

    def _take_together(self, args: tuple[Any, ...], kwargs: dict[str, Any], distinct: bool) -> Call:
        leaves: list[Any] = []
        statics: list[tuple[Any, Any]] = []
        parts: list[Any] = []
        flat = True
        for i, value in enumerate(args):
            if i in self.static_positions:
                statics.append((i, value))
                parts.append(STATIC_PART)
                continue
            if i == 0 and self.is_method and not _tree.is_array(value) and not isinstance(value, type):
                part = _tree.flatten_instance(value, leaves)
            else:
                part = _tree.flatten(value, leaves)
            flat = flat and part is _tree.LEAF
            parts.append(part)
        names = [name for name in kwargs if name not in self._static_names]
        if kwargs:
            statics += [(name, kwargs[name]) for name in sorted(kwargs) if name in self._static_names]
            if not self._takes_any_name:  # else the function may see their order
                names.sort()
        structure = (
            ("tuple", *parts),
            ("dict", tuple(names), *[_tree.flatten(kwargs[name], leaves) for name in names]),
        )
        return Call(leaves, structure, tuple(statics), flat and not kwargs, args, kwargs, distinct)

    def parameter_name(self, position: int) -> str:
        if position < len(self._parameters):
            return self._parameters[position]
        return f"{self._rest}[{position - len(self._parameters)}]" if self._rest else f"arg{position}"

    def _parts(self, call: Call) -> list[tuple[str, Any]]:
        positional = [(self.parameter_name(i), part) for i, part in enumerate(call.structure[0][1:])]
        return positional + list(zip(call.structure[1][1], call.structure[1][2:], strict=True))

    def leaf_names(self, call: Call) -> list[str]:
        if call.hot and not call.statics:  # all arguments are leaves
            return [self.parameter_name(i) for i in range(len(call.args))]
        return [path for name, part in self._parts(call) for path in _tree.paths(part, name)]

    def static_values(self, call: Call) -> list[tuple[str, Any]]:
        """What is part of the program, with names: what was declared so, and text, functions and the like."""
        if call.hot and not call.statics:
            return []
        declared = [
            (where if isinstance(where, str) else self.parameter_name(where), value)
            for where, value in call.statics
        ]
        return declared + self._values(call)

    def _values(self, call: Call) -> list[tuple[str, Any]]:
        return [found for name, part in self._parts(call) for found in _tree.values(part, name)]

    def key(self, call: Call) -> Any:
        """Calls with equal keys share a table of programs."""
        if not call.statics:
            return call.structure, ()
        return call.structure, tuple((where, _tree.key_of(value)) for where, value in call.statics)

    def explain_unhashable(self, call: Call) -> None:
        for name, value in self.static_values(call):
            _check_hashable(self.name, name, value)

    def leaf_key(self, call: Call) -> Any:
        """Calls of one table with equal keys share a program. Refuses what is no argument."""
        if not self.takes_text:
            for name, value in self._values(call):
                if isinstance(value, (str, bytes)):
                    _refuse(self.name, name, value)
        key = _native.key_of(call.leaves)
        if isinstance(key, int) and _dtypes.know_bfloat16() is not None:
            key = _native.key_of(call.leaves)
        if isinstance(key, int):
            _refuse(self.name, self.leaf_names(call)[key], call.leaves[key])
        return key

    def donated_leaves(self, call: Call, wanted: set[int]) -> list[int]:
        donated: list[int] = []
        if not wanted:
            return donated
        position = 0
        for i, part in enumerate(call.structure[0][1:]):
            count = sum(1 for _ in _tree.paths(part, ""))
            if i in wanted:
                donated += range(position, position + count)
            position += count
        if wanted and max(wanted) >= len(call.args):
            fail(
                UserValueError,
                f"{self.name}: donate_argnums names argument {max(wanted)} of {len(call.args)}",
            )
        return donated


def put_together(call: Call, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call with values in place of its leaves; without keywords that are static."""
    if call.hot and not call.statics:  # all arguments are leaves
        return list(values), {}
    leaves = iter(values)
    statics = dict(call.statics)
    _, names, *named = call.structure[1]
    with _tree.together():
        args = [
            statics[i] if part == STATIC_PART else _tree.unflatten(part, leaves)
            for i, part in enumerate(call.structure[0][1:])
        ]
        kwargs = {name: _tree.unflatten(part, leaves) for name, part in zip(names, named, strict=True)}
    return args, kwargs


def is_traced(call: Call) -> bool:
    return any(type(leaf) is Array and leaf._traced for leaf in call.leaves)


def _parameter_names(function: Callable[..., Any]) -> tuple[list[str], str | None, bool]:
    """The names of positional parameters, and of the one that takes all others; whether there is one for all other keywords."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [], None, True
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return named, rest[0] if rest else None, any(p.kind is p.VAR_KEYWORD for p in parameters)


def identifiers(names: list[str]) -> list[str]:
    """Names that text IR takes, no two alike."""
    seen: dict[str, int] = {}
    unique = []
    for name in map(identifier, names):
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique.append(name if count == 0 else f"{name}_{count}_")
    return unique


def identifier(name: str) -> str:
    if name.isascii() and name.isidentifier():
        return name  # most are: others need what takes long to load
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII)
    plain = plain.rstrip("_") if name.endswith("]") else plain
    return plain if plain and not plain[0].isdigit() else f"_{plain}"


def _check_hashable(name: str, where: Any, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        fail(
            UserValueError,
            f"{name}: the static argument {where!r} is a {type(value).__name__}, which cannot be hashed; "
            "static arguments choose the program, so pass a number, a string or a tuple",
        )


def _refuse(name: str, argument: str, value: Any) -> None:
    what = f"{name}: argument {argument} is"
    if isinstance(value, int):
        fail(UserValueError, f"{what} an integer beyond the 64 bits of int64; if uint64 holds it, pass np.uint64({argument})")
    if isinstance(value, np.ma.MaskedArray):
        fail(
            UserTypeError,
            f"{what} a MaskedArray, whose mask would be lost; pass {argument}.filled(value), or data and mask as two arguments "
            "and np.where(mask, ...)",
        )
    if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap):
        fail(
            UserTypeError,
            f"{what} a {type(value).__name__}, which means more than its elements; pass np.asarray({argument})",
        )
    if isinstance(value, (np.ndarray, np.generic)):
        _refuse_dtype(what, argument, value)
    if is_method_of_array(value):
        fail(
            UserTypeError,
            f"{what} the method {value.__name__} of an array, whose elements would be part of the program; pass the array, and "
            "call the method inside",
        )
    if isinstance(value, complex):
        fail(UserTypeError, f"{what} a complex number; pass its real and imaginary parts")
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        fail(UserTypeError, f"{what} a {type(value).__name__}; pass np.asarray({argument})")
    fail(
        UserTypeError,
        f"{what} a {type(value).__name__}, not an array or a number; pass an array, or name "
        "it in static_argnums or static_argnames if it is part of the program",
    )


def is_method_of_array(value: Any) -> bool:
    return callable(value) and _tree.is_array(getattr(value, "__self__", None))


def _refuse_dtype(what: str, argument: str, value: Any) -> None:
    dtype = value.dtype
    kinds = {
        "c": f"pass {argument}.real and {argument}.imag",
        "O": f"pass {argument}.astype(float), if its elements are numbers",
        "M": f'pass {argument}.astype("int64")',
        "m": f'pass {argument}.astype("int64")',
        "V": "pass its fields one by one" if dtype.names else "pass numbers",
    }
    if not dtype.isnative:
        fail(UserTypeError, f"{what} {dtype}, not in native byte order; use astype first")
    fail(
        UserTypeError,
        f"{what} of dtype {dtype}: supported are {_SUPPORTED}; {kinds.get(dtype.kind, 'use astype')}",
    )
