"""Charts as SVG that read well on light and dark pages: dots on a logarithmic axis, and lines over a size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

MARGIN = 16
WIDTH = 860
NAMES_TO = 190  # where the names of rows end and the axis begins
ROW = 20

# Of the contestants; those of the ablation share them.
COLOURS = {
    "tokamak": "#0969da",
    "numpy": "#8250df",
    "torch": "#e16f24",
    "compile": "#bc2c1a",
    "jax": "#1a9c5b",
    "numexpr": "#9a6700",
    "numba": "#3fa7b5",
    "onnx": "#d65c9e",
    "fusion": "#bc2c1a",
    "reuse": "#9a6700",
    "pool": "#8250df",
    "vector-math": "#e16f24",
    "streaming": "#3fa7b5",
    "blocking": "#d65c9e",
    "threads": "#1a9c5b",
}

STYLE = """
  text { font-size: 12px; fill: #1f2328 }
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
  .title { font-weight: 600; font-size: 13px }
  .quiet { fill: #59636e }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .line { stroke: #59636e; stroke-width: 1.5 }
  .curve { fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .page { fill: #0d1117 }
    .grid { stroke: #2d333b }
    .line { stroke: #9198a1 }
  }
"""


@dataclass(frozen=True)
class Row:
    name: str
    values: Mapping[str, float]  # by contestant


@dataclass(frozen=True)
class Panel:
    """Lines over a size."""

    title: str
    curves: Mapping[str, Sequence[tuple[float, float]]]  # by contestant


@dataclass(frozen=True)
class Axis:
    """A logarithmic one, from `low` to `high` in values, `left` to `right` on the page (or bottom to top)."""

    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.left + share * (self.right - self.left)

    def ticks(self, fine: bool) -> list[float]:
        steps = (1, 2, 5) if fine else (1,)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [step * 10.0**power for power in powers for step in steps]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


def axis_for(values: Sequence[float], left: float, right: float) -> Axis:
    low, high = min(values), max(values)
    room = max((high / low) ** 0.04, 1.15)
    return Axis(low / room, high * room, left, right)


def number(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def page(body: Sequence[str], width: float, height: float, label: str) -> str:
    box = f"{-MARGIN} {-MARGIN} {width + 2 * MARGIN:.0f} {height + 2 * MARGIN:.0f}"
    size = f'width="{width + 2 * MARGIN:.0f}" height="{height + 2 * MARGIN:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} role="img" '
            f'aria-label="{escape(label)}">',
            f"<style>{STYLE}</style>",
            # A page of its own: readable on any, also where the style cannot know whether it is dark.
            f'<rect class="page" x="{-MARGIN}" y="{-MARGIN}" {size} rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def quiet(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="quiet" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def legend(names: Mapping[str, str]) -> tuple[list[str], int]:
    """Who has which colour, in as many lines as it takes, and where it ends."""
    body: list[str] = []
    x, y = 0.0, 12
    for key, title in names.items():
        width = 30 + 7.2 * len(title)
        if x > 0 and x + width > WIDTH:
            x, y = 0.0, y + ROW
        body.append(f'<circle cx="{x + 5:.0f}" cy="{y - 4}" r="5" fill="{COLOURS[key]}"/>')
        body.append(f'<text x="{x + 15:.0f}" y="{y}">{escape(title)}</text>')
        x += width
    return body, y + 18


def dots(
    rows: Sequence[Row], names: Mapping[str, str], label: str, unit: str = "", line: float | None = None
) -> str:
    """A row for each workload, a dot for each contestant, and a line that all are held against."""
    values = [v for row in rows for v in row.values.values()] + ([line] if line else [])
    axis = axis_for(values, NAMES_TO, WIDTH - 10)
    shown = {key: title for key, title in names.items() if any(key in row.values for row in rows)}
    body, top = legend(shown)
    bottom = top + ROW * len(rows)
    fine = axis.high / axis.low < 300
    for tick in axis.ticks(fine):
        x = axis.at(tick)
        body.append(f'<line class="grid" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>')
        body.append(quiet(x, bottom + 16, "middle", f"{number(tick)}{unit}"))
    if line:
        x = axis.at(line)
        body.append(f'<line class="line" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>')
    for i, row in enumerate(rows):
        y = top + ROW * i + ROW / 2
        body.append(f'<text x="{NAMES_TO - 12}" y="{y + 4}" text-anchor="end">{escape(row.name)}</text>')
        for key, value in row.values.items():
            tip = f"{names[key]}: {value:.3g}{unit}"
            body.append(
                f'<circle cx="{axis.at(value):.1f}" cy="{y}" r="5" fill="{COLOURS[key]}" fill-opacity="0.85">'
                f"<title>{escape(tip)}</title></circle>"
            )
    body.append(quiet(NAMES_TO, bottom + 34, "start", label))
    return page(body, WIDTH, bottom + 38, label)


def lines(panels: Sequence[Panel], names: Mapping[str, str], x_label: str, y_label: str) -> str:
    """Two panels side by side, as many rows of them as it takes, all with the same axes."""
    points = [point for panel in panels for curve in panel.curves.values() for point in curve]
    shown = {key: title for key, title in names.items() if any(key in panel.curves for panel in panels)}
    body, first = legend(shown)
    width, height = (WIDTH - 60) / 2, 230.0
    for i, panel in enumerate(panels):
        left = 40 + (i % 2) * (width + 20)
        top = first + 24 + (i // 2) * (height + 60)
        across = axis_for([x for x, _ in points], left, left + width - 20)
        up = axis_for([y for _, y in points], top + height, top)
        body += grid(across, up, is_first=i % 2 == 0)
        body.append(f'<text class="title" x="{left}" y="{top - 8}">{escape(panel.title)}</text>')
        for key, curve in panel.curves.items():
            path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in curve)
            body.append(f'<polyline class="curve" points="{path}" stroke="{COLOURS[key]}"/>')
            body += [
                f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{COLOURS[key]}">'
                f"<title>{escape(f'{names[key]}: {y:.3g} at {number(x)}')}</title></circle>"
                for x, y in curve
            ]
    bottom = first + 24 + (len(panels) + 1) // 2 * (height + 60)
    body.append(quiet(40, bottom, "start", f"{y_label} over {x_label}"))
    return page(body, WIDTH, bottom + 6, f"{y_label} over {x_label}")


def grid(across: Axis, up: Axis, is_first: bool) -> list[str]:
    body = []
    for tick in across.ticks(False):
        x = across.at(tick)
        body.append(f'<line class="grid" x1="{x:.1f}" y1="{up.left:.1f}" x2="{x:.1f}" y2="{up.right:.1f}"/>')
        body.append(quiet(x, up.left + 16, "middle", number(tick)))
    for tick in up.ticks(False):
        y = up.at(tick)
        body.append(
            f'<line class="grid" x1="{across.left:.1f}" y1="{y:.1f}" x2="{across.right:.1f}" y2="{y:.1f}"/>'
        )
        if is_first:
            body.append(quiet(across.left - 6, y + 4, "end", seconds_text(tick)))
    return body


def seconds_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.999:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
