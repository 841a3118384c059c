"""The page of an explanation, and what a notebook shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _measure, _native
from .._explanation_text import kernel_table, notes_of, shown_file
from .._pictures import graph
from .._progress import Progress
from .._source import lines_of
from . import escape, page
from .code import Codes

if TYPE_CHECKING:
    from .._explanation import Explanation

__all__ = ["contents", "notebook_html", "page_of"]

_AROUND = 3  # lines of the user's that are shown above and below those that count
_APART = 12  # lines that may be left out between those that are shown
_MOST_LINES = 500  # of a text in a notebook, which keeps it


def page_of(e: Explanation) -> str:
    return page(
        f"{e.name}: what Tokamak made of it",
        contents(e),
        scripts=["layout.js", "graph.js", "memory.js", "report.js"],
        styles=["report.css"],
        text=e.text(width=100, colour=False),
    )


def contents(e: Explanation) -> dict[str, Any]:
    """Everything on the page."""
    with Progress("making the code of kernels") as progress:
        kernels, codes = _kernels(e, progress)
    measured, traced, operations = e.measured, e.traced, e.operations
    return {
        "kind": "explanation",
        "version": _native.__version__,
        "name": e.name,
        "running": e._native.running,
        "purpose": e._native.purpose,
        "threads": _native.num_threads(),
        "graph": e.graph,
        "optimized": e.optimized,
        "kernels": kernels,
        "codes": codes,
        "operations": [_operation(one, operations) for one in operations],
        "traced": [
            {**_operation(one, traced), "becomes": one.becomes, "done_by": one.done_by} for one in traced
        ],
        "dead": e._native.dead,
        "passes": [_fields(one, _PASS) for one in e.passes],
        "refused": [{**_fields(one, _REFUSED), "line": _line(one.line)} for one in e.refused],
        "memory": {
            **_fields(
                e.memory, ("peak_bytes", "naive_bytes", "arena_bytes", "output_bytes", "scratch_bytes")
            ),
            "buffers": [_fields(one, _BUFFER) for one in e.memory.buffers],
        },
        "layouts": [_fields(one, ("value", "kernel", "decision", "bytes_copied")) for one in e.layouts],
        "times": [_fields(one, ("stage", "milliseconds")) for one in e.times],
        "sources": _sources(e),
        "measured": None
        if measured is None
        else {
            "runs": measured.runs,
            "seconds": measured.seconds,
            "kernel_seconds": measured.kernel_seconds,
            "share": measured.share,
            "how": measured.how(),
            "roofline": _roofline(measured.roofline),
        },
    }


_PASS = (
    "name",
    "summary",
    "round",
    "milliseconds",
    "operations_before",
    "operations_after",
    "changed",
    "graph",
)
_REFUSED = ("producer", "consumer", "reason", "times", "producer_operation", "consumer_operation")
_BUFFER = ("name", "bytes", "first_kernel", "last_kernel", "place", "at", "in_place_of")
_KERNEL = (
    "name",
    "ops",
    "bytes_read",
    "bytes_written",
    "flops",
    "operations",
    "reads",
    "writes",
    "dtype",
    "tasks",
    "step",
)


def _fields(report: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(report, name) for name in names}


def _line(line: _native.SourceLocation) -> dict[str, Any] | None:
    if not line.file:
        return None
    return {"file": shown_file(line.file), "line": line.line, "function": line.function}


def _operation(one: _native.OperationReport, all_of_them: list[_native.OperationReport]) -> dict[str, Any]:
    names = (
        "name",
        "op",
        "text",
        "type",
        "bytes",
        "inputs",
        "is_view",
        "is_output",
        "is_dead",
        "is_written",
        "kernels",
    )
    label = graph.first_line(one, all_of_them)
    return {**_fields(one, names), "label": label, "line": _line(one.line)}


def _kernels(e: Explanation, progress: Progress) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Kernels, and their code."""
    kernels = []
    codes = Codes(progress)
    for i, kernel in enumerate(e.kernels):
        took = e.measured.kernels[i] if e.measured else None
        kernels.append(
            {
                **_fields(kernel, _KERNEL),
                "lines": [_line(line) for line in kernel.lines],
                "code": codes.of(kernel),
                "predicted_seconds": _measure.predicted_seconds(kernel, e.measured),
                "measured": took
                and {
                    "seconds": took.seconds,
                    "bound_seconds": took.bound_seconds,
                    "limit": took.limit,
                    "rate": took.rate,
                    "share": took.share,
                },
            }
        )
    return kernels, codes.all


def _roofline(roof: _native.Roofline) -> dict[str, Any]:
    levels = [_fields(level, ("name", "bytes", "bytes_per_second")) for level in roof.levels]
    return {**_fields(roof, ("threads", "f32_flops", "f64_flops")), "levels": levels}


def _sources(e: Explanation) -> list[dict[str, Any]]:
    """The user's lines that operations come from, with some around them, where the files can be read."""
    wanted: dict[str, set[int]] = {}
    for one in e.traced:
        if one.line.file:
            wanted.setdefault(one.line.file, set()).add(one.line.line)
    sources = []
    for file, numbers in wanted.items():
        text = lines_of(file)
        runs: list[tuple[int, int]] = []
        for number in sorted(numbers):
            first, last = max(1, number - _AROUND), min(len(text), number + _AROUND)
            if runs and first <= runs[-1][1] + _APART:
                runs[-1] = (runs[-1][0], last)
            elif first <= last:
                runs.append((first, last))
        parts = [
            {"first": first, "lines": [line.rstrip("\n") for line in text[first - 1 : last]]}
            for first, last in runs
        ]
        sources.append({"file": shown_file(file), "parts": parts})
    return sources


# ---- In a notebook: no scripts, so that it is there wherever the notebook is shown.

_STYLE = (
    "<style>.tokamak table{border-collapse:collapse;margin:.4em 0}.tokamak th,.tokamak td{padding:.15em .8em;text-align:right;"
    "border-bottom:1px solid #8886}.tokamak th:first-child,.tokamak td:first-child{text-align:left}"
    ".tokamak .soft{opacity:.75}.tokamak pre{max-height:30em;overflow:auto}</style>"
)


def notebook_html(e: Explanation) -> str:
    head = f"<b>{escape(e.name)}</b>: {escape(e._native.headline)}"
    listed = "".join(f"<div class='soft'>{escape(f'{name}: {text}')}</div>" for name, text in notes_of(e))
    details = [_details("graph, as traced", e.graph), _details("graph, after the passes", e.optimized)]
    details += [_details(f"loops of {kernel.name}", kernel.loops) for kernel in kernel_table(e)[0]]
    details.append(_details("memory plan", e.memory.plan))
    drawn = graph.graph_picture(e).as_image() if len(e.traced) <= graph.MOST_OPERATIONS else ""
    return f"<div class='tokamak'>{_STYLE}<div>{head}</div>{_table(e)}{drawn}{listed}{''.join(details)}</div>"


def _details(name: str, text: str) -> str:
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        text = "\n".join([*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more lines"])
    return f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"


def _table(e: Explanation) -> str:
    kernels, columns, left = kernel_table(e)
    if not kernels:
        return ""
    heads = "".join(f"<th>{head}</th>" for head in ("kernel", *columns))
    rows = [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (kernel.name, *cells)) + "</tr>"
        for kernel, *cells in zip(kernels, *columns.values(), strict=True)
    ]
    more = f"<div class='soft'>and {left} more</div>" if left else ""
    return f"<table><tr>{heads}</tr>{''.join(rows)}</table>{more}"
