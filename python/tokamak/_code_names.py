"""The names in the code of functions."""

from __future__ import annotations

import functools
import sys
from types import CodeType
from typing import Any, NamedTuple


class Names(NamedTuple):
    """The names that a piece of code reads, the functions inside it included."""

    read: frozenset[str]  # as global variables
    imported: frozenset[str]
    all: frozenset[str]  # attributes among them
    asked: frozenset[str]  # attributes that need not be there: getattr(x, "name", None)


def _opcode(name: str) -> int:
    import opcode

    return opcode.opmap.get(name, -1)


_EXTENDED, _LOAD_GLOBAL, _LOAD_NAME, _IMPORT = map(
    _opcode, ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME")
)
_GLOBAL_SHIFT = 1 if sys.version_info >= (3, 11) else 0  # the lowest bit says something else there


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> Names:
    read, imported = set(), set()
    raw, extended = code.co_code, 0
    for i in range(0, len(raw), 2):
        operation, argument = raw[i], raw[i + 1] | extended
        extended = argument << 8 if operation == _EXTENDED else 0
        if operation == _LOAD_GLOBAL:
            read.add(code.co_names[argument >> _GLOBAL_SHIFT])
        elif operation == _LOAD_NAME:
            read.add(code.co_names[argument])
        elif operation == _IMPORT:
            imported.add(code.co_names[argument])
    every = set(code.co_names)
    texts = {constant for constant in code.co_consts if isinstance(constant, str) and constant.isidentifier()}
    asked = set(texts) if read & {"getattr", "hasattr"} else set()
    every |= texts
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = names_in(constant)
            read |= inner.read
            imported |= inner.imported
            every |= inner.all
            asked |= inner.asked
    return Names(frozenset(read), frozenset(imported), frozenset(every), frozenset(asked))


@functools.lru_cache(maxsize=1)
def _loads() -> dict[int, tuple[str, int]]:
    """Instructions that load something with a name: the names that their argument counts in, and how many of its lowest bits say
    something else."""
    import opcode

    shifts = {"LOAD_GLOBAL": _GLOBAL_SHIFT}
    if sys.version_info >= (3, 12):
        shifts |= {"LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2}
    tables = (
        (opcode.hasname, "co_names"),
        (opcode.hasconst, "co_consts"),
        (opcode.haslocal, "locals"),
        (opcode.hasfree, "locals" if sys.version_info >= (3, 11) else "cells"),
    )
    return {
        code: (table, shifts.get(opcode.opname[code], 0))
        for codes, table in tables
        for code in codes
        if opcode.opname[code].startswith("LOAD_")
        and opcode.opname[code].count("LOAD_") == 1  # of two at once, none is called
    }


def loaded_name(code: CodeType, i: int) -> str | None:
    """The name that the i-th instruction loads: of a variable or an attribute; or the text that it does."""
    raw = code.co_code
    table, shift = _loads().get(raw[2 * i], ("", 0))
    if not table:
        return None
    argument, before = raw[2 * i + 1], 8
    while i > 0 and raw[2 * i - 2] == _EXTENDED:
        i -= 1
        argument |= raw[2 * i + 1] << before
        before += 8
    if table == "locals":
        # The variables of a function, those it shares and those it is given: a parameter that is shared is there once.
        shared = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
        found: Any = (code.co_varnames + shared + code.co_freevars)[argument]
    elif table == "cells":
        found = (code.co_cellvars + code.co_freevars)[argument]
    else:
        found = getattr(code, table)[argument >> shift]
    return found if isinstance(found, str) else None
