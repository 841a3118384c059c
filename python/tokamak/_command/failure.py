"""What goes wrong with the command, and the codes it then exits with."""

from __future__ import annotations

__all__ = ["INPUT_ERROR", "INTERNAL_ERROR", "OK", "USAGE_ERROR", "Failure", "os_error_text", "usage_error"]

OK = 0
INPUT_ERROR = 1
USAGE_ERROR = 2
INTERNAL_ERROR = 3


class Failure(Exception):
    """One message for the user, and the exit code."""

    def __init__(self, message: str, code: int = INPUT_ERROR) -> None:
        super().__init__(message)
        self.code = code


def usage_error(message: str) -> Failure:
    return Failure(message, USAGE_ERROR)


def os_error_text(error: OSError) -> str:
    """What the system says, without its number."""
    return f"{error.filename or ''}{': ' if error.filename else ''}{error.strerror or error}"
