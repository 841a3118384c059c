"""How long compiling takes as unrolled loops get longer.

Times are of the processor, of the first call: tracing, compiling, one run. Answers are compared with NumPy's.

    python bench/growth.py [NAME ...] [STEPS ...]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tokamak as tk

rng = np.random.default_rng(0)


def chain(x, n):
    for _ in range(n):
        x = np.sin(x) * 0.5 + 0.25
    return x


def stencil(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[0, :] = 1.0
        u[-1, :] = 0.0
    return u.mean()


def lorenz(state):
    x, y, z = state
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def runge_kutta(state, n):
    dt = 0.01
    for _ in range(n):
        k1 = lorenz(state)
        k2 = lorenz(state + dt / 2 * k1)
        k3 = lorenz(state + dt / 2 * k2)
        k4 = lorenz(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def kalman(z, n):
    move = np.array([[1.0, 0.1], [0.0, 1.0]])
    look = np.array([[1.0, 0.0]])
    x, p = np.zeros(2), np.eye(2)
    for k in range(n):
        x = move @ x
        p = move @ p @ move.T + np.eye(2) * 0.01
        gain = p @ look.T / (look @ p @ look.T + 0.1)
        x = x + gain @ (z[k] - look @ x)
        p = (np.eye(2) - gain @ look) @ p
    return x


def rows(a, n):
    out = np.zeros((n, a.shape[0]))
    for i in range(n):
        out[i] = a * (i + 1) + 1.0
    return out


def stack(a, n):
    return np.stack([np.sin(a) * (i + 1) for i in range(n)])


def reductions(a, n):
    return sum((a * (i + 1.5)).sum() for i in range(n))


def conjugate_gradients(matrix, b, n):
    x = np.zeros_like(b)
    r = b - matrix @ x
    p = r
    rs = r @ r
    for _ in range(n):
        product = matrix @ p
        alpha = rs / (p @ product)
        x = x + alpha * p
        r = r - alpha * product
        new = r @ r
        p = r + new / (rs + 1e-30) * p
        rs = new + 1e-30
    return x


def cheapest_path(cost, n):
    best = cost[0]
    for i in range(1, n):
        left = np.concatenate([[np.inf], best[:-1]])
        right = np.concatenate([best[1:], [np.inf]])
        best = cost[i] + np.minimum(np.minimum(left, best), right)
    return best.min()


def binomial_tree(price, n):
    prices = price * 1.01 ** np.arange(n, -1.0, -1.0) / 1.01 ** np.arange(0.0, n + 1)
    value = np.maximum(100.0 - prices, 0.0)
    for _ in range(n):
        value = 0.9999 * (0.5 * value[:-1] + 0.5 * value[1:])
    return value[0]


def spd(size):
    a = rng.random((size, size))
    return a @ a.T + size * np.eye(size)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "chain": (chain, lambda n: (rng.random(1000),)),
    "stencil": (stencil, lambda n: (rng.random((60, 80)),)),
    "runge_kutta": (runge_kutta, lambda n: (np.ones(3),)),
    "kalman": (kalman, lambda n: (rng.random(n),)),
    "rows": (rows, lambda n: (rng.random(100),)),
    "stack": (stack, lambda n: (rng.random(100),)),
    "reductions": (reductions, lambda n: (rng.random(1000),)),
    "conjugate_gradients": (conjugate_gradients, lambda n: (spd(50), rng.random(50))),
    "cheapest_path": (cheapest_path, lambda n: (rng.random((n, 100)),)),
    "binomial_tree": (binomial_tree, lambda n: (100.0,)),
}


def copies(arguments):
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]


def measure(name: str, steps: int) -> str:
    function, make = PROGRAMS[name]
    arguments = make(steps)
    jitted = tk.jit(function, static_argnums=len(arguments))
    start = time.process_time()
    found = jitted(*copies(arguments), steps)
    milliseconds = (time.process_time() - start) * 1e3
    np.testing.assert_allclose(found, function(*copies(arguments), steps), rtol=1e-6)
    kernels = jitted.explain(*copies(arguments), steps).kernels
    different = len({kernel.loops for kernel in kernels})
    return f"{name:22}{steps:7}{milliseconds:11.0f}{milliseconds / steps:13.2f}{len(kernels):9}{different:11}"


def main() -> None:
    os.environ["TOKAMAK_CACHE_SIZE"] = "0"  # a first call compiles, also when this runs again
    names = [a for a in sys.argv[1:] if not a.isdigit()] or list(PROGRAMS)
    counts = [int(a) for a in sys.argv[1:] if a.isdigit()] or [10, 50, 200, 1000]
    measure("chain", 1)  # what only the first program of a process pays
    print(f"{'program':22}{'steps':>7}{'ms':>11}{'ms per step':>13}{'kernels':>9}{'different':>11}")
    for name in names:
        for steps in counts:
            print(measure(name, steps), flush=True)


if __name__ == "__main__":
    main()
