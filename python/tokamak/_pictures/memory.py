"""The memory plan over time: kernels from left to right, addresses of the arena from top to bottom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _native
from .._format import bytes_text
from . import LINE, SOFT, Picture, clipped, colour, element, label

if TYPE_CHECKING:
    from .._explanation import Explanation

__all__ = ["lay_before", "memory_picture"]

_LEFT, _ROW, _BARS = 70.0, 26.0, 44.0
_KINDS = (
    "fresh in the arena",
    "where another lay before",
    "in place of an operand",
    "result",
    "of the threads, while a kernel runs",
)
_COLOUR_OF = (0, 2, 1, 3, 6)


def lay_before(buffers: list[_native.BufferReport], number: int) -> list[int]:
    """Which buffers had the bytes of one in the arena before it, other than the operand that it is in place of."""
    one = buffers[number]
    return [
        i
        for i, other in enumerate(buffers)
        if i != number
        and i != one.in_place_of
        and one.place == other.place == "arena"
        and other.last_kernel <= one.first_kernel
        and other.first_kernel < one.first_kernel
        and other.at < one.at + one.bytes
        and one.at < other.at + other.bytes
    ]


def memory_picture(e: Explanation) -> Picture:
    memory, kernels = e.memory, e.kernels
    buffers = memory.buffers
    if not any(one.bytes for one in buffers):
        nothing = "A call takes no memory beside its arguments and constants."
        return Picture([label(nothing, 0, 12, fill=SOFT)], 420.0, 20.0, f"{e.name}: {nothing}")
    column = max(18.0, min(150.0, 800 / max(1, len(kernels))))
    width = _LEFT + column * max(len(kernels), 3)
    parts = _bars(memory, width)
    top = _BARS + 34
    arena = [i for i, one in enumerate(buffers) if one.place == "arena"]
    tall = max(90.0, min(360.0, 44.0 * len(arena))) if arena else 0.0
    scale = tall / memory.arena_bytes if memory.arena_bytes else 0.0
    rows: dict[
        tuple[str, int], list[int]
    ] = {}  # outside the arena: what lies in one place, one after the other
    for i, one in enumerate(buffers):
        if one.place != "arena":
            rows.setdefault((one.place, one.at), []).append(i)
    height = top + tall + (22 + _ROW * len(rows) if rows else 0)
    every = math.ceil(7.0 * len(str(len(kernels))) / column)  # so that numbers stand apart
    for number, kernel in enumerate(kernels):
        x = _LEFT + number * column
        parts.append(element("line", x1=x, x2=x, y1=top - 6, y2=height, stroke=LINE))
        if number % every:
            continue
        text = clipped(kernel.name, (column - 8) / 6.7) if column > 60 else str(number)
        parts.append(
            label(text, x + column / 2, top - 10, mono=True, text_anchor="middle", fill=SOFT, font_size=11)
        )
    if arena:
        wide = column * len(kernels)
        parts.append(element("rect", x=_LEFT, y=top, width=wide, height=tall, fill="#eef0f3", stroke=LINE))
        parts.append(label("0", _LEFT - 6, top + 10, text_anchor="end", fill=SOFT, font_size=11))
        text = bytes_text(memory.arena_bytes)
        parts.append(label(text, _LEFT - 6, top + tall, text_anchor="end", fill=SOFT, font_size=11))
    for i in arena:
        one = buffers[i]
        parts.append(_buffer(buffers, i, column, top + one.at * scale, one.bytes * scale))
    if rows:
        parts.append(label("outside the arena", _LEFT, top + tall + 16, fill=SOFT, font_size=11))
    for row, some in enumerate(rows.values()):
        parts += [_buffer(buffers, i, column, top + tall + 22 + row * _ROW, _ROW - 4) for i in some]
    parts += _legend(height + 20, sorted({_kind(buffers, i) for i in range(len(buffers))}))
    return Picture(parts, width, height + 24, f"The memory of {e.name} over time")


def _kind(buffers: list[_native.BufferReport], number: int) -> int:
    one = buffers[number]
    if one.in_place_of is not None:
        return 2
    if one.place == "scratch":
        return 4
    return 3 if one.place != "arena" else 1 if lay_before(buffers, number) else 0


def _buffer(buffers: list[_native.BufferReport], number: int, column: float, y: float, tall: float) -> str:
    one, own = buffers[number], colour(_COLOUR_OF[_kind(buffers, number)])
    x, wide = _LEFT + one.first_kernel * column + 2, (one.last_kernel - one.first_kernel + 1) * column - 4
    taken = f" in place of {buffers[one.in_place_of].name}" if one.in_place_of is not None else ""
    is_covered = any(other.in_place_of == number for other in buffers)  # its end, by the bar of another
    room = int((wide - 8 - (column if is_covered else 0)) / 6.7)
    texts = (f"{one.name} {bytes_text(one.bytes)}{taken}", f"{one.name} {bytes_text(one.bytes)}", one.name)
    text = next((text for text in texts if len(text) <= room), clipped(one.name, room) if room > 3 else "")
    return element(
        "rect",
        x=x,
        y=y + 1,
        width=wide,
        height=max(2.0, tall - 2),
        rx=min(4.0, tall / 3),
        fill=own,
        fill_opacity=0.25,
        stroke=own,
    ) + (
        label(text, x + 6, y + min(tall / 2 + 4, 16), mono=True, font_size=11) if tall >= 14 and text else ""
    )


def _bars(memory: _native.MemoryReport, width: float) -> list[str]:
    """Planned against one buffer for every operation."""
    most = max(memory.peak_bytes, memory.naive_bytes, 1)
    room = width - _LEFT - 90
    parts = []
    for row, (name, bytes_, own) in enumerate(
        [("planned", memory.peak_bytes, colour(0)), ("naive", memory.naive_bytes, "#b4bac4")]
    ):
        y, wide = row * 22, max(1.0, room * bytes_ / most)
        parts.append(label(name, _LEFT - 6, y + 12, text_anchor="end", fill=SOFT))
        parts.append(element("rect", x=_LEFT, y=y, width=wide, height=16, rx=3, fill=own))
        parts.append(label(bytes_text(bytes_), _LEFT + wide + 6, y + 12))
    return parts


def _legend(y: float, kinds: list[int]) -> list[str]:
    parts, x = [], _LEFT
    for kind in kinds:
        own = colour(_COLOUR_OF[kind])
        parts.append(
            element("rect", x=x, y=y - 9, width=11, height=11, rx=2, fill=own, fill_opacity=0.25, stroke=own)
        )
        parts.append(label(_KINDS[kind], x + 16, y, fill=SOFT, font_size=11))
        x += 6.2 * len(_KINDS[kind]) + 36
    return parts
