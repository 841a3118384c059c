"""Deep products of operands that are computed: a few steps of k at a time, nothing of them is in memory."""

import numpy as np
import pytest
import tokamak as tk

from support import with_any_threads

rng = np.random.default_rng(13)
DEPTH = 9001


def r(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def integers(*shape, dtype=np.int64):
    return rng.integers(-9, 10, shape).astype(dtype)


def one_hot(labels, count):
    return labels[:, None] == np.arange(count)


def normalised(x):
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))


LABELS = rng.integers(0, 32, DEPTH)
CASES = {
    "one-hot": (lambda n, y: one_hot(n, 32).T.astype(y.dtype) @ y, LABELS, r(DEPTH, 8)),
    "means": (
        lambda n, y: (one_hot(n, 32).T.astype(y.dtype) @ y) / np.maximum(one_hot(n, 32).sum(0), 1)[:, None],
        LABELS,
        r(DEPTH, 8, dtype=float),
    ),
    "first, by steps": (lambda x, y: (x * 2).T @ y, r(DEPTH, 5), r(DEPTH, 37)),
    "first, by lines": (lambda x, y: (x * 2) @ y, r(5, DEPTH), r(DEPTH, 37)),
    "second, by steps": (lambda x, y: x.T @ (y / 3), r(DEPTH, 100), r(DEPTH, 3)),
    "second, by lines": (lambda x, y: x @ (y / 3).T, r(60, DEPTH), r(70, DEPTH)),
    "both": (lambda x, y: (x + 1).T @ (y / 3), r(DEPTH, 33), r(DEPTH, 65)),
    "weighted": (lambda x, w: (x * w[:, None]).T @ x, r(DEPTH, 20), r(DEPTH)),
    "rows reduced": (lambda x, y: normalised(x).T @ y, r(DEPTH, 40), r(DEPTH, 6)),
    "few terms more than parts": (lambda x, y: (x + 1).T @ y, r(8193, 4), r(8193, 4)),
    "many lines": (lambda x, y: (x + 1).T @ y, r(DEPTH, 380), r(DEPTH, 200)),
    "strided": (lambda x, y: (x[::2] + 1).T @ y[::-1], r(2 * DEPTH, 10), r(DEPTH, 12)[:, ::3]),
    "widened": (lambda x, y: (x * 2).astype(float).T @ y, r(DEPTH, 10), r(DEPTH, 12, dtype=float)),
    "integers": (lambda x, y: (x + 1).T @ y, integers(DEPTH, 7), integers(DEPTH, 70)),
    "integers of 32 bits": (
        lambda x, y: (x + 1).T @ (y * 2),
        integers(DEPTH, 7, dtype=np.int32),
        integers(DEPTH, 70, dtype=np.int32),
    ),
    "followed": (lambda x, y: np.maximum((x + 1).T @ y * 2, 0).sum(axis=1), r(DEPTH, 9), r(DEPTH, 11)),
    "turned": (lambda x, y: ((x + 1).T @ y).T, r(DEPTH, 9), r(DEPTH, 11)),
}


def wide(array):
    return array.astype(float) if array.dtype == np.float32 else array


@pytest.mark.parametrize("name", CASES)
def test_is_right_with_any_number_of_threads(name):
    function, *arguments = CASES[name]
    compiled = tk.jit(function)
    result = with_any_threads(lambda: compiled(*arguments))
    wanted = function(*(wide(a) for a in arguments))
    assert result.dtype == function(*arguments).dtype
    step = 1e-5 if result.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(result, wanted, rtol=0, atol=step * np.abs(wanted).max())


@pytest.mark.parametrize("name", CASES)
def test_no_operand_is_in_memory(name):
    function, *arguments = CASES[name]
    explained = tk.jit(function).explain(*arguments)
    product = next(kernel for kernel in explained.kernels if "dot" in kernel.ops)
    assert "made while it is packed" in product.loops and "in chunks of" in product.loops
    results = explained.memory.peak_bytes - explained.memory.arena_bytes - explained.memory.scratch_bytes
    assert explained.memory.arena_bytes <= max(results, 8192), explained.memory.plan


def test_labels_are_all_that_a_step_of_k_means_keeps():
    def step(points, centres):
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
        belongs = one_hot(squared.argmin(axis=1), centres.shape[0])
        total = belongs.T.astype(points.dtype) @ points
        return total / np.maximum(belongs.sum(axis=0), 1).astype(points.dtype)[:, None]

    points, centres = r(100_000, 8), r(32, 8)
    compiled = tk.jit(step)
    np.testing.assert_allclose(compiled(points, centres), step(points, centres), rtol=1e-3, atol=1e-3)
    assert compiled.explain(points, centres).memory.peak_bytes < 1_500_000


def test_what_others_read_is_in_memory():
    def both(x, y):
        scaled = x * 3
        return scaled.T @ y, scaled

    x, y = r(DEPTH, 9), r(DEPTH, 11)
    product, scaled = tk.jit(both)(x, y)
    np.testing.assert_array_equal(scaled, x * 3)
    np.testing.assert_allclose(product, (wide(x) * 3).T @ wide(y), rtol=0, atol=1e-3)


def test_constants_are_packed_as_ever():
    y = tk.constant(r(DEPTH, 11))
    x = r(DEPTH, 9)
    product = tk.jit(lambda x: (x * 2).T @ y)(x)
    np.testing.assert_allclose(product, (wide(x) * 2).T @ wide(np.asarray(y)), rtol=0, atol=1e-3)
