"""Four programs, compiled and timed against NumPy, eager execution and one kernel per operation.

Every answer is compared with NumPy's before a time is printed. Times are medians over rounds in which the
contestants take turns, so that a disturbance of the machine hits all of them.

    python bench/demo.py [--json FILE] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tokamak as tk
from tables import Column, bold, bytes_text, dim, green, machine, ms_text, print_table, table_width

# The programs: plain NumPy functions.


def relu_sum(w, x, b):
    return np.maximum(w * x + b, 0).sum()


def sin_cos(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)


def ratio(a, b):
    return np.exp(a) / (np.exp(b) + 1)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@dataclass
class Workload:
    title: str
    function: Callable[..., Any]
    dtype: type
    shape: tuple[int, ...]
    arguments: int
    tolerance: float  # relative to the largest magnitude of NumPy's answer
    low: float = -2.0
    high: float = 2.0

    @property
    def data(self) -> str:
        name = {np.float32: "f32", np.float64: "f64"}[self.dtype]
        size = f"{self.shape[0] // 1_000_000}M" if len(self.shape) == 1 else "x".join(map(str, self.shape))
        return f"{name} {size}"

    def make(self) -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        kind = np.dtype(self.dtype)
        return [
            rng.random(self.shape, kind) * kind.type(self.high - self.low) + kind.type(self.low)
            for _ in range(self.arguments)
        ]


WORKLOADS = [
    Workload("relu(w*x+b).sum()", relu_sum, np.float64, (8_000_000,), 3, 1e-12),
    Workload("relu((sin(x)*cos(y)+x)*y)", sin_cos, np.float32, (16_000_000,), 2, 1e-6, -10, 10),
    Workload("exp(a)/(exp(b)+1)", ratio, np.float32, (16_000_000,), 2, 1e-6),
    Workload("softmax(x, axis=-1)", softmax, np.float32, (4096, 4096), 1, 1e-6, -5, 5),
]

CONTESTANTS = ["numpy", "eager", "unfused", "fused"]


@dataclass
class Result:
    title: str
    data: str
    ms: dict[str, float] = field(default_factory=dict)
    quartiles_ms: dict[str, tuple[float, float]] = field(default_factory=dict)
    rounds: int = 0
    kernels: dict[str, int] = field(default_factory=dict)
    bytes_moved: dict[str, int] = field(default_factory=dict)
    memory_planned: int = 0
    memory_naive: int = 0
    first_call_ms: float = 0
    compile_ms: float = 0
    gigabytes_per_second: float = 0
    speedup: dict[str, float] = field(default_factory=dict)


class WrongAnswerError(Exception):
    pass


def check(workload: Workload, contestant: str, got: Any, want: np.ndarray) -> None:
    got = np.asarray(got)
    if got.dtype != want.dtype or got.shape != want.shape:
        raise WrongAnswerError(
            f"{workload.title}: {contestant} gives {got.dtype}{got.shape}, NumPy {want.dtype}{want.shape}"
        )
    scale = max(float(np.abs(want).max()), 1e-30)
    error = float(np.abs(got - want).max()) / scale
    if not error <= workload.tolerance:
        raise WrongAnswerError(f"{workload.title}: {contestant} is off by {error:.2e} of the largest element")


def measure(workload: Workload, seconds: float) -> tuple[Result, Any]:
    """Checks, then times. Also returns what the fused program is."""
    arguments = workload.make()
    arrays = [tk.asarray(a) for a in arguments]
    fused = tk.jit(workload.function)
    unfused = tk.jit(workload.function, fuse=False)
    calls: dict[str, Callable[[], Any]] = {
        "numpy": lambda: workload.function(*arguments),
        "eager": lambda: workload.function(*arrays),
        "unfused": lambda: unfused(*arguments),
        "fused": lambda: fused(*arguments),
    }
    result = Result(workload.title, workload.data)

    start = time.perf_counter()
    first = fused(*arguments)
    result.first_call_ms = (time.perf_counter() - start) * 1e3
    want = np.asarray(calls["numpy"]())
    check(workload, "fused", first, want)
    del first
    for name in ("eager", "unfused"):
        check(workload, name, calls[name](), want)
    del want

    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    deadline = time.perf_counter() + seconds
    while result.rounds < 5 or (time.perf_counter() < deadline and result.rounds < 100):
        for name in CONTESTANTS:
            start = time.perf_counter()
            answer = calls[name]()
            times[name].append((time.perf_counter() - start) * 1e3)
            del answer
        result.rounds += 1
    for name, all_times in times.items():
        low, middle, high = statistics.quantiles(all_times, n=4)
        result.ms[name] = middle
        result.quartiles_ms[name] = (low, high)
    result.speedup = {name: result.ms[name] / result.ms["fused"] for name in CONTESTANTS[:-1]}

    explanation = fused.explain(*arguments)
    for name, e in (("fused", explanation), ("unfused", unfused.explain(*arguments))):
        result.kernels[name] = len(e.steps)
        result.bytes_moved[name] = sum(k.bytes_read + k.bytes_written for k in e.kernels)
    result.memory_planned = explanation.memory.peak_bytes
    result.memory_naive = explanation.memory.naive_bytes
    result.compile_ms = sum(stage.milliseconds for stage in explanation.times)
    result.gigabytes_per_second = result.bytes_moved["fused"] / result.ms["fused"] / 1e6
    return result, explanation


def measure_overhead() -> dict[str, float]:
    """Nanoseconds of a call on 16 elements, six operations, where all that counts is what a call costs."""
    x, y = (np.linspace(0.1, 1, 16, dtype=np.float32) for _ in range(2))
    fused = tk.jit(sin_cos)
    np.testing.assert_allclose(fused(x, y), sin_cos(x, y), rtol=1e-6)
    counts = {"fused": 20_000, "numpy": 4_000}
    timers = {
        "fused": timeit.Timer("f(x, y)", globals={"f": fused, "x": x, "y": y}),
        "numpy": timeit.Timer("f(x, y)", globals={"f": sin_cos, "x": x, "y": y}),
    }
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(15):
        for name, timer in timers.items():
            times[name].append(timer.timeit(counts[name]) / counts[name] * 1e9)
    return {name: statistics.median(all_times) for name, all_times in times.items()}


# Printing.


def bars(results: list[Result], width: int) -> list[str]:
    """NumPy's time as a light bar, the fused time as the dark beginning of it."""
    texts = []
    for r in results:
        dark = max(1, round(width * min(1, r.ms["fused"] / r.ms["numpy"])))
        texts.append("█" * dark + "░" * (width - dark))
    return texts


def data_column(results: list[Result]) -> Column:
    return Column("data", [r.data for r in results], left=True, style=dim, optional=True)


def print_times(results: list[Result], width: int) -> None:
    columns = [
        Column("program", [r.title for r in results], left=True),
        data_column(results),
        Column("NumPy", [ms_text(r.ms["numpy"]) for r in results]),
        Column("eager", [ms_text(r.ms["eager"]) for r in results]),
        Column("unfused", [ms_text(r.ms["unfused"]) for r in results]),
        Column("fused", [ms_text(r.ms["fused"]) for r in results], style=bold),
        Column("faster", [f"{r.speedup['numpy']:.1f}x" for r in results], style=green),
        Column("first", [ms_text(r.first_call_ms) for r in results]),
    ]
    room = width - table_width(columns) - 3
    if room >= 12:
        columns.append(Column("fused in NumPy", bars(results, min(30, room)), left=True, style=green))
    rounds = sorted({r.rounds for r in results})
    of = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    print(f"\n{bold('Time of a call')} {dim(f'milliseconds, median of {of} interleaved rounds')}")
    print_table(columns, width)


def print_work(results: list[Result], width: int) -> None:
    def change(before: str, after: str, width: int) -> str:
        return f"{before} → {after.rjust(width)}"

    moved = [(bytes_text(r.bytes_moved["unfused"]), bytes_text(r.bytes_moved["fused"])) for r in results]
    memory = [(bytes_text(r.memory_naive), bytes_text(r.memory_planned)) for r in results]
    print(f"\n{bold('What fusion saves')} {dim('one kernel per operation → fused')}")
    print_table(
        [
            Column("program", [r.title for r in results], left=True),
            data_column(results),
            Column("kernels", [f"{r.kernels['unfused']} → {r.kernels['fused']}" for r in results]),
            Column("bytes moved", [change(a, b, max(len(m[1]) for m in moved)) for a, b in moved]),
            Column("memory", [change(a, b, max(len(m[1]) for m in memory)) for a, b in memory]),
            Column("GB/s", [f"{r.gigabytes_per_second:.0f}" for r in results], optional=True),
        ],
        width,
    )


MEANING = [
    ("NumPy", "the same function, called as it is"),
    ("eager", "on tk.Array outside jit: every operation compiled, and run on its own"),
    ("unfused", "tk.jit(f, fuse=False): one program, one kernel per operation"),
    ("fused", "tk.jit(f)"),
    ("faster", "NumPy's time over the fused program's"),
    ("first", "the first call of tk.jit(f): tracing, compiling and running"),
    ("bytes moved", "read and written by all kernels of a call"),
    ("memory", "results and intermediates: a buffer for every operation → as planned"),
    ("GB/s", "bytes moved by the fused program over its time"),
]


def print_meaning() -> None:
    print()
    for name, text in MEANING:
        print(f"  {name.ljust(12)}{dim(text)}")


def print_kernel(result: Result, explanation: Any, width: int) -> None:
    kernel = explanation.kernels[0]
    print(f"\n{bold('The one kernel of ' + result.title)} {dim('its loops, as explain() gives them')}")
    for line in kernel.loops.rstrip().splitlines():
        print("  " + (line if len(line) <= width - 2 else line[: width - 3] + "…"))
    print(dim("  Rows go to threads. A row is swept three times, and comes from memory the first time only."))


def print_overhead(ns: dict[str, float]) -> None:
    title, what = bold("Cost of a call"), dim("16 elements, 6 operations")
    tokamak = green(f"{ns['fused']:.0f} ns")
    print(f"\n{title} {what}   tokamak {tokamak}, NumPy {ns['numpy']:.0f} ns")


def main() -> int:
    os.environ["TOKAMAK_CACHE_SIZE"] = "0"  # a first call compiles, also when this runs again
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for the rounds of each program (%(default)s)"
    )
    options = parser.parse_args()
    width = shutil.get_terminal_size((100, 24)).columns

    about = machine() | {"threads": tk.num_threads(), "tokamak": tk.__version__, "numpy": np.__version__}
    print(bold(f"Tokamak {about['tokamak']}") + dim(f" against NumPy {about['numpy']}"))
    print(dim(f"{about['processor']}, {about['threads']} threads, {about['vectors']}"))

    if about["load_before"] > 1:
        print(dim(f"The machine is busy (load {about['load_before']:.1f}): times will be longer, and vary."))

    results: list[Result] = []
    explanation = None
    for workload in WORKLOADS:
        if sys.stdout.isatty():
            print(dim(f"  timing {workload.title} …"), end="\r", flush=True)
        try:
            result, explanation = measure(workload, options.seconds)
        except WrongAnswerError as error:
            print(f"WRONG ANSWER  {error}", file=sys.stderr)
            return 1
        results.append(result)
        if sys.stdout.isatty():
            print("\x1b[2K", end="")
    overhead = measure_overhead()

    print_times(results, width)
    print_work(results, width)
    print_meaning()
    print_kernel(results[-1], explanation, width)
    print_overhead(overhead)

    if options.json:
        numbers = {"machine": about, "programs": [vars(r) for r in results], "call_ns": overhead}
        Path(options.json).write_text(json.dumps(numbers, indent=2) + "\n")
        print(dim(f"\nnumbers written to {options.json}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
