"""What the tests of attention have in common."""

import math

import ml_dtypes
import numpy as np
import tokamak as tk

SHAPES = {
    "heads": ((2, 3, 33, 16), (2, 3, 37, 16), (2, 3, 37, 21)),
    "plain": ((41, 24), (29, 24), (29, 7)),
    "square": ((5, 32, 32), (5, 32, 32), (5, 32, 32)),
    "batch_of_one": ((1, 18, 16), (1, 40, 16), (1, 40, 2)),
}
TOLERANCES = {np.float32: 2e-5, np.float64: 1e-12, ml_dtypes.bfloat16: 6e-2}


def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def scale(q):
    return q.dtype.type(1 / math.sqrt(q.shape[-1]))


def scores(q, k):
    return q @ k.mT * scale(q)


def transposed_scores(q, k):
    return k @ q.mT * scale(q)


def divided_first(q, k, v):
    s = scores(q, k)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def divided_last(q, k, v):
    s = scores(q, k)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e @ v) / e.sum(-1, keepdims=True)


def scaled_query(q, k, v):
    return softmax((q * scale(q)) @ k.mT) @ v


def keys_first(q, k, v):
    return softmax(transposed_scores(q, k), axis=-2).mT @ v


def inputs(shapes, dtype=np.float32):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def reference(q, k, v):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    return softmax(q @ k.mT / math.sqrt(q.shape[-1])) @ v


def check(function, arguments, want, tolerance, kernels=1):
    jitted = tk.jit(function)
    got = jitted(*arguments)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)
    explained = jitted.explain(*arguments)
    assert len(explained.kernels) == kernels, explained
