"""tokamak explain: what the compiler makes of a function."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .. import _endings
from .._explanation import Explanation
from .._jit import jit
from . import output, target, text_ir
from .failure import usage_error

NAME = "explain"
SUMMARY = "show what the compiler makes of a function, or of a text IR file"
ABOUT = """Compiles a function for the arguments and shows what became of it: kernels, memory, fusions refused, times.

  tokamak explain script.py:function --args "f32[1024,1024], f32[1024]"
  tokamak explain script.py:function --args "f32[1024]" --show loops,asm
  tokamak explain script.py:function --args "f32[1024]" -o report.html
  tokamak explain script.py:Model.forward --args "f32[64,128]"
  tokamak explain file.tok --show llvm
  tokamak explain file.tok -o report.html

A file of text IR (.tok, or - for the standard input) takes --no-fuse, --show, --summary, --json and -o; it is shown as graphs of
its kernels where none of the last four is given. With -o it has one function, which is run on made-up numbers and shown as a
function of Python is."""

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
    if text_ir.is_text(options.target):
        explanation, arguments = text_ir.explain(options)
    else:
        found = target.find(options, is_called=bool(options.output))
        jitted = found.jitted
        if options.no_fuse:
            jitted = jit(found.function, **{**jitted.options._asdict(), "fuse": False})
        with target.failures_of(found.name):
            explanation = jitted.explain(*found.given.args, **found.given.kwargs)
        explanation.name, arguments = found.name, found.given.text
    if options.output:
        explanation.measure()  # the text has the times, too
    with output.saving(options, explanation.save):
        if options.json:
            data = _data(explanation, arguments, shown)
            output.print_json([data] if text_ir.is_text(options.target) else data)
        else:
            output.print_text(f"{explanation.name}({arguments})\n{explanation}".rstrip())
            _print_parts(explanation, shown)


def _data(explanation: Explanation, arguments: str, shown: list[str]) -> dict[str, Any]:
    """All that the text has."""
    data = json.loads(explanation._native.to_json(explanation.name, shown))
    data = {"function": data.pop("function"), "arguments": arguments, **data}
    if measured := explanation.measured:
        for kernel, took in zip(data["kernels"], measured.kernels, strict=True):
            kernel["measured"] = took and {**vars(took), "share": took.share}
        data["measured"] = {
            "runs": measured.runs,
            "seconds": measured.seconds,
            "kernel_seconds": measured.kernel_seconds,
            "share": measured.share,
        }
    return data


def _print_parts(explanation: Explanation, shown: list[str]) -> None:
    for kernel in explanation.kernels:
        for word in shown:
            if word != "memory":
                output.print_text(f"\n{word} of {kernel.name}\n{getattr(kernel, word).rstrip()}")
    if "memory" in shown:
        output.print_text(f"\nmemory\n{explanation.memory.plan.rstrip()}")
