"""tokamak compare: one kernel per operation against compiled."""

from __future__ import annotations

import argparse
import math

from .. import _endings
from .._compare import Run
from .._profile import compare as compare_function
from . import output, target

NAME = "compare"
SUMMARY = "run a function one kernel per operation and compiled, on one axis"
ABOUT = """Shows what compiling is worth: the kernels of both runs, their times and their memory traffic on one axis.

  tokamak compare script.py:function --args "f32[4000000], f32[4000000]" -o comparison.html"""


def add_options(parser: argparse.ArgumentParser) -> None:
    target.add_options(parser)
    output.add_json(parser)
    output.add_output(parser, "save it: .html is a page, .json for Chrome and Perfetto")


def run(options: argparse.Namespace) -> None:
    output.check_output(options, _endings.PAGE_OR_TRACE)
    found = target.find(options)
    with target.failures_of(found.name):
        comparison = compare_function(found.jitted, *found.given.args, **found.given.kwargs)
    with output.saving(options, comparison.save):
        if options.json:
            output.print_json(
                {
                    "function": found.name,
                    "arguments": found.given.text,
                    "eager": _data(comparison.eager),
                    "compiled": _data(comparison.compiled),
                    "speedup": comparison.speedup if math.isfinite(comparison.speedup) else None,
                    "agree": comparison.agree,
                }
            )
        else:
            output.print_text(comparison)


def _data(one: Run) -> dict[str, object]:
    return {
        "kernels": [kernel.name for kernel in one.kernels],
        "ns": one.ns,
        "bytes": one.bytes,
        "flops": one.flops,
    }
