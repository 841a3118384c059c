"""Converts an RGB image of bytes to hue, saturation and value, and turns the hue of what is red."""

import numpy as np
import tokamak as tk


@tk.jit
def program(image):
    rgb = image.astype(np.float32) / 255.0
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = rgb.max(axis=-1)
    delta = value - rgb.min(axis=-1)
    saturation = np.where(value > 0, delta / np.where(value > 0, value, 1), 0)
    safe = np.where(delta > 0, delta, 1)
    hue = np.zeros_like(value)
    hue = np.where(value == r, ((g - b) / safe) % 6, hue)
    hue = np.where((value == g) & (value != r), (b - r) / safe + 2, hue)
    hue = np.where((value == b) & (value != r) & (value != g), (r - g) / safe + 4, hue)
    hue[delta == 0] = 0
    hsv = np.stack([hue / 6, saturation, value], axis=-1)
    red = (hsv[..., 0] < 0.08) & (hsv[..., 1] > 0.4)
    hsv[red, 0] += 0.33
    grey = (image @ np.array([299, 587, 114])) // 1000
    return (hsv * 255).astype(np.uint8), grey.astype(np.uint8), red.sum()


def arguments(rng, large=False):
    return (rng.integers(0, 256, (480, 640, 3) if large else (16, 20, 3)).astype(np.uint8),)
