"""The terminal, where there is one."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

__all__ = ["LEAST_WIDTH", "is_terminal", "wants_colour", "width_of"]

_PLAIN_WIDTH = 100  # where there is no terminal
LEAST_WIDTH = 20  # nothing that is worth reading is narrower


def is_terminal(stream: Any) -> bool:
    """Whether somebody is looking; not where it was closed, as programs may do with the standard ones."""
    return stream is not None and not stream.closed and stream.isatty()


def wants_colour() -> bool:
    """Whether standard output is a terminal that shows colours; NO_COLOR (no-color.org) says that it shall not."""
    return (
        not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and is_terminal(sys.stdout)
    )


def width_of(stream: Any) -> int:
    """Characters of a line."""
    if not is_terminal(stream):
        return _PLAIN_WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns)
