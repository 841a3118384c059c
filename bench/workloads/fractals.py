"""The Mandelbrot set with a fixed number of steps."""

from __future__ import annotations

import numpy as np

from .model import F32, Workload, arithmetic, data_text

STEPS = 50
WIDTH, HEIGHT = 2048, 2048


def mandelbrot(x, y):
    """How many steps a point stays near the origin. Points that leave go on, and become infinite or NaN."""
    a, b = x[None, :], y[:, None]
    real, imag = a + 0 * b, b + 0 * a
    count = np.zeros((y.shape[0], x.shape[0]), np.int32)
    for _ in range(STEPS):
        count = count + (real * real + imag * imag <= 4)
        real, imag = real * real - imag * imag + a, 2 * real * imag + b
    return count


def torch_mandelbrot(torch):
    def run(x, y):
        a, b = x[None, :], y[:, None]
        real, imag = a + 0 * b, b + 0 * a
        count = torch.zeros((y.shape[0], x.shape[0]), dtype=torch.int32)
        for _ in range(STEPS):
            count = count + (real * real + imag * imag <= 4)
            real, imag = real * real - imag * imag + a, 2 * real * imag + b
        return count

    return run


def jax_mandelbrot(jax):
    np = jax.numpy

    def run(x, y):
        a, b = x[None, :], y[:, None]

        def step(_, state):
            count, real, imag = state
            count = count + (real * real + imag * imag <= 4)
            return count, real * real - imag * imag + a, 2 * real * imag + b

        start = np.zeros((y.shape[0], x.shape[0]), np.int32), a + 0 * b, b + 0 * a
        return jax.lax.fori_loop(0, STEPS, step, start)[0]

    return run


def numba_mandelbrot(numba):
    @numba.njit(parallel=True, fastmath={"nsz", "arcp", "contract", "reassoc"})  # points do become NaN
    def run(x, y):
        out = np.empty((y.size, x.size), np.int32)
        for i in numba.prange(y.size):
            b = y[i]
            for j in range(x.size):
                a = x[j]
                real, imag = a, b
                count = 0
                for _ in range(STEPS):
                    count += real * real + imag * imag <= 4
                    real, imag = real * real - imag * imag + a, 2 * real * imag + b
                out[i, j] = count
        return out

    return run


WORKLOADS = [
    Workload(
        name="mandelbrot",
        group="large",
        title=f"Mandelbrot, {STEPS} steps",
        data=data_text(F32, HEIGHT, WIDTH),
        function=mandelbrot,
        inputs=lambda rng: [
            np.linspace(-2, 0.6, WIDTH, dtype=F32),
            np.linspace(-1.2, 1.2, HEIGHT, dtype=F32),
        ],
        flops=arithmetic(WIDTH * HEIGHT * STEPS, simple=10),
        reference=lambda x, y: mandelbrot(x.astype(F32), y.astype(F32)),
        tolerance=0,
        outliers=0.01,  # points at the border, where sums are contracted
        torch=torch_mandelbrot,
        jax=jax_mandelbrot,
        numba=numba_mandelbrot,
        ablate=True,
    )
]
