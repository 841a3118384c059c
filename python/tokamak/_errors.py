"""What Tokamak raises.

Every error is an `Error` and also the built-in exception that Python programmers expect. Its text ends with the user's
line; `where` holds it as (file, line, function), or is None when no line is known.
"""

from __future__ import annotations

from typing import NoReturn

from . import _native

__all__ = [
    "Error",
    "InternalError",
    "Unsupported",
    "UserError",
    "UserIndexError",
    "UserMemoryError",
    "UserOverflowError",
    "UserTypeError",
    "UserValueError",
]

Where = tuple[str, int, str]


class Error(Exception):
    """Base of everything Tokamak raises."""

    where: Where | None = None


class UserError(Error):
    """The caller asked for something that has no meaning."""


class UserValueError(UserError, ValueError):
    pass


class UserOverflowError(UserValueError, OverflowError):
    pass


class UserTypeError(UserError, TypeError):
    pass


class UserIndexError(UserError, IndexError):
    pass


class UserMemoryError(UserError, MemoryError):
    pass


class Unsupported(Error, NotImplementedError):
    """Meaningful, but not something Tokamak does; the text says what to do instead."""


class InternalError(Error, RuntimeError):
    """A bug in Tokamak, never the user's fault."""


def user_line() -> Where | None:
    file, line, function = _native.user_line()
    return (file, line, function) if file else None


def make(kind: type[Error], message: str, where: Where | None) -> Error:
    if where is not None:
        file, line, function = where
        message += f"\n  at {file}:{line}" + (f", in {function}" if function else "")
    error = kind(message)
    error.where = where
    return error


def from_native(kind: str, message: str, file: str, line: int, function: str) -> Error:
    return make(globals()[kind], message, (file, line, function) if file else user_line())


def fail(kind: type[Error], message: str) -> NoReturn:
    """Raises `kind` located at the user's line."""
    raise make(kind, message, user_line()) from None


def unsupported(what: str, instead: str) -> NoReturn:
    fail(Unsupported, f"{what} is not supported: {instead}")
