"""A few of the cheapest ratios to NumPy, in seconds: a guard against a collapse of speed, not a benchmark.

It reports the ratios, and fails only where one falls below a quarter or so of what it usually is, or an
answer is wrong. The two take turns, and the best turn of each counts, so that other work on the machine hits
both.

    python bench/guard.py [--seconds S]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tokamak as tk
from turns import turn
from workloads import elementwise, reductions, rows
from workloads.model import TOLERANCE, Workload, as_list


@dataclass(frozen=True)
class Watched:
    workload: Workload
    usual: float  # the ratio on a quiet machine
    least: float  # below it something has collapsed


SOFTMAX = rows.PROGRAMS["softmax"]
LAYER_NORM = rows.PROGRAMS["layer-norm"]

WATCHED = [
    Watched(elementwise.activation(16), usual=12, least=3),
    Watched(elementwise.activation(16 << 10), usual=4, least=1),
    Watched(elementwise.activation(1 << 20), usual=7, least=1.5),
    Watched(elementwise.fused_sum(1 << 20), usual=6, least=1.5),
    Watched(reductions.growing_sum(1 << 20), usual=2.5, least=0.5),
    Watched(rows.make(SOFTMAX, 1024, 1024, name="softmax"), usual=7, least=1.5),
    Watched(rows.make(LAYER_NORM, 1024, 1024, name="layer-norm"), usual=8, least=1.5),
]


class WrongAnswerError(Exception):
    pass


def check(workload: Workload, results: Any, inputs: list[np.ndarray]) -> None:
    for got, want in zip(as_list(results), workload.make_answer(inputs), strict=True):
        got = np.asarray(got)
        tolerance = workload.tolerance or TOLERANCE.get(got.dtype, 0.0)
        error = float(np.abs(got - want).max() / np.abs(want).max())
        if got.shape != want.shape or not error <= tolerance:
            raise WrongAnswerError(f"{workload.title}, {workload.data}: off by {error:.2e}")


def ratio(workload: Workload, seconds: float) -> float:
    """NumPy's time over Tokamak's."""
    inputs = workload.make_inputs()
    calls: dict[str, Callable[[], Any]] = {
        "tokamak": partial(tk.jit(workload.function), *inputs),
        "numpy": partial(workload.function, *inputs),
    }
    check(workload, calls["tokamak"](), inputs)
    best = dict.fromkeys(calls, float("inf"))
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, call in calls.items():
            best[name] = min(best[name], turn(call, 0.01)[0])
    return best["numpy"] / best["tokamak"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.4, help="for each ratio (%(default)s)")
    seconds = parser.parse_args().seconds
    collapsed = []
    for one in WATCHED:
        name = f"{one.workload.title}, {one.workload.data}"
        found = ratio(one.workload, seconds)
        if found < one.least:  # look again, longer, before anybody is woken
            found = max(found, ratio(one.workload, 5 * seconds))
        expected = f"usually {one.usual:g}, at least {one.least:g}"
        print(f"{name.ljust(40)}{found:6.1f} x NumPy   {expected}", flush=True)
        if found < one.least:
            collapsed.append(name)
    if collapsed:
        print(f"COLLAPSED: {'; '.join(collapsed)}", file=sys.stderr)
        return 1
    print(f"{len(WATCHED)} ratios as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
