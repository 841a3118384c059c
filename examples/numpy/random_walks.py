"""Random walks in the plane: mean square displacement, first passage and the largest distance."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="delays")
def program(steps, radius, delays):
    path = np.cumsum(steps, axis=1)
    msd = np.empty(len(delays))
    for i, delay in enumerate(delays):
        moved = path[:, delay:] - path[:, :-delay]
        msd[i] = np.mean(np.sum(moved**2, axis=-1))
    distance = np.linalg.norm(path, axis=-1)
    outside = distance > radius
    first = np.where(outside.any(axis=1), outside.argmax(axis=1), -1)
    farthest = np.maximum.accumulate(distance, axis=1)[:, -1]
    slope = np.sum(np.array(delays) * msd) / np.sum(np.array(delays) ** 2)
    return msd, first, farthest, slope / 4


def arguments(rng, large=False):
    walkers, length = (2000, 300) if large else (10, 40)
    return rng.standard_normal((walkers, length, 2)), 8.0, (1, 2, 5, 10, 20)
