"""What the disk cache is worth: the first call of programs in one process, and in the next.

    python bench/disk_cache.py [NAME ...] [--rounds 11] [--least] [--json FILE]

Every round goes through all programs. For each it starts with an empty cache in a folder of its own and runs two processes: one that
fills it, and one that finds it filled. Times are of the first call, tracing, compiling and one run, in milliseconds, the median of
the rounds; with --least the least of them, which others who use the machine disturb less. What is imported and the arguments are
there before. A later call, which only computes, is short beside them. Answers are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).parent.parent / "examples" / "numpy"
KINDS = ("first", "second")


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def activation(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)


def relu_sum(w, x, b):
    return np.maximum(w * x + b, 0).sum()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * scale + shift
    return 0.5 * y * (1 + np.tanh(0.7978846 * (y + 0.044715 * y**3)))


def mlp(x, w1, b1, w2, b2):
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


def attention(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / 8
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def stencil(u):
    u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    u[0], u[-1] = 1, 0


#: Functions with what they are called with; the others are programs of examples/numpy
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]] | None] = {
    "relu_sum": (relu_sum, lambda: (random(10000), random(10000), random(10000))),
    "activation": (activation, lambda: (random(10000), random(10000))),
    "softmax": (softmax, lambda: (random(64, 1000),)),
    "layer_norm": (layer_norm, lambda: (random(64, 1024), random(1024), random(1024))),
    "mlp": (mlp, lambda: (random(32, 64), random(64, 128), random(128), random(128, 64), random(64))),
    "attention": (attention, lambda: (random(2, 32, 64), random(2, 32, 64), random(2, 32, 64))),
    "stencil": (stencil, lambda: (np.random.default_rng(0).random((128, 128)),)),
    "black_scholes": None,
    "lattice_boltzmann": None,
    "k_means": None,
    "kalman": None,
    "mlp_training": None,
}


def load(name: str) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """The program compiled, the program as it is, and its arguments."""
    import tokamak as tk

    if (own := PROGRAMS[name]) is not None:
        function, arguments = own
        return tk.jit(function), function, arguments()
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return (
        module.program,
        module.program.__wrapped__,
        module.arguments(np.random.default_rng(0), large=False),
    )


def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, dict):
        value = list(value.values())
    return [one for item in value for one in arrays_in(item)] if isinstance(value, tuple | list) else [value]


def measure_first_call(name: str) -> dict[str, Any]:
    compiled, plain, arguments = load(name)
    given, expected = copy.deepcopy(arguments), copy.deepcopy(arguments)
    time.sleep(0.1)  # what goes on in the background of an import is over
    start = time.perf_counter()
    answer = compiled(*given)
    seconds = time.perf_counter() - start
    for ours, theirs in zip(arrays_in((answer, given)), arrays_in((plain(*expected), expected)), strict=True):
        if theirs is not None:
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-3, atol=1e-4)
    again = copy.deepcopy(arguments)
    start = time.perf_counter()
    compiled(*again)
    later = time.perf_counter() - start
    explained = compiled.explain(*arguments)
    return {
        "call": 1e3 * seconds,
        "later": 1e3 * later,
        "kernels": len(explained.kernels),
        "from_disk": sum(kernel.from_disk_cache for kernel in explained.kernels),
        "trace": explained.times[0].milliseconds,
        "compile": sum(one.milliseconds for one in explained.times[1:]),
    }


def run_process(name: str, folder: str) -> dict[str, Any]:
    environment = dict(os.environ, TOKAMAK_CACHE_DIR=folder, TOKAMAK_CACHE_SIZE="", TOKAMAK_DISABLE="")
    command = [sys.executable, __file__, "--measure", name]
    return json.loads(
        subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def measure(names: list[str], rounds: int, summary: Callable[[Any], Any]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {
        (name, kind): [] for name in names for kind in KINDS
    }
    for _ in range(rounds):
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                for kind in KINDS:
                    found[name, kind].append(run_process(name, os.path.join(folder, "cache")))
    return [{"name": name, **{kind: by_key(summary, found[name, kind]) for kind in KINDS}} for name in names]


def by_key(summary: Callable[[Any], Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: summary(one[key] for one in found) for key in found[0]}


def row(one: dict[str, Any]) -> str:
    first, second = one["first"], one["second"]
    return (
        f"| {one['name']} | {first['kernels']:.0f} | {first['call']:.1f} | {second['call']:.1f} | {first['call'] / second['call']:.1f}x | "
        f"{first['trace']:.1f} → {second['trace']:.1f} | {first['compile']:.1f} → {second['compile']:.2f} | {second['later']:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *PROGRAMS])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--measure", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure_first_call(options.measure)))
        return
    summary = min if options.least else statistics.median
    rows = measure(options.names or list(PROGRAMS), options.rounds, summary)
    print("| program | kernels | first process | second | faster | trace | compile | a later call |")
    print("|---|---|---|---|---|---|---|---|")
    for one in rows:
        print(row(one))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
