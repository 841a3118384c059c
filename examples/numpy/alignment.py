"""The best global alignment of two sequences (Needleman and Wunsch), a row of the table at a time."""

import numpy as np
import tokamak as tk


@tk.jit
def program(a, b, substitution, gap):
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1))
    penalty = gap * np.arange(m + 1)
    score[0] = -penalty
    for i in range(1, n + 1):
        match = score[i - 1, :-1] + substitution[a[i - 1], b]
        delete = score[i - 1] - gap
        best = delete
        best[1:] = np.maximum(match, delete[1:])
        score[i] = np.maximum.accumulate(best + penalty) - penalty
    return score, score[-1, -1]


def arguments(rng, large=False):
    n, m = (60, 20_000) if large else (8, 40)
    substitution = np.where(np.eye(4, dtype=bool), 2.0, -1.0)
    return rng.integers(0, 4, n), rng.integers(0, 4, m), substitution, 1.5
