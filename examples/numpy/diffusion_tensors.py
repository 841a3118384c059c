"""Eigenvalues of many symmetric 3x3 matrices (diffusion tensors of a brain) by Jacobi's rotations."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="sweeps")
def program(tensors, sweeps):
    a = tensors.copy()
    vectors = np.zeros_like(a)
    vectors[:] = np.eye(3)
    for _ in range(sweeps):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            angle = 0.5 * np.arctan2(2 * a[:, p, q], a[:, q, q] - a[:, p, p])
            c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
            row_p, row_q = a[:, p, :].copy(), a[:, q, :].copy()
            a[:, p, :] = c * row_p - s * row_q
            a[:, q, :] = s * row_p + c * row_q
            column_p, column_q = a[:, :, p].copy(), a[:, :, q].copy()
            a[:, :, p] = c * column_p - s * column_q
            a[:, :, q] = s * column_p + c * column_q
            v_p, v_q = vectors[:, :, p].copy(), vectors[:, :, q].copy()
            vectors[:, :, p] = c * v_p - s * v_q
            vectors[:, :, q] = s * v_p + c * v_q
    values = np.sort(np.diagonal(a, axis1=1, axis2=2), axis=1)[:, ::-1]
    mean = values.mean(axis=1)
    spread = np.sqrt(((values - mean[:, None]) ** 2).sum(axis=1))
    anisotropy = np.sqrt(1.5) * spread / np.sqrt((values**2).sum(axis=1))
    return values, mean, anisotropy


def arguments(rng, large=False):
    g = rng.standard_normal((50_000 if large else 20, 3, 3))
    return g @ g.transpose(0, 2, 1) + 0.1 * np.eye(3), 4 if large else 2
