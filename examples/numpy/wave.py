"""A wave on a string, in leapfrog steps, with its energy."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=3)
def program(now, before, courant, steps):
    energy = np.empty(steps)
    for i in range(steps):
        after = np.zeros_like(now)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + courant**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before[:] = now
        now[:] = after
        energy[i] = ((now - before) ** 2).sum() + courant**2 * ((now[1:] - now[:-1]) ** 2).sum()
    return energy


def arguments(rng, large=False):
    x = np.linspace(0, 1, 200_000 if large else 200)
    start = np.exp(-((x - 0.3) ** 2) * 500)
    return start.copy(), start.copy(), 0.9, 6
