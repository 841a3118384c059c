"""Draws the times that bench/demo.py wrote as an SVG that reads well on light and dark pages.

python bench/demo.py --json numbers.json
python bench/figure.py numbers.json figure.svg
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

WIDTH = 760
BARS_FROM = 90  # where bars begin, to the right of their names
BARS_TO = 610  # where the longest ends; its time is written behind it
BAR = 15
GAP = 4
TITLE = 24
BETWEEN = 18
MARGIN = 16

NAMES = {"numpy": "NumPy", "eager": "eager", "unfused": "unfused", "fused": "fused"}

STYLE = """
  text { font-size: 12px; fill: #1f2328 }
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
  .title { font-weight: 600; font-size: 13px }
  .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
  .quiet { fill: #59636e }
  .strong { font-weight: 600 }
  .bar { fill: #b6bec7 }
  .fused { fill: #0969da }
  .page { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .bar { fill: #4b535d }
    .fused { fill: #4493f8 }
    .page { fill: #0d1117 }
  }
"""


def milliseconds(value: float) -> str:
    return f"{value:.0f} ms" if value >= 99.5 else f"{value:.1f} ms"


def draw_program(program: dict[str, Any], top: float) -> tuple[list[str], float]:
    lines = [
        f'<text class="title" x="0" y="{top + 12}"><tspan class="code">{escape(program["title"])}</tspan>'
        f'<tspan class="quiet" dx="10">{escape(program["data"])}, {program["kernels"]["unfused"]} kernels '
        f"become {program['kernels']['fused']}</tspan></text>"
    ]
    y = top + TITLE
    longest = max(program["ms"].values())
    for key, name in NAMES.items():
        value = program["ms"][key]
        length = max(1.0, (BARS_TO - BARS_FROM) * value / longest)
        middle = y + BAR / 2 + 4
        kind = "fused" if key == "fused" else "bar"
        label = milliseconds(value)
        if key == "fused":
            label += f", {program['speedup']['numpy']:.1f} times faster than NumPy"
        weight = ' class="strong"' if key == "fused" else ""
        lines += [
            f'<text x="{BARS_FROM - 8}" y="{middle}" text-anchor="end"{weight}>{name}</text>',
            f'<rect class="{kind}" x="{BARS_FROM}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>',
            f'<text x="{BARS_FROM + length + 8:.1f}" y="{middle}"{weight}>{label}</text>',
        ]
        y += BAR + GAP
    return lines, y + BETWEEN


def draw(numbers: dict[str, Any]) -> str:
    body: list[str] = []
    top = 0.0
    for program in numbers["programs"]:
        lines, top = draw_program(program, top)
        body += lines
    about = numbers["machine"]
    note = (
        f"{about['processor']}, {about['threads']} threads, {about['vectors']}; NumPy {about['numpy']}; "
        "medians, less is better"
    )
    body.append(f'<text class="quiet" x="0" y="{top + 4}">{escape(note)}</text>')
    width, height = WIDTH + 2 * MARGIN, round(top) + 8 + 2 * MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'aria-label="Times of four programs: NumPy, eager, unfused and fused">',
            f"<style>{STYLE}</style>",
            # A page of its own: readable on any, also where the style cannot know whether it is dark.
            f'<rect class="page" x="{-MARGIN}" y="{-MARGIN}" width="{width}" height="{height}" rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", type=Path, help="what demo.py --json wrote")
    parser.add_argument("svg", type=Path, help="the file to write")
    options = parser.parse_args()
    options.svg.write_text(draw(json.loads(options.numbers.read_text())))


if __name__ == "__main__":
    main()
