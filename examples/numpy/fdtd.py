"""Electromagnetic waves in two dimensions: finite differences in time (Yee's scheme), with a source."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="steps")
def program(ez, hx, hy, permittivity, steps):
    courant = 0.5
    received = np.zeros(steps)
    for t in range(steps):
        hx[:, :-1] -= courant * (ez[:, 1:] - ez[:, :-1])
        hy[:-1, :] += courant * (ez[1:, :] - ez[:-1, :])
        ez[1:-1, 1:-1] += (
            courant
            / permittivity[1:-1, 1:-1]
            * ((hy[1:-1, 1:-1] - hy[:-2, 1:-1]) - (hx[1:-1, 1:-1] - hx[1:-1, :-2]))
        )
        ez[ez.shape[0] // 3, ez.shape[1] // 2] += np.exp(-(((t - 8) / 4) ** 2))
        received[t] = ez[2 * ez.shape[0] // 3, ez.shape[1] // 2]
    return received


def arguments(rng, large=False):
    n, steps = (800, 6) if large else (24, 6)
    permittivity = np.ones((n, n))
    permittivity[n // 2 :, n // 2 :] = 2.25
    return np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), permittivity, steps
