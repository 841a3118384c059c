"""A function run one kernel per operation, and compiled, on one axis: of time above, of memory traffic below."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import _native
from .._format import bytes_text, plural, time_text
from . import INK, LINE, SOFT, Picture, clipped, colour, element, label

if TYPE_CHECKING:
    from .._compare import Comparison, Run

__all__ = ["comparison_picture"]

_WIDTH, _BAR, _ROW = 840.0, 30.0, 58.0
_STEPS = (1, 2, 5)


def comparison_picture(comparison: Comparison) -> Picture:
    runs = (comparison.eager, comparison.compiled)
    longest = max(*(run.ns for run in runs), 1)
    largest = max(*(run.bytes for run in runs), 1)
    parts = [label(comparison.name, 0, 12, mono=True, font_weight="bold", font_size=14)]
    verdict = comparison.verdict(digits=1)
    parts.append(label(verdict, 8.6 * len(comparison.name) + 14, 12, fill=SOFT, font_size=13))
    y = 34.0
    if comparison.is_empty:
        return Picture(parts, _WIDTH, y, f"{comparison.name}: {verdict}")
    for run in runs:
        head = f"{run.label}: {plural(len(run.kernels), 'kernel')}, {time_text(run.ns / 1e9)}"
        parts.append(label(head, 0, y + 10))
        first = run.kernels[0].start_ns if run.kernels else 0
        spans = [((one.start_ns - first) / longest, (one.end_ns - first) / longest) for one in run.kernels]
        parts += _lane(run, spans, y + 16)
        y += _ROW
    parts += _axis(y, longest / 1e9, time_text)
    y += 42
    for run in runs:
        parts.append(label(f"{run.label}: {bytes_text(run.bytes)} read and written", 0, y + 10))
        at, spans = 0.0, []
        for one in run.kernels:
            share = (one.bytes_read + one.bytes_written) / largest
            spans.append((at, at + share))
            at += share
        parts += _lane(run, spans, y + 16)
        y += _ROW
    parts += _axis(y, largest, bytes_text)
    return Picture(parts, _WIDTH, y + 18, f"{comparison.name}: {verdict}")


def _lane(run: Run, spans: list[tuple[float, float]], y: float) -> list[str]:
    parts = []
    for i, (one, (begin, end)) in enumerate(zip(run.kernels, spans, strict=True)):
        x, wide = begin * _WIDTH, max(1.5, (end - begin) * _WIDTH - 1)
        parts.append(element("rect", _tip(one), x=x, y=y, width=wide, height=_BAR, rx=3, fill=colour(i)))
        if wide > 22:
            text = clipped(one.name, (wide - 8) / 7.3)
            parts.append(label(text, x + 6, y + _BAR / 2 + 4, mono=True, fill="#ffffff"))
    return parts


def _tip(one: _native.ProfileEvent) -> str:
    moved = bytes_text(one.bytes_read + one.bytes_written)
    return f"<title>{one.name}: {time_text((one.end_ns - one.start_ns) / 1e9)}, {moved}</title>"


def _axis(y: float, most: float, text: Callable[[float], str]) -> list[str]:
    """With marks at round numbers, some six of them."""
    unit = 1000.0 ** math.floor(math.log(most, 1000)) if most > 0 else 1
    step = min(
        (unit * digit * 10.0**power for digit in _STEPS for power in range(-3, 4)),
        key=lambda one: abs(most / one - 6),
    )
    parts = [element("line", x1=0, x2=_WIDTH, y1=y, y2=y, stroke=LINE)]
    for number in range(int(most / step) + 1):
        x = number * step / most * _WIDTH
        anchor = "start" if number == 0 else "end" if x > _WIDTH - 30 else "middle"
        parts.append(element("line", x1=x, x2=x, y1=y, y2=y + 4, stroke=INK))
        shown = text(number * step) if number else "0"
        parts.append(label(shown, x, y + 16, text_anchor=anchor, fill=SOFT, font_size=11))
    return parts
