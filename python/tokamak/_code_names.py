"""The names in the code of functions."""

from __future__ import annotations

import functools
import sys
from types import CodeType
from typing import NamedTuple


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
