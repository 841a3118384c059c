"""Matrix products, convolution and attention, timed against NumPy, and torch and jax where installed.

Every answer is compared with NumPy's in float64 before anything is timed. The contestants take turns. Before
a turn there is a rest, until the threads of the one before have gone to sleep and the machine is idle, or
patience is at its end; a time is the best of all turns, those during which other processes took part of the
machine left out, unless there are no others.

    python bench/products.py [--json FILE] [--only NAME ...] [--seconds S] [--patience S]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import ml_dtypes
import numpy as np
import tokamak as tk
from demo import Column, bold, dim, green, machine, ms_text, paint, print_table
from peak import Peak
from turns import rest, turn

BF16 = ml_dtypes.bfloat16

# The programs, each written once. `m` has what the libraries spell differently.


def product(m, a, b):
    return a @ b


def vector_matrix(m, a, b):
    return b @ a


def heads(m, a, b):
    return m.einsum("bhd,dhe->bhe", a, b)


def mlp(m, x, w1, b1, w2, b2):
    return m.relu(x @ w1 + b1) @ w2 + b2


def attention(m, q, k, v):
    return m.softmax(q @ m.swap(k) * 0.125) @ v


def causal_attention(m, q, k, v):
    return m.softmax(m.causal(q @ m.swap(k) * 0.125)) @ v


def residual_block(m, x, w1, w2, *norms):
    h = m.relu(m.norm(m.conv(x, w1), *norms[:4]))
    return m.relu(m.norm(m.conv(h, w2), *norms[4:]) + x)


# The libraries.


def numpy_softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def numpy_causal(s):
    return np.where(np.tril(np.ones(s.shape[-2:], bool)), s, np.float32(-np.inf))


def numpy_conv(x, w):
    """3x3, one row of zeros around: a copy of all windows, and one product."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.moveaxis(np.tensordot(windows, w, ((1, 4, 5), (1, 2, 3))), -1, 1)


def numpy_norm(x, mean, var, weight, bias):
    factor = weight / np.sqrt(var + 1e-5)
    return x * factor[:, None, None] + (bias - mean * factor)[:, None, None]


NUMPY = SimpleNamespace(
    relu=lambda x: np.maximum(x, 0),
    swap=lambda x: np.swapaxes(x, -1, -2),
    einsum=lambda *operands: np.einsum(*operands, optimize=True),
    softmax=numpy_softmax,
    causal=numpy_causal,
    conv=numpy_conv,
    norm=numpy_norm,
)
# The same NumPy code, with the two functions that NumPy does not have.
TOKAMAK = SimpleNamespace(
    **vars(NUMPY) | {"conv": lambda x, w: tk.conv(x, w, padding=1), "norm": tk.batch_norm}
)


@dataclass
class Contestant:
    """Makes of a program and its arguments a call without arguments that waits for its result."""

    name: str
    prepare: Callable[[Workload, list[np.ndarray]], Callable[[], Any] | None]


def with_constants(workload: Workload, m: Any, arguments: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function to compile, and the arguments it is called with: all, or only the first."""
    if not workload.constants:
        return (lambda *given: workload.function(m, *given)), arguments
    rest = arguments[1:]
    return (lambda first: workload.function(m, first, *rest)), arguments[:1]


def prepare_tokamak(workload: Workload, arguments: list[np.ndarray]) -> Callable[[], Any]:
    function, given = with_constants(workload, TOKAMAK, arguments)
    compiled = tk.jit(function)
    workload.kernels = len(compiled.explain(*given).steps)
    return lambda: compiled(*given)


def prepare_numpy(workload: Workload, arguments: list[np.ndarray]) -> Callable[[], Any] | None:
    if workload.dtype is BF16:
        return None  # it has no such products
    return lambda: workload.function(NUMPY, *arguments)


def torch_contestants() -> list[Contestant]:
    import torch
    import torch.nn.functional as nn

    torch.set_num_threads(tk.num_threads())
    torch.set_grad_enabled(False)

    def causal(s):
        return s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -torch.inf)

    m = SimpleNamespace(
        relu=torch.relu,
        swap=lambda x: x.transpose(-1, -2),
        einsum=torch.einsum,
        softmax=lambda s: torch.softmax(s, -1),
        causal=causal,
        conv=lambda x, w: nn.conv2d(x, w, padding=1),
        norm=nn.batch_norm,
    )

    def tensors_of(arguments: list[np.ndarray]) -> list[torch.Tensor]:
        return [
            torch.from_numpy(a.view(np.int16)).view(torch.bfloat16)
            if a.dtype == BF16
            else torch.from_numpy(a)
            for a in arguments
        ]

    def eager(workload: Workload, arguments: list[np.ndarray]) -> Callable[[], Any]:
        tensors = tensors_of(arguments)
        return lambda: workload.function(m, *tensors)

    def compiled(workload: Workload, arguments: list[np.ndarray]) -> Callable[[], Any]:
        torch._dynamo.reset()  # all programs go through the same lines, and it counts compilations by line
        function, given = with_constants(workload, m, tensors_of(arguments))
        program = torch.compile(function, dynamic=False)
        return lambda: program(*given)

    def sdpa(workload: Workload, arguments: list[np.ndarray]) -> Callable[[], Any] | None:
        if workload.function not in (attention, causal_attention):
            return None
        tensors = tensors_of(arguments)
        is_causal = workload.function is causal_attention
        return lambda: nn.scaled_dot_product_attention(*tensors, is_causal=is_causal)

    return [Contestant("torch", eager), Contestant("compile", compiled), Contestant("sdpa", sdpa)]


def jax_contestants() -> list[Contestant]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # there is a program in float64

    def norm(x, mean, var, weight, bias):
        factor = weight / jnp.sqrt(var + 1e-5)
        return x * factor[:, None, None] + (bias - mean * factor)[:, None, None]

    m = SimpleNamespace(
        relu=jax.nn.relu,
        swap=lambda x: jnp.swapaxes(x, -1, -2),
        einsum=jnp.einsum,
        softmax=jax.nn.softmax,
        causal=lambda s: jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf),
        conv=lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        norm=norm,
    )

    def prepare(workload: Workload, arguments: list[np.ndarray]) -> Callable[[], Any]:
        function, given = with_constants(workload, m, [jnp.asarray(a) for a in arguments])
        program = jax.jit(function)
        return lambda: program(*given).block_until_ready()

    return [Contestant("jax", prepare)]


def contestants() -> tuple[list[Contestant], list[str]]:
    """Those that are there, and a line for each that is not."""
    found = [Contestant("tokamak", prepare_tokamak), Contestant("numpy", prepare_numpy)]
    missing = []
    for name, make in (("torch", torch_contestants), ("jax", jax_contestants)):
        try:
            found += make()
        except ImportError:
            missing.append(f"{name} is not installed: left out")
    return found, missing


# The workloads.


@dataclass
class Workload:
    name: str
    title: str
    data: str
    function: Callable[..., Any]
    shapes: list[tuple[int, ...]]
    flops: float  # multiplications and additions of the products
    dtype: type = np.float32
    constants: bool = False  # all arguments but the first are constants of the program
    positive: int = 0  # how many of the last arguments are positive: the statistics and weights of norms
    kernels: int = 0

    def make(self) -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        arrays = []
        for i, shape in enumerate(self.shapes):
            array = rng.standard_normal(shape, np.float32 if self.dtype is BF16 else self.dtype)
            if len(shape) > 1 and i > 0 and self.function in (mlp, residual_block):
                array /= array.dtype.type(np.prod(shape[1:]) ** 0.5)  # weights: results stay near 1
            if i >= len(self.shapes) - self.positive:
                array = np.abs(array) + array.dtype.type(0.5)
            arrays.append(array.astype(self.dtype, copy=False))
        return arrays


def square(n: int, dtype: type = np.float32) -> Workload:
    kind = np.dtype(dtype).name.replace("bfloat", "bf").replace("float", "f")
    return Workload(
        f"product-{n}-{kind}", "a @ b", f"{kind} {n}x{n}", product, [(n, n)] * 2, 2.0 * n**3, dtype
    )


def mlp_workload(name: str, kind: str, dtype: type) -> Workload:
    shapes = [(512, 2048), (2048, 4096), (4096,), (4096, 2048), (2048,)]
    flops = 2 * 2.0 * 512 * 2048 * 4096
    return Workload(name, "relu(x@w1+b1) @ w2+b2", f"{kind} 512x2048x4096", mlp, shapes, flops, dtype)


def attention_workload(function: Callable[..., Any], name: str, title: str) -> Workload:
    flops = 2 * 2.0 * 32 * 512 * 512 * 64
    return Workload(name, title, "f32 4x8x512x64", function, [(4, 8, 512, 64)] * 3, flops)


def residual_workload(name: str, title: str, constants: bool) -> Workload:
    shapes = [(8, 64, 56, 56), *[(64, 64, 3, 3)] * 2, *[(64,)] * 8]
    flops = 2 * 2.0 * 8 * 56 * 56 * 64 * 64 * 9
    return Workload(
        name, title, "f32 8x64x56x56", residual_block, shapes, flops, constants=constants, positive=8
    )


WORKLOADS = [
    *(square(n) for n in (256, 512, 1024, 2048)),
    square(1024, np.float64),
    square(1024, BF16),
    Workload("matrix-vector", "a @ x", "f32 4096x4096", product, [(4096, 4096), (4096,)], 2 * 4096.0**2),
    Workload(
        "vector-matrix", "x @ a", "f32 4096x4096", vector_matrix, [(4096, 4096), (4096,)], 2 * 4096.0**2
    ),
    Workload("small", "a @ b", "f32 10000x8x8", product, [(10_000, 8, 8)] * 2, 2 * 10_000 * 8.0**3),
    Workload(
        "einsum",
        'einsum("bhd,dhe->bhe")',
        "f32 64x4x1024x512",
        heads,
        [(64, 4, 1024), (1024, 4, 512)],
        2.0 * 64 * 4 * 1024 * 512,
    ),
    mlp_workload("mlp", "f32", np.float32),
    mlp_workload("mlp-bf16", "bf16", BF16),
    attention_workload(attention, "attention", "attention"),
    attention_workload(causal_attention, "causal-attention", "attention, causal mask"),
    residual_workload("residual", "residual block", False),
    residual_workload("residual-constant", "the same, weights constant", True),
]


# Measuring.

FLOAT64_SLACK = {np.float32: 2e-5, np.float64: 1e-12, BF16: 2e-2}  # of the largest magnitude
TOO_LONG = 1.0  # seconds of a call that is timed once


class WrongAnswerError(Exception):
    pass


@dataclass
class Result:
    name: str
    title: str
    data: str
    dtype: str
    flops: float
    kernels: int = 0
    turns: int = 0  # of each contestant
    disturbed: int = 0  # turns, of all together, that do not count
    doubtful: list[str] = field(default_factory=list)  # who had no other turns
    ms: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    gflops: float = 0
    percent_of_peak: float | None = None
    best_peer: str = ""
    faster: float = 0


def check(workload: Workload, contestant: str, got: Any, want: np.ndarray) -> None:
    if "bfloat16" in str(getattr(got, "dtype", "")) and hasattr(got, "float"):
        got = got.float().numpy().astype(BF16)  # torch has bf16, but cannot give it to NumPy
    got = np.asarray(got)
    if got.dtype != workload.dtype or got.shape != want.shape:
        raise WrongAnswerError(f"{workload.name}: {contestant} gives {got.dtype}{got.shape}")
    error = float(np.abs(got.astype(np.float64) - want).max() / np.abs(want).max())
    if not error <= FLOAT64_SLACK[workload.dtype]:
        raise WrongAnswerError(f"{workload.name}: {contestant} is off by {error:.2e} of the largest element")


def measure(workload: Workload, everyone: list[Contestant], seconds: float, patience: float) -> Result:
    result = Result(
        workload.name, workload.title, workload.data, np.dtype(workload.dtype).name, workload.flops
    )
    arguments = workload.make()
    want = np.asarray(workload.function(NUMPY, *[a.astype(np.float64) for a in arguments]))
    calls: dict[str, Callable[[], Any]] = {}
    best: dict[str, float] = {}
    for one in everyone:
        try:
            call = one.prepare(workload, arguments)
            if call is None:
                continue
            start = time.perf_counter()
            answer = call()
            if time.perf_counter() - start > TOO_LONG:  # a compiler's first call is not what counts
                start = time.perf_counter()
                answer = call()
            taken = time.perf_counter() - start
        except Exception as error:  # a peer that cannot run this one must not stop the others
            if one.name == "tokamak":
                raise
            result.failed[one.name] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        check(workload, one.name, answer, want)
        del answer
        if taken > TOO_LONG:
            best[one.name] = taken
        else:
            calls[one.name] = call
    del want
    second_best = dict.fromkeys(calls, float("inf"))  # of turns that were disturbed
    worked = 0.0
    until = time.perf_counter() + patience
    while result.turns < 3 or worked < seconds or (calls.keys() - best and time.perf_counter() < until):
        for name, call in calls.items():
            rest(until)
            start = time.perf_counter()
            seconds_per_call, disturbed = turn(call)
            kept = second_best if disturbed else best
            kept[name] = min(kept.get(name, float("inf")), seconds_per_call)
            result.disturbed += disturbed
            worked += time.perf_counter() - start
        result.turns += 1
    result.doubtful = [name for name in calls if name not in best]
    best |= {name: second_best[name] for name in result.doubtful}
    result.kernels = workload.kernels
    result.ms = {name: s * 1e3 for name, s in best.items()}
    result.gflops = workload.flops / best["tokamak"] / 1e9
    result.best_peer = min((name for name in best if name != "tokamak"), key=best.__getitem__)
    result.faster = best[result.best_peer] / best["tokamak"]
    return result


# Printing.

HEADINGS = {
    "tokamak": "tokamak",
    "numpy": "NumPy",
    "torch": "torch",
    "compile": "compile",
    "sdpa": "sdpa",
    "jax": "jax",
}


def time_text(result: Result, name: str) -> str:
    if name in result.failed:
        return "failed"
    if name not in result.ms:
        return ""
    milliseconds = result.ms[name]
    return f"{milliseconds:.3f}" if milliseconds < 1 else ms_text(milliseconds)


def faster_style(text: str) -> str:
    ahead = text.strip() and float(text.strip().rstrip("x")) >= 1
    return green(text) if ahead else paint(text, "33")


def print_results(results: list[Result], names: list[str], width: int) -> None:
    columns = [
        Column("program", [r.title for r in results], left=True),
        Column("data", [r.data for r in results], left=True, style=dim),
        Column("kernels", [str(r.kernels) for r in results], optional=True),
    ]
    for name in names:
        cells = [time_text(r, name) for r in results]
        if any(cells):
            columns.append(Column(HEADINGS[name], cells, style=bold if name == "tokamak" else str))
    columns += [
        Column("faster", [f"{r.faster:.2f}x" for r in results], style=faster_style),
        Column("GFLOP/s", [f"{r.gflops:.0f}" for r in results], optional=True),
    ]
    if results[0].percent_of_peak is not None:
        columns.append(Column("peak", [f"{r.percent_of_peak:.0f} %" for r in results], optional=True))
    turns = min(r.turns for r in results)
    print(f"\n{bold('Time of a call')} {dim(f'milliseconds, the best of {turns} or more interleaved turns')}")
    print_table(columns, width)
    doubtful = [f"{HEADINGS[name]} at {r.name}" for r in results for name in r.doubtful]
    if doubtful:
        print(dim("Other processes were at work in all turns of " + ", ".join(doubtful) + "."))


MEANING = [
    ("compile", "torch.compile of the same function"),
    ("sdpa", "torch's scaled_dot_product_attention"),
    ("jax", "jax.jit of the same function"),
    ("faster", "the time of the fastest other one over that of Tokamak"),
    ("GFLOP/s", "multiplications and additions of the products, a second, by Tokamak"),
    ("peak", "of what a loop of fused multiply-adds in registers reached in the same run"),
]


def print_meaning(names: list[str], results: list[Result], peak: Peak) -> None:
    shown = {*names, "faster", "GFLOP/s", *(["peak"] if peak.gflops else [])}
    print()
    for name, text in MEANING:
        if name in shown:
            print(f"  {name.ljust(10)}{dim(text)}")
    if peak.gflops:
        numbers = f"{peak.gflops['float32']:.0f} GFLOP/s in f32, {peak.gflops['float64']:.0f} in f64"
        print(f"  {' ' * 10}{dim(numbers)}")
    for result in results:
        for name, why in result.failed.items():
            print(f"  {HEADINGS[name]} failed at {result.name}: {why}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [w.name for w in WORKLOADS]
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE")
    parser.add_argument(
        "--only",
        metavar="NAME",
        nargs="+",
        action="extend",
        choices=known,
        help="these only: " + ", ".join(known),
    )
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="for the turns of each program (%(default)s)"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="to wait for an idle machine, for each program (%(default)s)",
    )
    options = parser.parse_args()
    width = shutil.get_terminal_size((140, 24)).columns

    about = machine()
    everyone, missing = contestants()
    names = [one.name for one in everyone]
    for peer in ("torch", "jax"):
        if peer in names:
            about[peer] = sys.modules[peer].__version__
    versions = ", ".join(f"{peer} {about[peer]}" for peer in ("numpy", "torch", "jax") if peer in about)
    print(bold(f"Tokamak {about['tokamak']}") + dim(f" against {versions}"))
    print(dim(f"{about['processor']}, {about['threads']} threads, {about['vectors']}"))
    for line in missing:
        print(dim(line))
    if about["load_before"] > 1:
        print(dim(f"The machine is busy (load {about['load_before']:.1f}): times will be longer, and vary."))
    peak = Peak(about)
    results: list[Result] = []
    for workload in WORKLOADS:
        if options.only and workload.name not in options.only:
            continue
        if sys.stdout.isatty():
            print(dim(f"  timing {workload.name} …"), end="\r", flush=True)
        try:
            peak.sample()
            results.append(measure(workload, everyone, options.seconds, options.patience))
        except WrongAnswerError as error:
            print(f"WRONG ANSWER  {error}", file=sys.stderr)
            return 1
        if sys.stdout.isatty():
            print("\x1b[2K", end="")

    peak.sample()
    for result in results:
        if peak.gflops:
            kind = "float64" if result.dtype == "float64" else "float32"  # what bf16 is computed in
            result.percent_of_peak = 100 * result.gflops / peak.gflops[kind]
    print_results(results, names, width)
    print_meaning(names, results, peak)
    if options.json:
        numbers = {"machine": about, "peak_gflops": peak.gflops, "programs": [vars(r) for r in results]}
        Path(options.json).write_text(json.dumps(numbers, indent=2) + "\n")
        print(dim(f"\nnumbers written to {options.json}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
