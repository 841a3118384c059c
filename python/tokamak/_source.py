"""The user's files, as far as they can be read."""

from __future__ import annotations

import linecache

__all__ = ["line_of", "lines_of"]


def lines_of(file: str) -> list[str]:
    try:
        return linecache.getlines(file)
    except ValueError:  # no name that a file could have
        return []


def line_of(file: str, number: int) -> str:
    """One of them, counted from 1; empty where there is none."""
    lines = lines_of(file)
    return lines[number - 1] if 1 <= number <= len(lines) else ""
