"""Programs whose explanations are looked at, and their arguments."""

import numpy as np
import tokamak as tk


@tk.jit
def mlp(x, w1, b1, w2, unused):
    _ = np.exp(x @ unused)  # dead
    h = np.maximum(x @ w1 + b1, 0)
    y = h @ w2
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), (h.T * 2).sum(axis=0)


FIRST_LINE = mlp.__wrapped__.__code__.co_firstlineno


def f32(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


MLP_ARGS = (f32(48, 64), f32(64, 80), f32(80), f32(80, 32), f32(64, 80))


@tk.jit
def unrolled(x, w):
    for i in range(30):
        x = np.sort(np.tanh(x * 0.5 + i) @ w, axis=0) + x.mean(axis=1, keepdims=True) * (x + 1)
    return x
