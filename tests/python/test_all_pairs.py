"""Sums over all pairs of points, of which no matrix is ever in memory."""

import numpy as np
import pytest
import tokamak as tk

rng = np.random.default_rng(3)


def forces(x, y, mass):
    distance = x[None, :, :] - y[:, None, :]
    squared = (distance * distance).sum(axis=-1) + 0.5
    return (distance * (mass[None, :] / (squared * np.sqrt(squared)))[:, :, None]).sum(axis=1)


def potential(x, y, mass):
    distance = x[None, :, :] - y[:, None, :]
    return (mass / np.sqrt((distance * distance).sum(axis=-1) + 0.5)).sum(axis=1)


def density(x, y, mass):
    return (np.exp(-((x[:, None] - y[None]) ** 2).sum(axis=-1)) * mass[:, None]).mean(axis=0)


def nearest(x, y, mass):
    return ((x[None] - y[:, None]) ** 2).sum(axis=-1).min(axis=1)


def both(x, y, mass):
    squared = ((x[None] - y[:, None]) ** 2).sum(axis=-1)
    return squared.max(axis=1), (squared * mass).sum(axis=1), (np.sqrt(squared + 1) - 1).sum(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("sizes", [(700, 500), (521, 1023), (30, 20)])
@pytest.mark.parametrize("function", [forces, potential, density, nearest, both])
def test_all_pairs(function, sizes, dimensions, dtype):
    x, y = (rng.standard_normal((size, dimensions)).astype(dtype) for size in sizes)
    mass = rng.random(len(x)).astype(dtype)
    results, wanted = tk.jit(function)(x, y, mass), function(*(a.astype(np.float64) for a in (x, y, mass)))
    if not isinstance(results, tuple):
        results, wanted = (results,), (wanted,)
    for result, right in zip(results, wanted, strict=True):
        assert result.dtype == dtype
        tolerance = 200 * np.finfo(dtype).eps
        np.testing.assert_allclose(result, right, rtol=tolerance, atol=tolerance * np.abs(right).max())


def test_no_matrix_of_pairs_is_in_memory():
    x, mass = rng.standard_normal((1000, 3)), rng.random(1000)
    explanation = tk.jit(forces).explain(x, x, mass)
    assert len(explanation.kernels) == 1 and "run all of k at once" in explanation.kernels[0].schedule
    assert explanation.memory.peak_bytes < 1_000_000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimensions", range(2, 9))
def test_short_sums_have_the_bits_of_numpy(dimensions, dtype):
    x, centres = (rng.standard_normal((size, dimensions)).astype(dtype) for size in (3001, 90))

    def assign(x, centres):
        squared = ((x[:, None] - centres[None]) ** 2).sum(axis=-1)
        return squared.min(axis=1), squared.argmin(axis=1)

    compiled = tk.jit(assign)
    for result, right in zip(compiled(x, centres), assign(x, centres), strict=True):
        np.testing.assert_array_equal(result, right)
    assert compiled.explain(x, centres).memory.peak_bytes < 1_000_000


def test_long_chains_of_shared_values():
    """Ways through a graph are many more than its values."""

    def f(x):
        d = x[None] - x[:, None]
        for _ in range(60):
            d = d * 0.5 + d * d * 0.01
        r = (d * d).sum(axis=2)
        for _ in range(60):
            r = r * 0.5 + r * r * 0.01
        return np.sqrt(r).sum(axis=1)

    x = np.random.default_rng(3).uniform(0, 1, (600, 3))
    np.testing.assert_allclose(tk.jit(f)(x), f(x), rtol=1e-12)


def city_block(x, y):
    return np.abs(x[:, None] - y[None]).sum(axis=-1)


def batched(x, y):
    return (x[:, :, :, None] * y[:, None]).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("rows", [256, 258, 257, 64, 4])
@pytest.mark.parametrize("columns", [300, 37, 7])
@pytest.mark.parametrize("length", [3, 16, 40])
def test_rows_that_read_the_same(rows, columns, length, dtype):
    """They go through their sweep together, as many as their number can be divided by."""
    x, y = ((10 * rng.standard_normal((size, length))).astype(dtype) for size in (rows, columns))
    np.testing.assert_allclose(tk.jit(city_block)(x, y), city_block(x, y), rtol=1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_small_products_share_what_they_read(size):
    x, y = (rng.integers(-9, 9, (301, size, size)).astype(np.float32) for _ in range(2))
    np.testing.assert_array_equal(tk.jit(batched)(x, y), batched(x, y))
    np.testing.assert_array_equal(tk.jit(np.matmul)(x, y), x @ y)
