"""Batch normalisation of images in a net, with running statistics, and its gradient."""

import numpy as np
import tokamak as tk


@tk.jit
def program(x, gamma, beta, running_mean, running_var, dout):
    axes = (0, 1, 2)
    mean = x.mean(axis=axes)
    var = x.var(axis=axes)
    running_mean *= 0.9
    running_mean += 0.1 * mean
    running_var[...] = 0.9 * running_var + 0.1 * var
    inverse = 1 / np.sqrt(var + 1e-5)
    normal = (x - mean) * inverse
    out = np.maximum(gamma * normal + beta, 0)

    dout = dout * (out > 0)
    dgamma = np.sum(dout * normal, axis=axes)
    dbeta = np.sum(dout, axis=axes)
    count = x.shape[0] * x.shape[1] * x.shape[2]
    dx = gamma * inverse / count * (count * dout - dbeta - normal * dgamma)
    return out, dx, dgamma, dbeta


def arguments(rng, large=False):
    shape = (16, 32, 32, 64) if large else (2, 4, 4, 8)
    x, dout = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    c = shape[-1]
    ones, zeros = np.ones(c, np.float32), np.zeros(c, np.float32)
    return x, 1.5 * ones, 0.1 * ones, zeros, ones, dout
