"""Power spectra of windowed frames by the Fourier transform as a matrix product (as before the FFT)."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames=("size", "hop"))
def program(signal, size, hop):
    n = np.arange(size)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * n / size)
    frames = np.lib.stride_tricks.sliding_window_view(signal, size)[::hop] * window
    k = np.arange(size // 2 + 1)
    phase = 2 * np.pi * np.outer(n, k) / size
    real = frames @ np.cos(phase)
    imaginary = -frames @ np.sin(phase)
    power = (real**2 + imaginary**2) / size
    decibel = 10 * np.log10(np.maximum(power, 1e-10))
    centroid = (power * k).sum(axis=1) / power.sum(axis=1)
    return decibel, centroid, power.mean(axis=0)


def arguments(rng, large=False):
    n, size, hop = (200_000, 256, 128) if large else (400, 32, 16)
    t = np.arange(n)
    return np.sin(0.3 * t) + 0.5 * np.sin(0.05 * t) + 0.1 * rng.standard_normal(n), size, hop
