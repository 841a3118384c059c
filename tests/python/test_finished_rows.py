"""Elementary functions of what rows are reduced to: computed for many rows in lanes, after these were swept."""

from __future__ import annotations

import numpy as np
import pytest
from support import with_threads

import tokamak as tk

ROWS = [(1000, 64), (997, 30), (4, 300, 17), (1025, 1), (70000, 3)]


def is_finished_together(function, *arguments) -> bool:
    return any("after its sweeps" in kernel.schedule for kernel in tk.jit(function).explain(*arguments).kernels)


def numbers(shape, dtype):
    return np.random.default_rng(7).uniform(0.1, 2, shape).astype(dtype)


def close(got, wanted, dtype) -> None:
    tolerance = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-14}[dtype]
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_functions_of_sums(shape, dtype):
    def f(x):
        total = x.max(axis=-1)
        return np.log(total), np.exp(-total) + total, total

    x = numbers(shape, dtype)
    for got, wanted in zip(tk.jit(f)(x), f(x), strict=True):
        close(got, wanted, dtype)


def test_they_are_finished_together():
    x = numbers((1000, 64), np.float32)
    assert is_finished_together(lambda x: np.log(x.max(axis=1)), x)
    assert not is_finished_together(lambda x: x.mean(axis=1), x)


def test_with_what_belongs_to_each_row():
    def f(x, y, z):
        score = x @ y
        p = 1 / (1 + np.exp(-score))
        return p - z, np.where(z > 1, np.log(p), score), p > 0.5, score.astype(np.int32)

    x, y, z = numbers((3001, 64), np.float64), numbers(64, np.float64) - 1, numbers(3001, np.float64)
    for got, wanted in zip(tk.jit(f)(x, y, z), f(x, y, z), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert is_finished_together(f, x, y, z)


def test_results_that_do_not_lie_side_by_side():
    def f(x):
        return np.log(x.sum(axis=2)).T, np.exp(x.max(axis=2))[:, ::-1]

    x = numbers((40, 33, 20), np.float32)
    for got, wanted in zip(tk.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-6)


def test_what_is_looked_up_for_each_row():
    def f(x, i):
        total = x.sum(axis=1)
        return np.log(total) - np.take_along_axis(x, i[:, None], axis=1)[:, 0]

    x, i = numbers((2000, 50), np.float32), np.random.default_rng(1).integers(0, 50, 2000)
    g = tk.jit(f)
    np.testing.assert_allclose(g(x, i), f(x, i), rtol=2e-5)
    i[1777] = 50
    with pytest.raises(IndexError):
        g(x, i)


@pytest.mark.parametrize("rows", [64, 1000, 1023])
def test_the_same_bits_as_each_row_by_itself(rows):
    """With few rows there is no block, and lanes have other neighbours."""
    f = tk.jit(lambda x: np.log(x.min(axis=1)) * np.exp(x.max(axis=1)))
    x = numbers((rows, 40), np.float32)
    together = f(x)
    for first in range(0, rows, 101):
        assert np.array_equal(f(x[first : first + 8]), together[first : first + 8])
    assert all(np.array_equal(with_threads(n, lambda: f(x)), together) for n in (1, 2, 7))


def test_only_rows_that_a_reduction_chooses_are_written():
    def f(a, x):
        np.copyto(a, np.log(x.sum(axis=1)), where=(x > 1.99).any(axis=1))

    x = numbers((1000, 64), np.float32)
    got, wanted = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    assert is_finished_together(f, got.copy(), x)
    tk.jit(f)(got, x)
    f(wanted, x)
    assert 0 < np.count_nonzero(wanted) < 1000
    np.testing.assert_allclose(got, wanted, rtol=2e-6)
