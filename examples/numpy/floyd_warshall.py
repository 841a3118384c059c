"""Shortest paths between all pairs of towns (Floyd and Warshall), and the most central town."""

import numpy as np
import tokamak as tk


@tk.jit
def program(roads):
    distance = roads.copy()
    n = len(distance)
    for k in range(n):
        distance = np.minimum(distance, distance[:, k, None] + distance[None, k, :])
    reached = np.isfinite(distance)
    closeness = (reached.sum(axis=1) - 1) / np.where(reached, distance, 0).sum(axis=1)
    return distance, closeness.argmax(), np.max(np.where(reached, distance, 0))


def arguments(rng, large=False):
    n = 200 if large else 16
    roads = np.where(rng.random((n, n)) < 8 / n, rng.uniform(1, 10, (n, n)), np.inf)
    roads = np.minimum(roads, roads.T)
    np.fill_diagonal(roads, 0)
    return (roads,)
