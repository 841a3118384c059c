"""The Mandelbrot set, with real numbers: how long each point stays near the origin."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=2)
def program(x, y, steps):
    a, b = np.broadcast_arrays(x[None, :], y[:, None])
    zr, zi = np.zeros_like(a), np.zeros_like(b)
    count = np.zeros(a.shape, np.int32)
    for _ in range(steps):
        near = zr * zr + zi * zi <= 4.0
        count += near
        zr, zi = np.where(near, zr * zr - zi * zi + a, zr), np.where(near, 2 * zr * zi + b, zi)
    return count


def arguments(rng, large=False):
    width, height = (640, 480) if large else (32, 24)
    return np.linspace(-2, 0.6, width), np.linspace(-1.2, 1.2, height), 20
