"""Measurements at uneven times: interpolated to an even grid, filtered and integrated."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="n")
def program(time, value, bounds, n):
    grid = np.linspace(0.0, 100.0, n)
    even = np.interp(grid, time, value)
    smooth = np.convolve(even, np.ones(5) / 5, mode="same")
    derivative = np.gradient(smooth, grid)
    area = np.concatenate([[0.0], np.cumsum((smooth[1:] + smooth[:-1]) / 2 * np.diff(grid))])
    at = np.searchsorted(grid, bounds)
    parts = np.diff(area[at])
    bins = np.digitize(value, [-1.0, -0.5, 0.0, 0.5, 1.0])
    return even, derivative, parts, np.bincount(bins, minlength=6), np.trapezoid(smooth, grid)


def arguments(rng, large=False):
    samples, n = (100_000, 200_000) if large else (50, 80)
    time = np.sort(rng.uniform(0, 100, samples))
    value = np.sin(time) + 0.1 * rng.standard_normal(samples)
    return time, value, np.linspace(1.0, 99.0, 20), n
