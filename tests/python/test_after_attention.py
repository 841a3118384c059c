"""What follows attention in its kernel, and what does not."""

import numpy as np
import pytest
import tokamak as tk

from attention_support import (
    SHAPES,
    TOLERANCES,
    check,
    inputs,
    reference,
    scale,
    scores,
    softmax,
    transposed_scores,
)


def normalised(x):
    wide = x.astype(np.float64)
    return (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(
    "shapes",
    [((2, 3, 33, 16),) * 3, ((41, 24), (29, 24), (29, 24)), ((2, 5, 1, 16), (2, 5, 9, 16), (2, 5, 9, 16))],
)
def test_layer_norm_of_the_residual(shapes, dtype):
    arguments = inputs(shapes, dtype)

    def block(q, k, v):
        return tk.layer_norm(q + softmax(scores(q, k)) @ v)

    want = normalised(arguments[0].astype(np.float64) + reference(*arguments))
    check(block, arguments, want, 4 * TOLERANCES[dtype])


def test_reductions_that_follow():
    arguments = inputs([(2, 3, 33, 16)] * 3)
    mixed = reference(*arguments)

    def largest(q, k, v):
        return tk.attention(q, k, v).max(axis=-1)

    def again(q, k, v):
        return softmax(tk.attention(q, k, v) + q)

    def root_mean_square(q, k, v):
        return tk.rms_norm(tk.attention(q, k, v) * 2 + q)

    check(largest, arguments, mixed.max(axis=-1), 2e-5)
    check(again, arguments, softmax(mixed + arguments[0]), 2e-5)
    x = mixed * 2 + arguments[0]
    check(root_mean_square, arguments, x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), 1e-4)


def test_masked_attention_and_layer_norm():
    arguments = inputs([(2, 3, 70, 16)] * 3)

    def block(q, k, v):
        return tk.layer_norm(q + tk.attention(q, k, v, causal=True))

    q, k, v = (x.astype(np.float64) for x in arguments)
    hidden = np.triu(np.ones((70, 70), bool), 1)
    mixed = softmax(np.where(hidden, -np.inf, q @ k.mT * 0.25)) @ v
    check(block, arguments, normalised(q + mixed), 1e-4)
    assert "are skipped" in tk.jit(block).explain(*arguments).kernels[0].loops


def test_weights_are_a_result_too():
    """More than one kernel: they have to be whole in memory."""

    def both(q, k, v):
        p = softmax(transposed_scores(q, k), axis=-2)
        return p.mT @ v, p, v.mT @ p

    arguments = inputs(SHAPES["heads"])
    got = tk.jit(both)(*arguments)
    for g, w in zip(got, both(*(x.astype(np.float64) for x in arguments)), strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5)


def test_attention_of_attention():
    """The mixed values are the queries of the next one, and the weights of it are behind its values."""

    def twice(q, k, v):
        first = v.mT @ softmax(transposed_scores(q, k), axis=-2)
        return v.mT @ softmax(k @ first * scale(q), axis=-2)

    arguments = inputs([(3, 32, 16)] * 3)
    want = twice(*(x.astype(np.float64) for x in arguments))
    np.testing.assert_allclose(tk.jit(twice)(*arguments), want, rtol=2e-5, atol=2e-5)


def test_threads():
    arguments = inputs(SHAPES["heads"])

    def block(q, k, v):
        return tk.layer_norm(v.mT @ softmax(transposed_scores(q, k), axis=-2))

    before = tk.num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            tk.set_num_threads(threads)
            results.append(tk.jit(block)(*arguments))
    finally:
        tk.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
