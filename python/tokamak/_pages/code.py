"""The code of kernels, as pages show it."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._assembly import hot_loop, loops_of
from .._progress import Progress

__all__ = ["Codes"]


class Codes:
    """The code of each kernel at every level, once: kernels that are equal, as those of an unrolled loop, share it."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.all: list[dict[str, Any]] = []
        self._known: dict[tuple[str, str], int] = {}
        self._progress = progress

    def of(self, kernel: _native.KernelReport) -> int:
        """The place in `all` of a kernel's code."""
        key = (kernel.graph, kernel.loops)
        if key not in self._known:
            self._known[key] = len(self.all)
            if self._progress is not None:
                self._progress.say(f"making the code of {kernel.name}")
            self.all.append(_code(kernel))
        return self._known[key]


def _code(kernel: _native.KernelReport) -> dict[str, Any]:
    asm = kernel.asm
    loops = loops_of(asm)
    return {
        "graph": kernel.graph,
        "schedule": kernel.schedule,
        "loops": kernel.loops,
        "llvm": kernel.llvm,
        "asm": asm,
        "asm_loops": [loop._asdict() for loop in loops],
        "hot": hot_loop(loops),
    }
