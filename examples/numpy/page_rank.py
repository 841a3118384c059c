"""PageRank by repeated products with the matrix of links."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=2)
def program(links, damping, steps):
    n = links.shape[0]
    out = links.sum(axis=0)
    transition = np.where(out > 0, links / np.where(out > 0, out, 1), 1.0 / n)
    rank = np.full(n, 1.0 / n)
    for _ in range(steps):
        rank = damping * (transition @ rank) + (1 - damping) / n
    return rank / rank.sum()


def arguments(rng, large=False):
    n = 1500 if large else 30
    return (rng.random((n, n)) < 10 / n).astype(float), 0.85, 8
