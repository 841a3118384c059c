"""Sharpens an image: a convolution with a Gaussian kernel by shifted slices, then an unsharp mask."""

import numpy as np
import tokamak as tk


def gaussian(size, sigma):
    x = np.arange(size) - size // 2
    g = np.exp(-(x**2) / (2 * sigma**2))
    return np.outer(g, g) / np.outer(g, g).sum()


@tk.jit
def program(image, sigma, amount):
    kernel = gaussian(5, sigma)
    padded = np.pad(image, 2, mode="reflect")
    blurred = np.zeros_like(image)
    for i in range(5):
        for j in range(5):
            blurred += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    sharp = image + amount * (image - blurred)
    np.clip(sharp, 0, 1, out=sharp)
    return blurred, sharp


def arguments(rng, large=False):
    return rng.random((1000, 1000) if large else (24, 32)), 1.2, 0.8
