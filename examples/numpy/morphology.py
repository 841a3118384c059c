"""Opening and closing of a thresholded image, its outline, and the area that changed."""

import numpy as np
import tokamak as tk


def dilate(mask):
    out = mask.copy()
    out[1:] |= mask[:-1]
    out[:-1] |= mask[1:]
    out[:, 1:] |= mask[:, :-1]
    out[:, :-1] |= mask[:, 1:]
    return out


def erode(mask):
    return ~dilate(~mask)


@tk.jit
def program(image):
    mask = image > image.mean() + 0.5 * image.std()
    opened = dilate(erode(mask))
    closed = erode(dilate(opened))
    outline = closed & ~erode(closed)
    marked = image.copy()
    marked[outline] = image.max()
    return closed, marked, np.count_nonzero(mask ^ closed), outline.sum()


def arguments(rng, large=False):
    image = rng.random((1500, 1500) if large else (24, 32))
    image[5:-5, 5:-5] += 0.3
    return (image,)
