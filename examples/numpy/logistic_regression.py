"""Logistic regression by gradient descent."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=4)
def program(x, y, w, rate, steps):
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(x @ w)))
        w -= rate * (x.T @ (p - y)) / len(y)
    p = np.clip(1 / (1 + np.exp(-(x @ w))), 1e-12, 1 - 1e-12)
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()


def arguments(rng, large=False):
    n, features = (50_000, 30) if large else (100, 5)
    x = rng.standard_normal((n, features))
    return x, (x @ rng.standard_normal(features) > 0).astype(float), np.zeros(features), 0.5, 5
