"""What Tokamak raises.

Every error is an `Error` and also the built-in exception that Python programmers expect. Its text ends with the user's
line; `where` holds it as (file, line, function), or is None when no line is known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from . import _native

__all__ = [
    "Error",
    "InternalError",
    "Unsupported",
    "UserError",
    "UserFloatingPointError",
    "UserIndexError",
    "UserMemoryError",
    "UserOSError",
    "UserOverflowError",
    "UserTypeError",
    "UserValueError",
    "UserZeroDivisionError",
]

Where = tuple[str, int, str]


class Error(Exception):
    """Base of everything Tokamak raises."""

    where: Where | None = None
    ours: bool = False  # whether the same code would not raise it without jit


class UserError(Error):
    """The caller asked for something that has no meaning."""


class UserValueError(UserError, ValueError):
    """A value, a shape or an axis that does not fit."""


class UserOverflowError(UserValueError, OverflowError):
    """A Python number that does not fit the dtype it meets, or 64 bits."""


class UserFloatingPointError(UserError, FloatingPointError):
    """A NaN of numbers that are none, where `set_checks("nan")` asks for it."""


class UserTypeError(UserError, TypeError):
    """A type or dtype that does not fit, or a value that is not known while the function is traced."""


class UserIndexError(UserError, IndexError):
    """An index out of bounds, or one of a kind that there is not."""


class UserMemoryError(UserError, MemoryError):
    """More memory than there is."""


class UserOSError(UserError, OSError):
    """A file that cannot be read or written."""


class UserZeroDivisionError(UserError, ZeroDivisionError):
    """A Python number divided by zero."""


class Unsupported(Error, NotImplementedError):
    """Meaningful, but not something Tokamak does; the text says what to do instead."""


class InternalError(Error, RuntimeError):
    """A bug in Tokamak, never the user's fault."""


def user_line() -> Where | None:
    file, line, function = _native.user_line()
    return (file, line, function) if file else None


_listeners: list[Callable[[Error], None]] = []


def listen(listener: Callable[[Error], None]) -> None:
    """Has `listener` hear of errors that are not NumPy's, but Tokamak's own."""
    _listeners.append(listener)


def make(kind: type[Error], message: str, where: Where | None, ours: bool = False) -> Error:
    """An error at a line. `ours` are those that the same code would not raise without jit."""
    if where is not None:
        file, line, function = where
        message += f"\n  at {file}:{line}" + (f", in {function}" if function else "")
    error = kind(message)
    error.where = where
    error.ours = ours or issubclass(kind, (Unsupported, InternalError))
    if error.ours:
        for listener in _listeners:
            listener(error)
    return error


def from_native(kind: str, message: str, file: str, line: int, function: str) -> Error:
    return make(globals()[kind], message, (file, line, function) if file else user_line())


def fail(kind: type[Error], message: str) -> NoReturn:
    """Raises `kind` located at the user's line."""
    raise make(kind, message, user_line()) from None


F = TypeVar("F", bound=Callable[..., Any])

_DOES_NOT_FIT = re.compile(r"^(?:\w+\.)*\w+\(\) (?=got |takes |missing )")
_NAMES_ELSEWHERE = {"dim": "axis", "dims": "axes", "keepdim": "keepdims"}


def add_name(error: Error, name: str) -> None:
    """Says first which function it was that the user called, unless the text does."""
    text = str(error.args[0]) if error.args else ""
    bare = name.rpartition(".")[2]
    if not text.startswith((f"{name}", f"{bare}:", f"{bare} ", f"{bare}(", "np.", "tk.")):
        error.args = (f"{name}: {text}",)
        if hasattr(error, "_msg"):  # NumPy's AxisError keeps its text there
            error._msg = error.args[0]


def explain_call(error: TypeError, name: str) -> None:
    """Raises what tells of arguments that a function does not have, with the name that the user called it by."""
    fits = _DOES_NOT_FIT.match(str(error))
    if fits is None:
        return
    rest = str(error)[fits.end() :]
    hint = "".join(f"; NumPy calls it {new}" for old, new in _NAMES_ELSEWHERE.items() if repr(old) in rest)
    fail(UserTypeError, f"{name}() {rest}{hint}")


def naming(name: str) -> Callable[[F], F]:
    """Errors inside the function name it."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Error as error:
                add_name(error, name)
                raise
            except TypeError as error:
                explain_call(error, name)
                raise

        return named  # type: ignore[return-value]

    return decorate


def unsupported(what: str, instead: str) -> NoReturn:
    fail(Unsupported, f"{what} is not supported: {instead}")
