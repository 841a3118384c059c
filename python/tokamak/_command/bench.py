"""tokamak bench: a function against its NumPy self."""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _format
from .._compare import same_results
from .._progress import Progress
from . import output, target
from .failure import INPUT_ERROR, OK, usage_error

NAME = "bench"
SUMMARY = "time a function against itself run by NumPy"
ABOUT = """Times a function, compiled and as NumPy runs it, in turns, after it has checked that both give the same results.

  tokamak bench script.py:function --args "f32[1024,1024], f32[1024]"

Exits with 1 when the results differ."""

_LEAST_TURNS = 3
_MOST_TURNS = 200
_SECONDS_OF_A_TURN = 0.02


def add_options(parser: argparse.ArgumentParser) -> None:
    target.add_options(parser)
    parser.add_argument(
        "--seconds", type=float, default=2.0, metavar="S", help="how long to measure; 2 otherwise"
    )
    output.add_json(parser)


def run(options: argparse.Namespace) -> int:
    if not 0 < options.seconds < 3600:
        raise usage_error("--seconds takes a positive number below 3600")
    found = target.find(options)
    with Progress(f"compiling {found.name}") as progress, target.failures_of(found.name):
        given = (found.given.args, found.given.kwargs)
        numpys, ours = copy.deepcopy(given), copy.deepcopy(given)
        start = time.perf_counter()  # first: what cannot be compiled may not come to an end either
        got = found.jitted(*ours[0], **ours[1])
        first = time.perf_counter() - start
        with np.errstate(all="ignore"):
            wanted = found.function(*numpys[0], **numpys[1])
        writes = not same_results(numpys, given)
        agree = same_results((got, ours), (wanted, numpys))
        times = _measure([found.function, found.jitted], given, writes, options.seconds, progress)
    numpy, compiled = ({"best": min(one), "median": statistics.median(one)} for one in times)
    faster = numpy["best"] / compiled["best"]
    if options.json:
        names = {"function": found.name, "arguments": found.given.text}
        measured = {"numpy": numpy, "tokamak": compiled, "first_call": first, "turns": len(times[0])}
        output.print_json({**names, **measured, "speedup": faster, "agree": agree})
    else:
        output.print_text(found.text)
        for label, one in (("NumPy", numpy), ("Tokamak", compiled)):
            best, median = _format.time_text(one["best"]), _format.time_text(one["median"])
            output.print_text(f"  {label:8} {best:>9}   (the best of {len(times[0])} turns; median {median})")
        output.print_text(
            f"  {faster:.2f} times as fast as NumPy; the first call took {_format.time_text(first)}"
        )
        output.print_text("  the results agree" if agree else "  THE RESULTS DIFFER")
    return OK if agree else INPUT_ERROR


def _measure(
    functions: list[Callable[..., Any]], given: Any, writes: bool, seconds: float, progress: Progress
) -> list[list[float]]:
    """The time of a call of each, in seconds, turn by turn. Arguments that are written to are copied before every call."""
    times: list[list[float]] = [[] for _ in functions]
    end = time.perf_counter() + seconds
    while len(times[0]) < _LEAST_TURNS or (time.perf_counter() < end and len(times[0]) < _MOST_TURNS):
        progress.say(f"timing, turn {len(times[0]) + 1}")
        for function, own in zip(functions, times, strict=True):
            own.append(_turn(function, given, writes))
    return times


def _turn(function: Callable[..., Any], given: Any, writes: bool) -> float:
    """The best of the calls that fit into a turn: one at least."""
    end = time.perf_counter() + _SECONDS_OF_A_TURN
    best = float("inf")
    with np.errstate(all="ignore"):
        while best == float("inf") or time.perf_counter() < end:
            args, kwargs = copy.deepcopy(given) if writes else given
            start = time.perf_counter()
            function(*args, **kwargs)
            best = min(best, time.perf_counter() - start)
    return best
