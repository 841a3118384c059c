"""Values that are not known while a function is traced: errors that say what asked for them, and what to do."""

from __future__ import annotations

import itertools
import linecache
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ._errors import UserTypeError, make, user_line


TRACED = "<traced "  # begins the text of values that are not known


class _Tracing(threading.local):
    """The arguments of the function that this thread traces: id of the Array -> name."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}


_tracing = _Tracing()


@contextmanager
def naming_arguments(arguments: list[Any], names: list[str]) -> Iterator[None]:
    before = _tracing.names
    _tracing.names = {id(argument): name for argument, name in zip(arguments, names, strict=True)}
    try:
        yield
    finally:
        _tracing.names = before


_MAKE_STATIC = "make the argument it comes from static (static_argnums)"
_BRANCH = (
    f"use np.where(condition, a, b), np.logical_and, np.logical_or and np.logical_not, or {_MAKE_STATIC}"
)
STATIC = f"{_MAKE_STATIC}, or do this outside the jitted function"

#: What the part of a line that asks for the truth of a traced value begins with, what that is called, and what to do
_CALLS = [
    (r"(max|min)\(", "max() or min()", "use np.maximum, np.minimum, x.max() or x.min()"),
    (r"(any|all)\(", "any() or all()", "use np.any or np.all"),
    (r"(sorted|bool)\(", "sorted() or bool()", "use np.sort, or (x != 0)"),
]
#: The same for what comes before that part
_STATEMENTS = [
    (
        r"\s*assert\b",
        "`assert`",
        "return the condition and check it outside, or check shapes and dtypes, which are known",
    ),
    (
        r"\s*while\b",
        "`while`",
        "loop a fixed number of times and keep what is done with np.where, or jit the body and loop outside",
    ),
    (r"\s*(el)?if\b|.*\bif\s*$", "`if`", _BRANCH),
]


def unknown(x: Any, what: str, remedy: str) -> NoReturn:
    name = _tracing.names.get(id(x), "")
    if name.isidentifier() and x._weak is not None:
        remedy = remedy.replace(_MAKE_STATIC, f"make the argument {name} static (static_argnames={name!r})")
    error = make(
        UserTypeError,
        f"{what} needs the elements of {x._type_text}, which are not known while the function is traced: {remedy}",
        user_line(),
    )
    error.argument = name
    raise error


def unknown_truth(x: Any) -> NoReturn:
    """Says which construct of the user's line it is that asks."""
    before, asking = _asking_source()
    for pattern, what, remedy in _CALLS:
        if re.match(pattern, asking):
            unknown(x, what, remedy)
    for pattern, what, remedy in _STATEMENTS:
        if re.match(pattern, before) or re.match(pattern, asking):
            unknown(x, what, remedy)
    unknown(x, "`if`, `while`, `and`, `or`, `not` or bool()", _BRANCH)


def _asking_source() -> tuple[str, str]:
    """The user's line up to the expression that is evaluated, and from there on."""
    where = user_line()
    if where is None:
        return "", ""
    frame = sys._getframe()
    while frame.f_back is not None and (frame.f_code.co_filename, frame.f_lineno) != where[:2]:
        frame = frame.f_back
    line = linecache.getline(where[0], where[1])
    column = 0
    if sys.version_info >= (3, 11):
        positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
        column = (positions[2] if positions is not None else None) or 0
    return line[:column] or line, line[column:]
