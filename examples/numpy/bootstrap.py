"""Bootstrap of a correlation and of a trimmed mean, with resampled indices that are drawn before."""

import numpy as np
import tokamak as tk


@tk.jit
def program(x, y, index):
    bx, by = x[index], y[index]
    mx, my = bx.mean(axis=1, keepdims=True), by.mean(axis=1, keepdims=True)
    covariance = ((bx - mx) * (by - my)).mean(axis=1)
    correlation = covariance / (bx.std(axis=1) * by.std(axis=1))
    cut = x.shape[0] // 10
    trimmed = np.sort(bx, axis=1)[:, cut:-cut].mean(axis=1)
    interval = np.percentile(correlation, [2.5, 97.5])
    bias = correlation.mean() - np.corrcoef(x, y)[0, 1]
    return interval, correlation.std(ddof=1), bias, np.quantile(trimmed, [0.025, 0.5, 0.975])


def arguments(rng, large=False):
    n, samples = (500, 1000) if large else (30, 20)
    x = rng.standard_normal(n)
    return x, 0.6 * x + rng.standard_normal(n), rng.integers(0, n, (samples, n))
