"""Why a program was compiled: what is different from the calls before."""

from __future__ import annotations

import enum
import reprlib
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from . import _logging, _native
from ._captured import Captured
from ._errors import user_line
from ._native import ArrayBase

MOST_RECORDS = 64  # of a function: some KB each, with what its program captured
_MOST_REASONS = 256
_MOST_BYTES = 1 << 20
_PATIENCE = 8
_OTHER = "other arguments"


class Record(NamedTuple):
    """A program: what it was compiled for, and what it holds of the world."""

    key: Any  # of the structure, the static values and the types of the leaves
    leaves: dict[str, tuple[Any, tuple[int, ...]]]  # name -> dtype or name of the type, shape
    statics: dict[str, str]
    numbers: dict[str, str]  # arguments whose values are part of the program
    captured: Captured | None
    checks: str  # what `set_checks` asked for


def record(
    key: Any,
    names: list[str],
    leaves: list[Any],
    statics: list[Any],
    numbers: list[Any],
    captured: Captured | None,
) -> Record:
    return Record(
        key,
        {name: _type_of(leaf) for name, leaf in zip(names, leaves, strict=True)},
        {name: _short(value) for name, value in statics} if statics else {},
        {name: _short(value) for name, value in numbers} if numbers else {},
        captured,
        _native.checks(),
    )


def _type_of(leaf: Any) -> tuple[Any, tuple[int, ...]]:
    if isinstance(leaf, (np.ndarray, np.generic, ArrayBase)):
        return leaf.dtype, tuple(leaf.shape)
    return type(leaf).__name__, ()


def type_text(leaf: Any) -> str:
    dtype, shape = _type_of(leaf)
    return f"{dtype}[{','.join(map(str, shape))}]" if hasattr(leaf, "dtype") else dtype


def _short(value: Any) -> str:
    """A static value as text. That of other objects may be long, or not ready to be shown."""
    if isinstance(
        value, (bool, int, float, complex, str, bytes, tuple, enum.Enum, range, slice, np.dtype, np.generic)
    ):
        return reprlib.repr(value)
    return getattr(value, "__name__", None) or f"a {type(value).__name__}"


class History:
    """The programs of one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reasons: list[str] = []
        self._records: list[Record] = []  # the last of each key; replaced, not changed: threads share it
        self._changes: Counter[str] = Counter()

    def add(self, made: Record, leaves: list[Any], notes: list[str]) -> list[str]:
        """Notes a program, and gives what changed that was not declared to be part of the program, where that is why."""
        reason, changed = self._compare(made)
        if notes:
            reason = "; ".join([reason, *notes] if not reason.startswith(_OTHER) else notes)
        self.reasons.append(reason)
        del self.reasons[:-_MOST_REASONS]
        kept = [_without_large(old) for old in self._records if old.key != made.key]
        self._records = [*kept, made][-MOST_RECORDS:]
        if _logging.is_open("recompiles"):
            types = ", ".join(map(type_text, leaves))
            _logging.log("recompiles", f"{self.name}: program {len(self.reasons)}, for ({types}): {reason}")
        for name in changed:
            self._changes[name] += 1
            if self._changes[name] == _PATIENCE:
                warn(
                    f"{self.name} was compiled anew {_PATIENCE} times because {name} changed; pass what changes often as an "
                    "argument"
                )
        return changed

    def _compare(self, made: Record) -> tuple[str, list[str]]:
        """The reason, and what changed that was not declared to be part of the program."""
        records = self._records
        if not records:
            return "first call", []
        for other in reversed(records):
            if other.key == made.key:
                if other.checks != made.checks:
                    return f"checks: {other.checks or 'none'} -> {made.checks or 'none'}", []
                changed = None if other.captured is None else other.captured.changed()
                if changed is None:
                    return "its program had been dropped", []
                return f"captured {quoted(changed)} changed", [quoted(changed)]
        differences = [_differences(other, made) for other in reversed(records) if _is_like(other, made)]
        if not differences:
            for name in made.leaves:
                if "." in name and any(name in other.statics for other in records):
                    return f"{name} changes from call to call: it is an argument now", []
            return f"{_OTHER}: {', '.join([*made.leaves, *made.statics])}", []
        nearest = min(differences, key=len)
        attributes = [name for name, text in nearest if text.startswith("static") and "." in name]
        return ", ".join(text for _, text in nearest), attributes


def warn(message: str) -> None:
    where = user_line()
    if where is None:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    else:
        warnings.warn_explicit(message, RuntimeWarning, where[0], where[1])


def quoted(name: str) -> str:
    return name if " " in name else f"`{name}`"


def _without_large(old: Record) -> Record:
    """Old programs must not keep old arrays alive."""
    is_large = old.captured is not None and old.captured.guards.bytes() > _MOST_BYTES
    return old._replace(captured=None) if is_large else old


def _is_like(old: Record, new: Record) -> bool:
    return (
        old.leaves.keys() == new.leaves.keys()
        and old.statics.keys() == new.statics.keys()
        and old.numbers.keys() == new.numbers.keys()
    )


def _differences(old: Record, new: Record) -> list[tuple[str, str]]:
    found = []
    for name, (dtype, shape) in new.leaves.items():
        old_dtype, old_shape = old.leaves[name]
        if str(dtype) != str(old_dtype):  # NumPy has np.dtype("float64") equal to "float"
            found.append((name, f"{name}: dtype {old_dtype} -> {dtype}"))
        if shape != old_shape:
            found.append((name, f"{name}: shape {old_shape} -> {shape}"))
    for name, text in new.statics.items():
        if text != old.statics[name]:
            found.append((name, f"static {name}: {old.statics[name]} -> {text}"))
    for name, text in new.numbers.items():
        if text != old.numbers[name]:
            found.append((name, f"number {name}: {old.numbers[name]} -> {text}"))
    return found or _hidden_difference(old, new)


def _hidden_difference(old: Record, new: Record) -> list[tuple[str, str]]:
    """What looks the same may lie in memory otherwise, or be another object."""
    same_structure = old.key[0] == new.key[0]
    return [("", "layout in memory" if same_structure else "static values that are other objects")]
