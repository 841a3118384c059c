"""What `f.explain(...)` gives: everything the compiler did, as data, as text, in a notebook and as a page."""

from __future__ import annotations

import sys
from os import PathLike
from typing import TYPE_CHECKING, Literal

from . import _assembly, _endings, _explanation_text, _measure, _native, _terminal
from ._errors import UserValueError, fail
from ._progress import Progress

if TYPE_CHECKING:
    from ._pictures import Picture

__all__ = ["Explanation"]


class Explanation:
    """What a function compiles to for some arguments.

    `print(e)` shows it in short, `e.save("report.html")` writes a page that shows all of it. It holds on to the arguments, so that
    `measure` can run the program on them.
    """

    def __init__(self, native: _native.Explanation, name: str, runner: _measure.Runner) -> None:
        self._native = native
        self._runner = runner
        self.name = name
        self.measured: _measure.Measured | None = None

    @property
    def kernels(self) -> list[_native.KernelReport]:
        """In the order in which they run."""
        return self._native.kernels

    @property
    def graph(self) -> str:
        """The text IR, as traced."""
        return self._native.graph

    @property
    def optimized(self) -> str:
        """The text IR after the passes."""
        return self._native.optimized

    @property
    def traced(self) -> list[_native.OperationReport]:
        """The operations of `graph`."""
        return self._native.traced

    @property
    def operations(self) -> list[_native.OperationReport]:
        """The operations of `optimized`, with the kernels that compute them."""
        return self._native.operations

    @property
    def computed(self) -> list[_native.OperationReport]:
        """Those of `operations` that kernels compute: no arguments, numbers or views."""
        operations = self.operations
        return [operations[i] for i in self._native.computed]

    @property
    def dead(self) -> list[_native.OperationReport]:
        """What the function computes and nothing needs. Views, which cost nothing, and unused arguments are left out."""
        traced = self.traced
        return [traced[i] for i in self._native.dead]

    @property
    def passes(self) -> list[_native.PassReport]:
        """In the order in which they ran, with the text IR after those that changed something."""
        return self._native.passes

    @property
    def refused(self) -> list[_native.RefusedFusion]:
        """Fusions that were considered and not made."""
        return self._native.refused

    @property
    def memory(self) -> _native.MemoryReport:
        """The plan: where every value lives, and when."""
        return self._native.memory

    @property
    def layouts(self) -> list[_native.LayoutReport]:
        """How arrays are read and written where that is not simply in order, and what is copied."""
        return self._native.layouts

    @property
    def times(self) -> list[_native.StageTime]:
        """What compiling took, by stage."""
        return self._native.times

    @property
    def steps(self) -> list[str]:
        """The program: one line per step."""
        return self._native.steps

    def measure(self, seconds: float = 0.5) -> Explanation:
        """Runs the program on the arguments, for about that long and three times at least, and keeps the times in `measured`. Arguments that
        the function changes are copied first."""
        if not 0 <= seconds < float("inf"):
            fail(UserValueError, f"measure: {seconds!r} is no number of seconds that something could take")
        with Progress(f"measuring {self.name}"):
            self.measured = _measure.measure(self.kernels, self._runner, seconds)
        return self

    def text(self, *, width: int | None = None, colour: bool | None = None) -> str:
        """What `print` shows; width and colours are those of the terminal unless said otherwise."""
        return _explanation_text.render(
            self,
            _terminal.width_of(sys.stdout) if width is None else max(width, _terminal.LEAST_WIDTH),
            _terminal.wants_colour() if colour is None else colour,
        )

    def hot_loop(self, kernel: int = 0) -> str:
        """The assembly of the loop in which a kernel spends its time, as far as the code tells; of a kernel that is a routine of the
        library, such as a plain product or a sort, nothing."""
        asm = self.kernels[kernel].asm
        loops = _assembly.loops_of(asm)
        hot = _assembly.hot_loop(loops)
        return "" if hot is None else "\n".join(asm.splitlines()[loops[hot].first : loops[hot].last + 1])

    def draw(self, what: Literal["graph", "memory"] = "graph") -> Picture:
        """A picture for a notebook, or to `save` as SVG: the graph as traced, with kernels as boxes around the operations that they
        swallowed, or the memory plan over time."""
        from ._pictures import graph, memory

        if what not in ("graph", "memory"):
            raise ValueError(f"draw: there is no picture {what!r}; there are 'graph' and 'memory'")
        return graph.graph_picture(self) if what == "graph" else memory.memory_picture(self)

    def save(self, path: str | PathLike[str], *, measure: bool = True) -> None:
        """Writes a page that shows everything, in one file that needs no network; its name ends in .html. Measures first, unless that has been done or
        `measure` is False."""
        from ._pages import report, write

        _endings.check(path, _endings.PAGE, "a report")
        if measure and self.measured is None:
            self.measure()
        with Progress(f"writing {path}"):
            write(path, report.page_of(self))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from ._pages import report

        return report.notebook_html(self)
