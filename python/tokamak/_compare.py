"""What compiling is worth: `tk.compare(f, *args)` runs a function one kernel per operation, and compiled, and shows both on one axis."""

from __future__ import annotations

import bisect
import copy
import json
import math
import sys
import textwrap
import time
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _endings, _format, _native, _pages
from ._array import Array
from ._jit import jit
from ._profile import Profile, profile
from ._progress import Progress
from ._terminal import width_of

if TYPE_CHECKING:
    from ._pictures import Picture

__all__ = ["Comparison", "Run", "compare", "same_results"]

_LEAST_TURNS = 4
_SECONDS = 1.5  # for all turns: longer than what else goes on in the machine keeps it busy, mostly
_COLUMNS = 40  # of the bars in a terminal
_LEAST_COLUMNS = 8
_MOST_NAME = 30  # characters of a kernel's name
_LEAST_NAME = 8
_FIGURE = 10  # of a time, or a number of bytes, with the space before it
_PAGE_WIDTH = 100
_MOST_ROWS = 30  # kernels of a run that the text shows: the longest


class Run:
    """One call of a function, the fastest of several, and what its program consists of: `profile` and `explanation`."""

    def __init__(self, label: str, recorded: Profile, explanation: Any) -> None:
        self.label = label
        self.profile = recorded
        self.explanation = explanation

    @property
    def kernels(self) -> list[_native.ProfileEvent]:
        """The kernels that ran, in their order."""
        return self.profile.kernels

    @property
    def ns(self) -> int:
        """From the start of the first kernel to the end of the last."""
        if not self.kernels:
            return 0
        return max(kernel.end_ns for kernel in self.kernels) - self.kernels[0].start_ns

    @property
    def bytes(self) -> int:
        """What the kernels read and write, each operand of a kernel counted once."""
        return sum(kernel.bytes_read + kernel.bytes_written for kernel in self.kernels)

    @property
    def flops(self) -> float:
        """The arithmetic of the kernels; every operation on an element counts as one."""
        return sum(kernel.flops for kernel in self.kernels)

    def to_dict(self) -> dict[str, Any]:
        """What the page of a comparison is made from: `codes` is the code of kernels, `code_of` says for each event which of it ran, or
        -1."""
        from ._pages.code import Codes

        codes = Codes()
        ran = self.kernels
        code = [-1] * len(ran)
        for kernel in self.explanation.kernels:
            if 0 <= kernel.step < len(ran) and ran[kernel.step].name == kernel.name:
                code[kernel.step] = codes.of(kernel)
        recorded = self.profile.to_dict()
        starts = [event.start_ns for event in ran]
        code_of = []
        for name, category, _, start, *_ in recorded["events"]:
            # Kernels run one after the other: what other threads do of one begins after it and before the next.
            at = bisect.bisect_right(starts, start) - 1
            is_of_kernel = recorded["categories"][category] in ("kernel", "library", "worker")
            is_its = is_of_kernel and at >= 0 and ran[at].name == recorded["names"][name]
            code_of.append(code[at] if is_its else -1)
        own = {
            "label": self.label,
            "ns": self.ns,
            "bytes": self.bytes,
            "flops": self.flops,
            "kernels": len(self.kernels),
        }
        return {**own, "codes": codes.all, "code_of": code_of, **recorded}


class Comparison:
    """A function run one kernel per operation (`eager`) and compiled (`compiled`); `agree` says whether both gave the same results, but for
    rounding in sums and products."""

    def __init__(self, name: str, eager: Run, compiled: Run, agree: bool) -> None:
        self.name = name
        self.eager = eager
        self.compiled = compiled
        self.agree = agree

    @property
    def speedup(self) -> float:
        """The time of the first over that of the second: infinite where compiling leaves nothing to run, 1 where neither runs anything."""
        return _ratio(self.eager.ns, self.compiled.ns)

    @property
    def is_empty(self) -> bool:
        """Whether no kernels run either way, as where arrays have no elements."""
        return not self.eager.kernels and not self.compiled.kernels

    def to_dict(self) -> dict[str, Any]:
        """What the page is made from."""
        runs = [self.eager.to_dict(), self.compiled.to_dict()]
        return {
            "kind": "comparison",
            "title": self.name,
            "verdict": self.verdict(),
            "agree": self.agree,
            "runs": runs,
        }

    def save(self, path: str | PathLike[str]) -> None:
        """A name that ends in .html gets a page with both on one axis, of time and of memory traffic; one that ends in .json what
        chrome://tracing and ui.perfetto.dev open: two processes."""
        _endings.check(path, _endings.PAGE_OR_TRACE, "a comparison")
        if not _endings.is_page(path):
            _pages.write(path, self._trace())
            return
        page = _pages.page(
            f"{self.name}: eager and compiled",
            self.to_dict(),
            scripts=["chart.js", "profile.js"],
            styles=["profile.css"],
            text=self.text(width=_PAGE_WIDTH),
        )
        _pages.write(path, page)

    def _trace(self) -> str:
        entries = []
        for process, run in enumerate((self.eager, self.compiled), 1):
            for entry in json.loads(run.profile._result().to_chrome_trace())["traceEvents"]:
                entry["pid"] = process
                if entry["name"] == "process_name":
                    entry["args"]["name"] = run.label
                entries.append(entry)
        # A line for each, so that what is left of a file that was cut off can be read.
        lines = ",\n".join(map(json.dumps, entries))
        return f'{{"displayTimeUnit":"ns","traceEvents":[\n{lines}\n]}}\n'

    def draw(self) -> Picture:
        """A picture of both on one axis, of time and of memory traffic, for a notebook or to `save` as SVG."""
        from ._pictures.comparison import comparison_picture

        return comparison_picture(self)

    def _repr_svg_(self) -> str:
        return self.draw().svg

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self, *, width: int | None = None) -> str:
        """What `print` shows; as wide as the terminal unless said otherwise."""
        width = width_of(sys.stdout) if width is None else width
        chart = _Chart(self, width)
        parts = [f"{self.name}: {self.verdict()}"]
        for run in () if self.is_empty else (self.eager, self.compiled):
            parts.append("")
            parts.append(
                f"{run.label}: {_format.plural(len(run.kernels), 'kernel')}, {_format.time_text(run.ns / 1e9)}, "
                f"{_format.bytes_text(run.bytes)} moved"
            )
            parts += chart.bars(run)
        if not self.agree:
            parts.append("\nThe results differ.")
        lines = "\n".join(parts).splitlines()
        return "\n".join(line for one in lines for line in _wrapped(one, width))

    def verdict(self, digits: int = 2) -> str:
        """What compiling is worth, in words."""
        if self.is_empty:
            return f"{self.compiled.explanation._native.headline}; there is nothing to compare"
        if not self.compiled.kernels:
            return "compiled, nothing is left to run"
        return f"{self.speedup:.{digits}f} times as fast, {self._traffic_text(digits)}"

    def _traffic_text(self, digits: int) -> str:
        eager, compiled = self.eager.bytes, self.compiled.bytes
        if not compiled:
            return "no memory traffic is left" if eager else "without memory traffic"
        times = f"{max(eager, compiled) / max(1, min(eager, compiled)):.{digits}f}"
        if float(times) == 1:
            return "the same memory traffic"
        return f"{times} times {'less' if eager > compiled else 'as much'} memory traffic"


class _Chart:
    """The kernels of a comparison as bars, on an axis that both runs share, and what there is room for beside them."""

    def __init__(self, comparison: Comparison, width: int) -> None:
        runs = (comparison.eager, comparison.compiled)
        shown = [kernel for run in runs for kernel in _longest(run.kernels)]
        self._all_of_it = max(*(run.ns for run in runs), 1)
        names = max((len(kernel.name) for kernel in shown), default=0)
        # Bars give way first, down to a few columns, then what is moved, then names, then what is left of the bars.
        self._has_bytes = width >= 2 + _LEAST_NAME + 2 + _LEAST_COLUMNS + 2 * _FIGURE
        figures = 2 * _FIGURE if self._has_bytes else _FIGURE
        self._columns = max(0, min(_COLUMNS, width - 4 - min(names, _MOST_NAME) - figures))
        if self._columns < _LEAST_COLUMNS:
            self._columns = _LEAST_COLUMNS if width >= 2 + _LEAST_NAME + 2 + _LEAST_COLUMNS + figures else 0
        gap = 2 if self._columns else 0
        self._names = max(1, min(names, _MOST_NAME, width - 2 - gap - self._columns - figures))

    def bars(self, run: Run) -> list[str]:
        shown = _longest(run.kernels)
        lines = [self._bar(run, kernel) for kernel in shown]
        if left := len(run.kernels) - len(shown):
            rest = sum(map(_length, run.kernels)) - sum(map(_length, shown))
            lines.append(f"  and {left} that took less, {_format.time_text(rest / 1e9)} together")
        return lines

    def _bar(self, run: Run, kernel: _native.ProfileEvent) -> str:
        line = f"  {_short(kernel.name, self._names):{self._names}}"
        if self._columns:
            begin = round((kernel.start_ns - run.kernels[0].start_ns) / self._all_of_it * self._columns)
            length = max(1, round(_length(kernel) / self._all_of_it * self._columns))
            bar = (" " * min(begin, self._columns - 1) + "█" * length)[: self._columns]
            line += f"  {bar:{self._columns}}"
        line += f"  {_format.time_text(_length(kernel) / 1e9):>8}"
        if self._has_bytes:
            line += f"  {_format.bytes_text(kernel.bytes_read + kernel.bytes_written):>8}"
        return line


def compare(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Comparison:
    """What `tk.compare` says."""
    given_one: Any = f
    is_jitted = isinstance(f, _native.JitCallable)
    function = given_one.__wrapped__ if is_jitted else f
    options = given_one.options._asdict() if is_jitted else {}
    kinds = {
        "one kernel per operation": jit(function, **{**options, "fuse": False, "optimize": False}),
        "compiled": jit(function, **options),
    }
    name = _format.printable(getattr(function, "__name__", type(function).__name__))
    with Progress(f"running {name} both ways") as progress:
        return _compared(name, kinds, (args, kwargs), progress)


def _compared(name: str, kinds: dict[str, Any], given: tuple[Any, Any], progress: Progress) -> Comparison:
    args, kwargs = given
    agree, writes = _tried(kinds, given)
    if not writes:  # as they lie in memory, which copies may not: compiles for that
        for kind in kinds.values():
            kind(*args, **kwargs)
    best: dict[str, Profile] = {}
    end = time.perf_counter() + _SECONDS
    turn = 0
    # Each goes first in every other turn: what one leaves in the caches helps neither more.
    while turn < _LEAST_TURNS or time.perf_counter() < end:
        turn += 1
        progress.say(f"running {name} both ways, turn {turn}")
        for label, kind in sorted(kinds.items(), reverse=turn % 2 == 0):
            own = copy.deepcopy(given) if writes else given
            with profile() as recorded:
                kind(*own[0], **own[1])
            if label not in best or _kernel_time(recorded) < _kernel_time(best[label]):
                best[label] = recorded
    eager, compiled = (
        Run(label, best[label], kind.explain(*args, **kwargs)) for label, kind in kinds.items()
    )
    return Comparison(name, eager, compiled, agree)


def _tried(kinds: dict[str, Any], given: tuple[Any, Any]) -> tuple[bool, bool]:
    """Whether all give the same, and whether they write to the arguments. Nothing of that is left when they are timed: runs find the
    memory that the others have used, too."""
    results = []
    for kind in kinds.values():
        own = copy.deepcopy(given)
        results.append((kind(*own[0], **own[1]), own))
    return same_results(*results), not same_results(given, results[-1][1])


def _kernel_time(recorded: Profile) -> int:
    kernels = recorded.kernels
    return max(kernel.end_ns for kernel in kernels) - kernels[0].start_ns if kernels else 0


def same_results(a: Any, b: Any) -> bool:
    """Whether two structures of results are equal, but for what sums in another order differ by."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_results(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_results, a, b))
    if not isinstance(a, (np.ndarray, np.generic, Array)):
        return not isinstance(a, (int, float, complex, str, bytes)) or bool(a == b)
    left, right = np.asarray(a), np.asarray(b)
    if left.dtype.kind in "biu":
        return np.array_equal(left, right)
    tolerance = {2: 1e-2, 4: 1e-4}.get(left.dtype.itemsize, 1e-8)
    left, right = left.astype(np.float64), right.astype(np.float64)
    return np.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def _ratio(before: float, after: float) -> float:
    return before / after if after else math.inf if before else 1.0


def _length(kernel: _native.ProfileEvent) -> int:
    return kernel.end_ns - kernel.start_ns


def _longest(kernels: list[_native.ProfileEvent]) -> list[_native.ProfileEvent]:
    """As many as are shown, in the order in which they ran."""
    least = sorted(map(_length, kernels), reverse=True)[:_MOST_ROWS][-1:]
    return [kernel for kernel in kernels if _length(kernel) >= least[0]][:_MOST_ROWS]


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _wrapped(line: str, width: int) -> list[str]:
    """Sentences go on in the next line; bars, which are no wider, stay as they are."""
    return [line] if len(line) <= width else textwrap.wrap(line, width, break_on_hyphens=False)
