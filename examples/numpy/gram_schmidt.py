"""The QR factors of a matrix by the method of Gram and Schmidt, and a least squares fit with them."""

import numpy as np
import tokamak as tk


@tk.jit
def program(a, b):
    m, n = a.shape
    v = a.copy()
    q = np.zeros((m, n))
    r = np.zeros((n, n))
    for i in range(n):
        r[i, i] = np.linalg.norm(v[:, i])
        q[:, i] = v[:, i] / r[i, i]
        r[i, i + 1 :] = q[:, i] @ v[:, i + 1 :]
        v[:, i + 1 :] -= np.outer(q[:, i], r[i, i + 1 :])
    y = q.T @ b
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - r[i, i + 1 :] @ x[i + 1 :]) / r[i, i]
    return q, r, x, np.sum((a @ x - b) ** 2)


def arguments(rng, large=False):
    m, n = (20_000, 16) if large else (30, 4)
    a = rng.standard_normal((m, n))
    return a, a @ rng.standard_normal(n) + 0.1 * rng.standard_normal(m)
