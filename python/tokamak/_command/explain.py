"""tokamak explain: what the compiler makes of a function."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _endings, _native
from .._jit import jit
from . import output, target
from .failure import usage_error

NAME = "explain"
SUMMARY = "show what the compiler makes of a function, or of a text IR file"
ABOUT = """Compiles a function for the arguments and shows what became of it: kernels, memory, fusions refused, times.

  tokamak explain script.py:function --args "f32[1024,1024], f32[1024]"
  tokamak explain script.py:function --args "f32[1024]" --show loops,asm
  tokamak explain script.py:function --args "f32[1024]" -o report.html
  tokamak explain file.tok --show llvm

A file of text IR (.tok, or - for the standard input) takes --no-fuse, --show, --summary and --json; it is shown as graphs of
its kernels where neither of the last three is given."""

_SHOWN = ("graph", "schedule", "loops", "llvm", "asm", "memory")


def add_options(parser: argparse.ArgumentParser) -> None:
    target.add_options(parser, what="script.py:function, module:function or file.tok")
    parser.add_argument("--no-fuse", action="store_true", help="one kernel per operation")
    parser.add_argument(
        "--show",
        metavar="WHAT",
        default="",
        help=f"a list: {', '.join(_SHOWN)}; of each kernel, but for memory",
    )
    parser.add_argument(
        "--summary",
        action="store_true",
        help="kernels, traffic, memory and times in a few lines; of a function that is always shown",
    )
    output.add_json(parser)
    output.add_output(parser, "write the report as a page, report.html")


def run(options: argparse.Namespace) -> None:
    shown = [word for word in options.show.split(",") if word]
    for word in shown:
        if word not in _SHOWN:
            raise usage_error(f"--show: there is no '{word}'; choose from {', '.join(_SHOWN)}")
    output.check_output(options, _endings.PAGE)
    found = target.find(options, is_called=bool(options.output))
    jitted = found.jitted
    if options.no_fuse:
        jitted = jit(found.function, **{**jitted.options._asdict(), "fuse": False})
    with target.failures_of(found.name):
        explanation = jitted.explain(*found.given.args, **found.given.kwargs)
    if options.output:
        explanation.measure()  # the text has the times, too
    with output.saving(options, explanation.save):
        if options.json:
            data = {"function": found.name, "arguments": found.given.text, **_data(explanation, shown)}
            output.print_json(data)
        else:
            output.print_text(f"{found.text}\n{explanation}".rstrip())
            _print_parts(explanation, shown)


def _data(explanation: Any, shown: list[str]) -> dict[str, Any]:
    memory = explanation.memory
    plan = {"plan": memory.plan} if "memory" in shown else {}
    return {
        "kernels": [
            {
                "name": kernel.name,
                "ops": kernel.ops,
                "bytes_read": kernel.bytes_read,
                "bytes_written": kernel.bytes_written,
                "flops": kernel.flops,
                "lines": [f"{line.file}:{line.line}" for line in kernel.lines],
                **{word: getattr(kernel, word) for word in shown if word != "memory"},
            }
            for kernel in explanation.kernels
        ],
        "memory": {
            "peak_bytes": memory.peak_bytes,
            "naive_bytes": memory.naive_bytes,
            "arena_bytes": memory.arena_bytes,
            "output_bytes": memory.output_bytes,
            "scratch_bytes": memory.scratch_bytes,
            **plan,
        },
        "refused": [
            {"producer": one.producer, "consumer": one.consumer, "reason": one.reason}
            for one in explanation.refused
        ],
        "times": {time.stage: time.milliseconds for time in explanation.times},
    }


def _print_parts(explanation: _native.Explanation, shown: list[str]) -> None:
    for kernel in explanation.kernels:
        for word in shown:
            if word != "memory":
                output.print_text(f"\n{word} of {kernel.name}\n{getattr(kernel, word).rstrip()}")
    if "memory" in shown:
        output.print_text(f"\nmemory\n{explanation.memory.plan.rstrip()}")
