"""Products whose operands are packed a part of k at a time: sums lie in the result until the last part."""

import numpy as np
import pytest
import tokamak as tk

from support import with_any_threads

rng = np.random.default_rng(17)
ROWS, DEPTH, COLUMNS = 500, 4100, 600


def r(*shape, dtype=np.float32):
    return (rng.standard_normal(shape) / 8).astype(dtype)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.float32(0.8) * (x + np.float32(0.04) * x * x * x)))


X, W, B = r(ROWS, DEPTH), r(DEPTH, COLUMNS), r(COLUMNS)
RESIDUAL = r(ROWS, COLUMNS)
CONSTANT = tk.constant(W)
PLAIN = {
    "constant weights": (lambda x: np.maximum(x @ CONSTANT + B, 0), X),
    "sums": (lambda x, w: x @ w, X, W),
    "bias": (lambda x, w, b: x @ w + b, X, W, B),
    "relu": (lambda x, w, b: np.maximum(x @ w + b, 0), X, W, B),
    "gelu": (lambda x, w, b: gelu(x @ w + b), X, W, B),
    "residual": (lambda x, w, b, y: y + (x @ w + b), X, W, B, RESIDUAL),
    "several times": (lambda x, w, y: (x @ w) * y + (x @ w) * 3, X, W, RESIDUAL),
    "second transposed": (lambda x, w, b: x @ w.T + b, X, np.ascontiguousarray(W.T), B),
    "strided": (lambda x, w, b: x @ w + b, r(ROWS, 2 * DEPTH)[:, ::2], W, B),
    "first transposed": (lambda x, w, b: x.T @ w + b, np.ascontiguousarray(X.T), W, B),
    "double": (lambda x, w: x @ w + 1, X.astype(float), W.astype(float)),
    "integers": (
        lambda x, w: np.maximum(x @ w, 3),
        rng.integers(-9, 10, (ROWS, DEPTH)),
        rng.integers(-9, 10, (DEPTH, COLUMNS)),
    ),
}


def wide(array):
    return array.astype(float) if array.dtype == np.float32 else array


@pytest.mark.parametrize("name", PLAIN)
def test_is_cut_and_right_with_any_number_of_threads(name):
    function, *arguments = PLAIN[name]
    compiled = tk.jit(function)
    result = with_any_threads(lambda: compiled(*arguments))
    wanted = function(*(wide(a) for a in arguments))
    step = 1e-4 if result.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(result, wanted, rtol=0, atol=step)


CUT = ["sums", "bias", "relu", "residual", "second transposed", "double", "constant weights"]


@pytest.mark.parametrize("name", CUT)
def test_less_is_packed_than_there_is(name):
    function, *arguments = PLAIN[name]
    explained = tk.jit(function).explain(*arguments)
    assert len(explained.kernels) == 1
    assert "k in parts of" in explained.kernels[0].loops
    assert explained.memory.arena_bytes <= arguments[0].nbytes / 2, explained.memory.plan


def test_sums_are_those_of_fewer_rows():
    """Which are packed at once."""
    f = tk.jit(lambda x, w, b: np.maximum(x @ w + b, 0))
    few = tk.jit(lambda x, w, b: np.maximum(x @ w + b, 0))
    assert "in parts" not in few.explain(X[:48], W, B).kernels[0].loops
    np.testing.assert_array_equal(f(X, W, B)[96:144], few(X[96:144], W, B))


def test_what_follows_rounds_as_on_its_own():
    np.testing.assert_array_equal(
        tk.jit(lambda x, w, b, y: y - (x @ w + b) * y)(X, W, B, RESIDUAL),
        RESIDUAL - (tk.jit(lambda x, w: x @ w)(X, W) + B) * RESIDUAL,
    )


def test_a_residual_that_nobody_needs_any_more_is_not_overwritten_before_it_is_read():
    def twice(x, w, y):
        first = np.exp(y)
        return first + x @ w

    apart = tk.jit(lambda y: np.exp(y))(RESIDUAL) + tk.jit(lambda x, w: x @ w)(X, W)
    np.testing.assert_array_equal(tk.jit(twice)(X, W, RESIDUAL), apart)
    y = RESIDUAL.copy()
    given = tk.jit(lambda x, w, y: y + x @ w, donate_argnums=(2,))(X, W, y)
    np.testing.assert_array_equal(given, RESIDUAL + tk.jit(lambda x, w: x @ w)(X, W))


def test_writes_to_an_argument():
    def add(x, w, y):
        y += x @ w
        return y.sum()

    y = RESIDUAL.copy()
    tk.jit(add)(X, W, y)
    np.testing.assert_array_equal(y, RESIDUAL + tk.jit(lambda x, w: x @ w)(X, W))


def test_results_of_other_types_keep_their_sums_with_the_block():
    for function in (
        lambda x, w: (x @ w).astype(np.float16),
        lambda x, w: (x @ w) > 0,
        lambda x, w: (x @ w).T * 2,
        lambda x, w: (x @ w, x @ w * 2),
        lambda x, w: (x @ w).max(axis=1),
    ):
        both = tk.jit(function)(X, W), function(wide(X), wide(W))
        found, wanted = (one if isinstance(one, tuple) else (one,) for one in both)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.astype(float), b, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("seed", range(12))
def test_random_shapes(seed):
    draw = np.random.default_rng(seed)
    rows, depth, columns = draw.integers(130, 700), draw.integers(1500, 5000), draw.integers(60, 400)
    x, w = r(rows, depth), r(depth, columns)
    y, b = r(rows, columns), r(rows, 1)
    f = tk.jit(lambda x, w, y, b: np.maximum(x @ w - b, y) / 2)
    np.testing.assert_allclose(f(x, w, y, b), np.maximum(wide(x) @ wide(w) - b, y) / 2, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(
        f(x, w, y, b), np.maximum(tk.jit(lambda x, w: x @ w)(x, w) - b, y) / np.float32(2)
    )
