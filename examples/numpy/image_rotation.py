"""Rotates an image about its centre, with bilinear interpolation; outside it is black."""

import numpy as np
import tokamak as tk


@tk.jit
def program(image, angle):
    height, width = image.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    cy, cx = (height - 1) / 2, (width - 1) / 2
    c, s = np.cos(angle), np.sin(angle)
    source_y = cy + (y - cy) * c - (x - cx) * s
    source_x = cx + (y - cy) * s + (x - cx) * c
    y0 = np.floor(source_y).astype(int)
    x0 = np.floor(source_x).astype(int)
    fy = (source_y - y0)[..., None]
    fx = (source_x - x0)[..., None]
    inside = (y0 >= 0) & (y0 < height - 1) & (x0 >= 0) & (x0 < width - 1)
    y0 = np.clip(y0, 0, height - 2)
    x0 = np.clip(x0, 0, width - 2)
    top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
    bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
    out = top * (1 - fy) + bottom * fy
    out[~inside] = 0
    return np.rint(out).astype(np.uint8)


def arguments(rng, large=False):
    shape = (480, 640, 3) if large else (16, 20, 3)
    return rng.integers(0, 256, shape).astype(np.uint8), 0.3
