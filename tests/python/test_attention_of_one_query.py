"""Attention of one query, as when tokens are decoded one by one."""

import numpy as np
import pytest
import tokamak as tk

from attention_support import (
    TOLERANCES,
    check,
    divided_first,
    divided_last,
    inputs,
    keys_first,
    reference,
    scale,
    scaled_query,
    scores,
    softmax,
)

HEADS_OF_ONE = {
    "heads": ((2, 4, 1, 64), (2, 4, 300, 64), (2, 4, 300, 64)),
    "odd": ((5, 1, 19), (5, 23, 19), (5, 23, 7)),
    "plain": ((1, 32), (500, 32), (500, 48)),
    "one_value": ((6, 1, 16), (6, 90, 16), (6, 90, 1)),
    "few_keys": ((64, 1, 8), (64, 5, 8), (64, 5, 8)),
}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shapes", HEADS_OF_ONE)
@pytest.mark.parametrize(
    "way",
    [tk.attention, divided_first, divided_last, scaled_query, keys_first],
    ids=lambda way: way.__name__,
)
def test_one_query(way, shapes, dtype):
    arguments = inputs(HEADS_OF_ONE[shapes], dtype)
    check(way, arguments, reference(*arguments), TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(
    "way",
    [
        lambda q, k, v: softmax(q @ k.T * scale(q)) @ v,
        lambda q, k, v: softmax(k @ q * scale(q)) @ v,
        lambda q, k, v: v.T @ softmax(k @ q * scale(q)),
        lambda q, k, v: (softmax(q[None] @ k.T * scale(q)) @ v)[0],
        lambda q, k, v: softmax((k @ q[:, None])[:, 0] * scale(q)) @ v,
    ],
)
def test_query_that_is_a_vector(way, dtype):
    q, k, v = inputs([(24,), (333, 24), (333, 40)], dtype)
    check(way, (q, k, v), reference(q[None], k, v)[0], TOLERANCES[dtype])


def test_one_query_under_a_mask():
    q, k, v = inputs(HEADS_OF_ONE["heads"])
    seen = np.random.default_rng(0).random((2, 1, 1, 300)) < 0.5

    def attend(q, k, v, seen):
        return softmax(np.where(seen, scores(q, k), -np.inf)) @ v

    check(attend, (q, k, v, seen), attend(*(x.astype(np.float64) for x in (q, k, v)), seen), 2e-5)


def test_one_query_of_one_head_with_many_keys():
    """The keys are shared by threads, which one kernel could not."""
    arguments = inputs([(1, 64), (5000, 64), (5000, 64)])
    check(tk.attention, arguments, reference(*arguments), 2e-5, kernels=3)


def test_one_query_and_keys_of_eight_bits():
    """Computed keys and values are not written to memory as floats."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((4, 1, 32)).astype(np.float32)
    k, v = (rng.integers(-127, 128, (4, 200, 32)).astype(np.int8) for _ in range(2))

    def attend(q, k, v):
        step = q.dtype.type(1 / 64)
        return softmax(scores(q, k.astype(q.dtype) * step)) @ (v.astype(q.dtype) * step)

    jitted = tk.jit(attend)
    want = attend(q.astype(np.float64), k, v)
    np.testing.assert_allclose(jitted(q, k, v), want, rtol=2e-5, atol=2e-5)
    assert max(one.bytes_written for one in jitted.explain(q, k, v).kernels) < k.size


def test_few_queries_with_many_keys():
    arguments = inputs([(5, 32), (9000, 32), (9000, 16)])
    check(tk.attention, arguments, reference(*arguments), 2e-5)


def test_many_tiny_heads():
    """Products of so few elements are faster as sums of element-wise ones."""
    arguments = inputs([(100, 8, 8), (100, 12, 8), (100, 12, 8)])
    check(tk.attention, arguments, reference(*arguments), 2e-5, kernels=3)


def joined(parts, new_first):
    return np.concatenate(parts[::-1] if new_first else parts, axis=-2)


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("new_first", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: np.dtype(dtype).name)
def test_keys_and_values_of_one_more_token(dtype, new_first, queries):
    """Those of the tokens before are read where they lie: what is written is no larger than the scores."""
    arguments = inputs([(12, n, 64) for n in (queries, 300, 1, 300, 1)], dtype)

    def attend(q, keys, k, values, v):
        return softmax(scores(q, joined([keys, k], new_first))) @ joined([values, v], new_first)

    want = attend(*(x.astype(np.float64) for x in arguments))
    check(attend, arguments, want, TOLERANCES[dtype], kernels=2)
    written = [one.bytes_written for one in tk.jit(attend).explain(*arguments).kernels]
    assert max(written) <= arguments[0].nbytes


def test_parts_of_a_concatenation_that_several_read():
    x, rows, row, weights = inputs([(2, 64), (200, 64), (1, 64), (201,)])

    def several(x, rows, row, weights):
        s = x @ np.concatenate([rows, row]).T * weights
        along = s.max(axis=1), s.min(axis=1), s.sum(axis=1), s.argmax(axis=1), np.cumsum(s, axis=1)
        return s, s.sum(axis=0), *along

    for got, want in zip(tk.jit(several)(x, rows, row, weights), several(x, rows, row, weights), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_columns_of_a_joined_matrix():
    x, y, a, column, row = inputs([(4, 200), (4, 1), (200, 100), (200, 1), (1, 100)])

    def wider(x, a, column):
        return x @ np.concatenate([a, column], axis=1)

    def longer(x, y, a, row):
        return np.concatenate([x, y], axis=1) @ np.concatenate([a, row])

    check(wider, (x, a, column), wider(x, a, column), 1e-4, kernels=3)
    check(longer, (x, y, a, row), longer(x, y, a, row), 1e-4)
