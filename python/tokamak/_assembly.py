"""The loops of machine code: found by jumps back to labels."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["CodeLoop", "hot_loop", "loops_of"]

_LABEL = re.compile(r"^([.\w$@]+):")
_JUMP = re.compile(r"^\s+j\w+\s+([.\w$@]+)")
_INSTRUCTION = re.compile(r"^\s+[a-z]")
_WIDE = re.compile(r"%[xyz]mm\d")


class CodeLoop(NamedTuple):
    """Lines of the text, counted from 0, both included."""

    first: int
    last: int
    depth: int  # loops around it
    innermost: bool
    instructions: int
    vector_instructions: int


def loops_of(assembly: str) -> list[CodeLoop]:
    """All loops, from first to last: a jump back is the end of one, whose beginning is where it goes."""
    lines = assembly.splitlines()
    labels: dict[str, int] = {}
    ends: dict[int, int] = {}  # by first line: the last jump back to it
    for i, line in enumerate(lines):
        if label := _LABEL.match(line):
            labels[label[1]] = i
        elif (jump := _JUMP.match(line)) and jump[1] in labels:
            ends[labels[jump[1]]] = i
    loops = []
    for first, last in sorted(ends.items()):
        others = [(a, b) for a, b in ends.items() if (a, b) != (first, last)]
        body = [line for line in lines[first : last + 1] if _INSTRUCTION.match(line)]
        loops.append(
            CodeLoop(
                first,
                last,
                sum(a <= first and last <= b for a, b in others),
                not any(first <= a and b <= last for a, b in others),
                len(body),
                sum(bool(_WIDE.search(line)) for line in body),
            )
        )
    return loops


def hot_loop(loops: list[CodeLoop]) -> int | None:
    """Where the time goes, as far as the code tells: of the innermost loops the deepest, and of those the one with most to compute."""
    inner = [i for i, loop in enumerate(loops) if loop.innermost]
    return max(inner, key=lambda i: (loops[i].depth, loops[i].vector_instructions), default=None)
