"""An explanation as text: as wide and as colourful as the terminal is."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from . import _native
from ._format import bytes_text, count_text, number_text, percent_text, plural, time_text

if TYPE_CHECKING:
    from ._explanation import Explanation

__all__ = ["kernel_table", "notes_of", "render", "shown_file"]

_MOST_ROWS = 20  # of kernels
_MOST_NOTES = 6  # of one kind
_LEAST_NAME = 12  # characters of a kernel's name that are shown at least
_LEAST_NOTE = 20  # characters of a line beside the name of a note
_LEAST_WANTED = ("flops", "writes", "reads", "roofline", "time", "times")  # what goes first where there is no room
_STYLES = {"bold": "1", "soft": "2", "good": "32", "name": "36", "warn": "33"}


def shown_file(file: str) -> str:
    """The file as people know it: a cell of a notebook by its number, In[3], though it is compiled from a file that nobody sees."""
    if "ipykernel" in file and "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
        if number is not None:
            return f"In[{number}]"
    return file


def _place(line: _native.SourceLocation) -> str:
    return f"{PurePath(shown_file(line.file)).name}:{line.line}" if line.file else ""


Style = Callable[[str, str], str]


def render(e: Explanation, width: int, colour: bool) -> str:
    def style(text: str, kind: str) -> str:
        return f"\x1b[{_STYLES[kind]}m{text}\x1b[0m" if colour and text else text

    head = e._native.headline
    if len(e.name) + 2 + len(head) <= width:
        parts = [style(e.name, "name") + ": " + style(head, "bold")]
    else:
        parts = [style(line, "name") for line in textwrap.wrap(f"{e.name}:", width)]
        parts += [style(line, "bold") for line in textwrap.wrap(head, width)]
    parts += _kernels(e, width, style)
    notes = notes_of(e)
    label = max(len(name) for name, _ in notes)
    before = ""
    for name, text in notes:
        shown = "" if name == before else name
        before = name
        if width - label - 4 < _LEAST_NOTE:  # no room beside the names
            parts += [f"  {style(shown, 'soft')}"] if shown else []
            parts += [f"    {line}" for line in textwrap.wrap(text, width - 4, break_on_hyphens=False)]
            continue
        wrapped = textwrap.wrap(text, width - label - 4, break_on_hyphens=False) or [""]
        for i, line in enumerate(wrapped):
            parts.append(f"  {style((shown if i == 0 else '').ljust(label), 'soft')}  {line}".rstrip())
    return "\n".join(parts)


def notes_of(e: Explanation) -> list[tuple[str, str]]:
    """What stands below the kernels: what each is about, and what there is to say."""
    notes = [("memory", _memory(e))]
    notes += _short("not fused", [_refusal(one) for one in e.refused])
    notes += _short("dead", [f"{one.name} = {one.text}  {_place(one.line)}".rstrip() for one in e.dead])
    if e.measured:
        kernels, share = time_text(e.measured.kernel_seconds), percent_text(e.measured.share)
        spent = f"{kernels} of it in kernels; {share} of the roofline"
        if not e._native.running:
            spent = "no kernels run"
        notes.append(("measured", f"{time_text(e.measured.seconds)} a call, {spent}"))
    stages = ", ".join(f"{one.stage} {number_text(one.milliseconds)}" for one in e.times)
    total = number_text(sum(one.milliseconds for one in e.times))
    notes.append(("compiled", f"in {total} ms ({stages})"))
    if kept := sum(kernel.from_disk_cache for kernel in e.kernels):
        with_code = sum(kernel.has_code for kernel in e.kernels)
        notes.append(("disk cache", f"had {kept} of {plural(with_code, 'kernel')}"))
    return notes


def _short(name: str, texts: list[str]) -> list[tuple[str, str]]:
    more = [f"and {len(texts) - _MOST_NOTES} more"] if len(texts) > _MOST_NOTES else []
    return [(name, text) for text in texts[:_MOST_NOTES] + more]


def _alike(e: Explanation) -> list[list[int]]:
    """The kernels that run by rows of the table. Where they are too many for a row each, as those of unrolled loops are, equal ones
    share one."""
    kernels = e.kernels
    running = [i for i, kernel in enumerate(kernels) if kernel.step >= 0]
    if len(running) <= _MOST_ROWS:
        return [[i] for i in running]
    rows: dict[tuple[str, int, int, float], list[int]] = {}
    for i in running:
        kernel = kernels[i]
        rows.setdefault((kernel.name, kernel.bytes_read, kernel.bytes_written, kernel.flops), []).append(i)
    return list(rows.values())


def kernel_table(e: Explanation) -> tuple[list[_native.KernelReport], dict[str, list[str]], int]:
    """Kernels, one for each row, what stands beside their names by heading, and how many are left out."""
    rows = _alike(e)
    shown = rows[:_MOST_ROWS]
    return [e.kernels[row[0]] for row in shown], _columns(e, shown), sum(map(len, rows[_MOST_ROWS:]))


def _kernels(e: Explanation, width: int, style: Style) -> list[str]:
    shown, columns, left = kernel_table(e)
    space = width - 2
    while columns and space - sum(_width(column) + 2 for column in columns.items()) < _LEAST_NAME:
        columns.pop(next(head for head in _LEAST_WANTED if head in columns))
    names = max((len(kernel.name) for kernel in shown), default=0)
    names = max(_LEAST_NAME, min(names, space - sum(_width(column) + 2 for column in columns.items())))
    if not shown:
        return []
    figures = "".join(f"  {head:>{_width((head, cells))}}" for head, cells in columns.items())
    lines = ["  " + style(" " * names + figures, "soft")] if columns else []
    for i, kernel in enumerate(shown):
        name = kernel.name if len(kernel.name) <= names else kernel.name[: names - 1] + "…"
        figures = "".join(f"  {cells[i]:>{_width((head, cells))}}" for head, cells in columns.items())
        lines.append("  " + style(name.ljust(names), "name") + figures)
    if left:
        lines.append(style(f"  and {left} more", "soft"))
    return lines


def _columns(e: Explanation, rows: list[list[int]]) -> dict[str, list[str]]:
    """Of kernels that share a row, what they do together."""
    columns = {"times": [str(len(row)) for row in rows]} if any(len(row) > 1 for row in rows) else {}
    kernels = [[e.kernels[i] for i in row] for row in rows]
    columns |= {
        "reads": [bytes_text(sum(kernel.bytes_read for kernel in row)) for row in kernels],
        "writes": [bytes_text(sum(kernel.bytes_written for kernel in row)) for row in kernels],
        "flops": [count_text(sum(kernel.flops for kernel in row)) for row in kernels],
    }
    if e.measured:
        taken = [[took for i in row if (took := e.measured.kernels[i])] for row in rows]
        seconds = [sum(took.seconds for took in row) for row in taken]
        bounds = [sum(took.bound_seconds for took in row) for row in taken]
        columns["time"] = [time_text(one) if row else "" for one, row in zip(seconds, taken, strict=True)]
        columns["roofline"] = [
            percent_text(bound / one) if one else "" for bound, one in zip(bounds, seconds, strict=True)
        ]
    return columns


def _width(column: tuple[str, list[str]]) -> int:
    head, cells = column
    return max(map(len, (head, *cells)))


def _memory(e: Explanation) -> str:
    memory = e.memory
    text = f"{bytes_text(memory.peak_bytes)} planned, {bytes_text(memory.naive_bytes)} with a buffer for every operation"
    in_place = sum(one.in_place_of is not None for one in memory.buffers)
    return text + (f"; {in_place} in place" if in_place else "")


def _refusal(refused: _native.RefusedFusion) -> str:
    return f"{refused}  {_place(refused.line)}".rstrip()
