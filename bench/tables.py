"""Tables in a terminal, and what is said about the machine; for all benchmarks."""

from __future__ import annotations

import os
import platform
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What is said about the machine.


def processor() -> tuple[str, str]:
    """Its name, and the widest vectors that it has."""
    model, flags = platform.processor() or platform.machine(), set()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            elif key.strip() == "flags":
                flags = set(value.split())
    except OSError:
        pass
    return model, "AVX-512" if "avx512bw" in flags else "AVX2" if "avx2" in flags else "SSE2"


def machine() -> dict[str, Any]:
    model, vectors = processor()
    asked = os.environ.get("TOKAMAK_CPU", "native")
    return {
        "processor": model,
        "vectors": vectors if asked == "native" else asked,
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


# Printing.

USE_COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if USE_COLOUR else text


def bold(text: str) -> str:
    return paint(text, "1")


def dim(text: str) -> str:
    return paint(text, "2")


def green(text: str) -> str:
    return paint(text, "1;32")


def bytes_text(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            number = count / size
            return f"{number:.0f} {unit}" if number >= 99.5 else f"{number:.3g} {unit}"
    return f"{count:.0f} B"


def ms_text(milliseconds: float) -> str:
    return f"{milliseconds:.0f}" if milliseconds >= 99.5 else f"{milliseconds:.1f}"


@dataclass
class Column:
    heading: str
    cells: list[str]
    left: bool = False
    style: Callable[[str], str] = str
    optional: bool = False  # left out of a table that is wider than the terminal

    @property
    def width(self) -> int:
        return max(len(text) for text in (self.heading, *self.cells))

    def render(self, text: str, style: Callable[[str], str]) -> str:
        padded = text.ljust(self.width) if self.left else text.rjust(self.width)
        return style(padded)


def print_table(columns: list[Column], width: int) -> None:
    columns = fitting(columns, width)
    if table_width(columns) > width:
        print_entries(columns, width)
        return

    def rule(left: str, middle: str, right: str) -> str:
        return dim(left + middle.join("─" * (c.width + 2) for c in columns) + right)

    bar = dim("│")
    print(rule("┌", "┬", "┐"))
    print(bar + bar.join(f" {c.render(c.heading, bold)} " for c in columns) + bar)
    print(rule("├", "┼", "┤"))
    for row in range(len(columns[0].cells)):
        print(bar + bar.join(f" {c.render(c.cells[row], c.style)} " for c in columns) + bar)
    print(rule("└", "┴", "┘"))


def table_width(columns: list[Column]) -> int:
    return sum(c.width + 3 for c in columns) + 1


def fitting(columns: list[Column], width: int) -> list[Column]:
    """Without optional columns, as far as the width demands it, the last of them first."""
    columns = list(columns)
    for column in reversed([c for c in columns if c.optional]):
        if table_width(columns) > width:
            columns.remove(column)
    return columns


def print_entries(columns: list[Column], width: int) -> None:
    """The same for a narrow terminal: what the first column names, then the others as text."""
    for row in range(len(columns[0].cells)):
        print(bold(columns[0].cells[row]))
        entries = ", ".join(f"{c.heading} {' '.join(c.cells[row].split())}" for c in columns[1:])
        print(
            textwrap.fill(entries, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        )
