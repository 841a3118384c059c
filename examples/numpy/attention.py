"""Causal self-attention with several heads."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=4)
def program(x, wq, wk, wv, heads):
    n, width = x.shape
    q, k, v = (np.moveaxis((x @ w).reshape(n, heads, width // heads), 1, 0) for w in (wq, wk, wv))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(width // heads)
    scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.moveaxis(weights @ v, 0, 1).reshape(n, width)


def arguments(rng, large=False):
    n, width, heads = (512, 256, 8) if large else (32, 32, 4)
    w = [rng.standard_normal((width, width)) / np.sqrt(width) for _ in range(3)]
    return rng.standard_normal((n, width)), *w, heads
