"""What text IR compiles to, where that is shown as a function of Python is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import _native
from .._explanation import Explanation
from .._measure import Runner
from . import arguments, output
from .failure import Failure, usage_error

__all__ = ["explain", "is_text"]


def is_text(target: str) -> bool:
    return target == "-" or target.endswith(".tok")


def explain(options: argparse.Namespace) -> tuple[Explanation, str]:
    """The explanation of the one function of a file, which is there to be run on made-up numbers, and the types of these."""
    if options.args:
        raise usage_error("--args is for functions of Python: text IR has its types")
    called = "<stdin>" if options.target == "-" else output.printable(options.target)
    graphs = _native.parse(_read(options.target), called)
    if len(graphs) != 1:
        names = ", ".join(f"@{graph.name}" for graph in graphs) or "none"
        raise Failure(f"-o: a page shows one function, and {options.target} has {len(graphs)}: {names}")
    (graph,) = graphs
    given = arguments.parse(", ".join(graph.parameter_types), options.seed)
    leaves = list(given.args)
    table = _native.CallTable(1)
    table.compile(
        hot=None,
        leaves=leaves,
        graph=graph,
        fuse=not options.no_fuse,
        optimize=True,
        fast_math=False,
        donated=[],
        written=[],
        taken=[],
        form="tuple",
        build=None,
        statics=[],
        guards=None,
        known=[],
        orders=_in_rows(graph.output_types),
        tracing=None,
        called=graph.name,
    )
    compiled = table.explanation(leaves)
    assert compiled is not None
    return Explanation(compiled, graph.name, Runner(table, leaves, changes_arguments=False)), given.text


def _in_rows(types: Sequence[str]) -> list[list[int]]:
    """The axes of arrays of these types, as they follow in memory."""
    shapes = [one.partition("[")[2].rstrip("]") for one in types]
    return [list(range(len(shape.split(",")) if shape else 0)) for shape in shapes]


def _read(place: str) -> bytes:
    if place == "-":
        return sys.stdin.buffer.read()
    try:
        with open(place, "rb") as file:
            return file.read()
    except OSError as error:
        raise Failure(f"cannot open {place}: {error.strerror}") from None
