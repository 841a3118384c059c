"""Equalises the histogram of a grey image, and finds a threshold by the method of Otsu."""

import numpy as np
import tokamak as tk


@tk.jit
def program(image):
    histogram = np.bincount(image.ravel(), minlength=256)
    cdf = histogram.cumsum()
    cdf_min = cdf[np.argmax(cdf > 0)]
    table = np.round((cdf - cdf_min) / (image.size - cdf_min) * 255).clip(0, 255).astype(np.uint8)
    equal = table[image]

    p = np.bincount(equal.ravel(), minlength=256) / image.size
    levels = np.arange(256)
    weight = np.cumsum(p)
    mean = np.cumsum(p * levels)
    between = (mean[-1] * weight - mean) ** 2 / (weight * (1 - weight) + 1e-12)
    threshold = np.argmax(between)
    return equal, threshold, equal > threshold


def arguments(rng, large=False):
    shape = (1080, 1920) if large else (24, 32)
    return (np.clip(rng.normal(100, 20, shape), 0, 255).astype(np.uint8),)
