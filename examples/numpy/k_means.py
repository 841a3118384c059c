"""A step of k-means: points go to the nearest centre, centres to the mean of their points."""

import numpy as np
import tokamak as tk


@tk.jit
def program(points, centres):
    squared = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    label = squared.argmin(axis=1)
    belongs = label[:, None] == np.arange(centres.shape[0])
    count = belongs.sum(axis=0)
    total = belongs.T.astype(points.dtype) @ points
    new = np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres)
    moved = np.abs(new - centres).max()
    centres[:] = new
    return label, moved


def arguments(rng, large=False):
    n, k, features = (100_000, 12, 8) if large else (100, 5, 4)
    return rng.standard_normal((n, features)), rng.standard_normal((k, features))
