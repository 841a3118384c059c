"""Conjugate gradients for a symmetric, positive definite system."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=2)
def program(a, b, steps):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    for _ in range(steps):
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        old, rr = rr, r @ r
        p = r + rr / old * p
    return x, np.sqrt(rr)


def arguments(rng, large=False):
    n = 1000 if large else 40
    a = rng.standard_normal((n, n))
    return a @ a.T / n + 2 * np.eye(n), rng.standard_normal(n), 10
