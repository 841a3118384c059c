"""Values that are not known while a function is traced: errors that say what asked for them, and what to do."""

from __future__ import annotations

import itertools
import math
import re
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from . import _native, _random
from ._captured import is_library
from ._errors import Error, UserTypeError, Where, fail, listen, make, unsupported, user_line
from ._source import line_of

TRACED = "<traced "  # begins the text of values that are not known


class Refused(NamedTuple):
    """An error that the function would not meet without jit."""

    error: Error
    asked_by_user: bool  # whether the user's own code asked for what is refused, not a library

    @property
    def is_hidden(self) -> bool:
        """Whether compiled code took the error away: then it was seen by no frame but ours."""
        return self.error.__traceback__ is None or _is_of("tokamak", self.error.__traceback__.tb_frame)


@dataclass
class Asked:
    """A function that is being traced, and what it asked for that it can be given if tracing starts again."""

    trace: _native.Trace
    arguments: list[Any]
    names: list[str]
    numbers: frozenset[int]  # positions of arguments that are numbers, whose values can be told
    takes_lists: bool  # whether NumPy's functions take lists of Arrays
    package: str | None  # that the function is part of
    needed: dict[str, Where | None] = field(default_factory=dict)
    needs_lists: bool = False
    refused: list[Refused] = field(default_factory=list)


class _Tracing(threading.local):
    """The functions that this thread traces, the innermost last."""

    def __init__(self) -> None:
        self.functions: list[Asked] = []


_tracing = _Tracing()


class asking:
    """Inside, the function is being traced."""

    __slots__ = ("_asked",)

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def __enter__(self) -> None:
        _tracing.functions.append(self._asked)

    def __exit__(self, *raised: object) -> None:
        _tracing.functions.pop()


def _is_of(package: str, frame: Any) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == package


def _is_users(frame: Any, package: str | None) -> bool:
    return (package is not None and _is_of(package, frame)) or not is_library(frame.f_globals.get("__name__"))


def note(error: Error) -> None:
    """Such an error ends the trace, even if the function catches it and goes on."""
    if not _tracing.functions:
        return
    asked, frame = _tracing.functions[-1], sys._getframe(1)
    while frame.f_back is not None and (_is_of("tokamak", frame) or _is_of("numpy", frame)):
        frame = frame.f_back
    asked.refused.append(Refused(error, _is_users(frame, asked.package)))


listen(note)


def caught_by_user(asked: Asked) -> Error | None:
    """An error of ours that the user's own code caught. Libraries may: they try what an array can do, and go on without."""
    for one in asked.refused:
        trace = one.error.__traceback__
        if one.asked_by_user if one.is_hidden or trace is None else _is_users(trace.tb_frame, asked.package):
            return one.error
    return None


def hidden(asked: Asked) -> Error | None:
    """An error of ours that compiled code took away, and may have made another one of."""
    for one in asked.refused:
        if one.is_hidden and not isinstance(one.error, AttributeError):
            return one.error
    return None


_ELSEWHERE = "compute it outside the jitted function and pass it as a number, or as a static argument"
_BRANCH = f"use np.where(condition, a, b), np.logical_and, np.logical_or and np.logical_not, or {_ELSEWHERE}"
STATIC = _ELSEWHERE

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
    need_numbers(x)
    whose = ""
    if name := argument_name(x):
        whose = f"the argument {name}, "
        if x.size == 1:
            remedy = remedy.replace(
                _ELSEWHERE, f"pass {name}.item(): numbers that are needed are part of the program"
            )
    message = f"{what} needs the elements of {whose}{x._type_text}, which are not known while the function is traced: {remedy}"
    raise make(UserTypeError, message, user_line(), ours=True) from None


def need_numbers(x: Any) -> None:
    """Notes which numbers a value is computed from, if it is from nothing else: tracing starts again with them (see _numbers)."""
    for asked in reversed(_tracing.functions):
        sources = asked.trace.sources(x)
        if sources is None:
            continue
        if sources and asked.numbers.issuperset(sources):
            where = user_line()
            for i in sources:
                asked.needed.setdefault(asked.names[i], where)
            fail(UserTypeError, f"the value of {', '.join(asked.names[i] for i in sources)} is needed")
        return


def constant_value(x: Any) -> Any:
    """The Array with the elements of a traced one, if it is computed from constants alone, such as np.zeros(3); None otherwise."""
    for asked in reversed(_tracing.functions):
        if asked.trace.sources(x) is not None:
            return asked.trace.constant_value(x)
    return None


#: Functions that make ndarrays of what they are given, and what to use instead
_INSTEAD = {
    "as_strided": "use np.lib.stride_tricks.sliding_window_view, np.broadcast_to or slices",
    "nditer": "use array operations, or x.flat to go through the elements",
    "require": "use np.asarray, np.ascontiguousarray or np.asfortranarray",
    "asarray_chkfinite": "use np.asarray, and return np.isfinite(x).all() to check it outside",
    "reduce": "np.stack makes one array of several; " + STATIC,
}


def unknown_elements(x: Any) -> NoReturn:
    """For NumPy's own conversion to an ndarray: names the function that asks for it."""
    from ._numpy.while_tracing import takes_lists

    name = _called_function()
    if takes_lists(name) or name in _STORING:
        need_more(x)
    if name in getattr(sys.modules.get("numpy.random"), "__all__", ()):
        unsupported(f"np.random.{name} inside a jitted function", _random.ADVICE)
    remedy = _INSTEAD.get(name, "keep to NumPy functions, which are recorded; " + STATIC)
    if takes_lists(name) or isinstance(getattr(np, name, None), np.ufunc):
        remedy = _INSTEAD["reduce"]
    elif is_dtype(name):
        remedy = f"use x.astype(np.{name})"
    elif name == STORE:
        _refuse_storing()
    unknown(x, f"{name}()" if name else "np.asarray", remedy)


STORE = "y[...] = x"
_STORING = (STORE, "fill", "put", "itemset")


def _refuse_storing() -> NoReturn:
    unsupported("storing a value that is computed later in an ndarray", IN_NDARRAY)


def is_dtype(name: str) -> bool:
    """Whether NumPy has a scalar type of this name, which is called to convert."""
    kind = getattr(np, name, None)
    return isinstance(kind, type) and issubclass(kind, np.generic)


def unknown_number(x: Any, what: str) -> NoReturn:
    """For float(x) and the like, which others call, too: math.exp, or an ndarray in which it is stored."""
    need_numbers(x)
    name = _called_function()
    if name in _STORING:
        need_more(x)
    if name == STORE:
        _refuse_storing()
    if is_dtype(name):
        unknown(x, f"np.{name}()", f"use x.astype(np.{name})")
    if name in _SAME_IN_NUMPY:
        unknown(x, f"math.{name}()", f"use np.{_SAME_IN_NUMPY[name]}")
    unknown(x, f"{what}()", f"use astype({what}); or {STATIC}")


#: Functions of the module math -> what NumPy calls them
_SAME_IN_NUMPY = {
    **{name: name for name in vars(math) if isinstance(getattr(np, name, None), np.ufunc)},
    **{
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "atan2": "arctan2",
        "fabs": "abs",
        "pow": "power",
    },
    **{"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "isclose": "isclose", "prod": "prod"},
    **{"dist": "linalg.norm(x - y)", "fsum": "sum"},
}

#: What to do instead of writing to an array from outside
IN_NDARRAY = "np.array(y) makes an array inside the function, to which it can be written"


def need_more(x: Any) -> None:
    """Notes that the function needs what it gets only if it asks: NumPy's functions taking lists of Arrays, and making Arrays of what is
    known (see while_tracing). Tracing starts again with that."""
    for asked in reversed(_tracing.functions):
        if asked.trace.sources(x) is not None and not asked.takes_lists:
            asked.needs_lists = True
            fail(UserTypeError, "a list of arrays is an argument, or an array is written to")


def _called_function() -> str:
    """What the user's line calls, which is somewhere inside a library."""
    from ._numpy.while_tracing import called_name, is_store

    where = user_line()
    frame = sys._getframe()
    inside = frame
    while frame.f_back is not None and (where is None or frame.f_code.co_filename != where[0]):
        inside, frame = frame, frame.f_back
    is_ours = (
        inside.f_globals.get("__name__", "").partition(".")[0] == "tokamak"
    )  # or compiled code, without frames
    if is_store(frame.f_code, frame.f_lasti):
        return STORE
    return called_name(frame.f_code, frame.f_lasti) or ("" if is_ours else inside.f_code.co_name)


def argument_name(x: Any) -> str:
    named = [
        name
        for asked in reversed(_tracing.functions)
        for argument, name in zip(asked.arguments, asked.names, strict=True)
        if argument is x
    ]
    return named[0] if named else ""


def unknown_truth(x: Any) -> NoReturn:
    """Says which construct of the user's line it is that asks."""
    need_numbers(x)
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
    line = line_of(where[0], where[1])
    column = 0
    if sys.version_info >= (3, 11):
        positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
        column = (positions[2] if positions is not None else None) or 0
    return line[:column] or line, line[column:]
