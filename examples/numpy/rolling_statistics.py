"""Rolling means, deviations, extremes and medians of a series, and where it leaves its usual range."""

import numpy as np
import tokamak as tk
from numpy.lib.stride_tricks import sliding_window_view


@tk.jit(static_argnames="width")
def program(x, width):
    windows = sliding_window_view(x, width)
    mean = windows.mean(axis=-1)
    deviation = windows.std(axis=-1, ddof=1)
    low, high = windows.min(axis=-1), windows.max(axis=-1)
    median = np.median(windows, axis=-1)
    score = np.zeros_like(x)
    score[width - 1 :] = (x[width - 1 :] - mean) / deviation
    strange = np.abs(score) > 2.5
    clean = x.copy()
    clean[strange] = np.nan
    return mean, high - low, median, score, strange.sum(), np.nanmean(clean)


def arguments(rng, large=False):
    n, width = (100_000, 11) if large else (100, 7)
    x = np.sin(np.arange(n) / 20) + 0.2 * rng.standard_normal(n)
    x[:: n // 10] += 3
    return x, width
