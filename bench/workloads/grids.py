"""Grids: a stencil that is repeated, and the blur of an image, by slices."""

from __future__ import annotations

import numpy as np

from .model import F32, Workload, arithmetic, data_text, normal, uniform

STEPS = 50
SIDE = 2048
HEIGHT, WIDTH = 2160, 3840


def heat(u):
    """Steps of the heat equation; the border stays."""
    u = u.copy()
    for _ in range(STEPS):
        middle = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = middle + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * middle)
    return u


def torch_heat(torch):
    def run(u):
        u = u.clone()
        for _ in range(STEPS):
            middle = u[1:-1, 1:-1]
            u[1:-1, 1:-1] = middle + 0.2 * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * middle
            )
        return u

    return run


def jax_heat(jax):
    def step(_, u):
        middle = u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].set(
            middle + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * middle)
        )

    return lambda u: jax.lax.fori_loop(0, STEPS, step, u)


def numba_heat(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(u):
        old, new = u.copy(), u.copy()
        for _ in range(STEPS):
            for i in numba.prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    new[i, j] = old[i, j] + np.float32(0.2) * (
                        old[i + 1, j] + old[i - 1, j] + old[i, j + 1] + old[i, j - 1] - 4 * old[i, j]
                    )
            old, new = new, old
        return old

    return run


def blur(image):
    """Five taps along the columns, then along the rows."""
    rows = (image[:-4] + 4 * image[1:-3] + 6 * image[2:-2] + 4 * image[3:-1] + image[4:]) * 0.0625
    return (rows[:, :-4] + 4 * rows[:, 1:-3] + 6 * rows[:, 2:-2] + 4 * rows[:, 3:-1] + rows[:, 4:]) * 0.0625


def torch_blur(torch):
    return blur


def numba_blur(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(image):
        height, width = image.shape
        out = np.empty((height - 4, width - 4), image.dtype)
        scale = np.float32(0.0625)
        for i in numba.prange(height - 4):
            row = np.empty(width, image.dtype)
            for j in range(width):
                row[j] = scale * (
                    image[i, j]
                    + 4 * image[i + 1, j]
                    + 6 * image[i + 2, j]
                    + 4 * image[i + 3, j]
                    + image[i + 4, j]
                )
            for j in range(width - 4):
                out[i, j] = scale * (row[j] + 4 * row[j + 1] + 6 * row[j + 2] + 4 * row[j + 3] + row[j + 4])
        return out

    return run


WORKLOADS = [
    Workload(
        name="stencil",
        group="grids",
        title=f"5-point stencil, {STEPS} steps",
        data=data_text(F32, SIDE, SIDE),
        function=heat,
        inputs=lambda rng: [normal(rng, SIDE, SIDE)],
        flops=arithmetic(SIDE * SIDE * STEPS, simple=7),
        torch=torch_heat,
        jax=jax_heat,
        numba=numba_heat,
        memory=True,
        ablate=True,
    ),
    Workload(
        name="blur",
        group="grids",
        title="blur of an image",
        data=data_text(F32, HEIGHT, WIDTH),
        function=blur,
        inputs=lambda rng: [uniform(rng, 0, 1, HEIGHT, WIDTH)],
        flops=arithmetic(HEIGHT * WIDTH, simple=16),
        torch=torch_blur,
        numba=numba_blur,
        quick=True,
        memory=True,
        ablate=True,
    ),
]
