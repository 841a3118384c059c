"""Reductions of columns, many of them side by side, that need something of each column all along."""

import numpy as np
import pytest
import tokamak as tk

rng = np.random.default_rng(5)


def variance_and_centred(x):
    centred = x - x.mean(axis=0)
    return centred, x.var(axis=0)


def covariance(x):
    centred = x - x.mean(axis=0)
    return centred.T @ centred / (len(x) - 1), x.var(axis=0), x.std()


def standardised(x):
    return ((x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1)).sum(axis=0)


def distances(x):
    return (np.abs(x - np.sqrt(np.abs(x[0]) + 1) / 3) ** 2).sum(axis=0), np.cos(x[1]) * x.sum(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3001, 40), (3001, 32), (500, 1000), (20_000, 64), (9000, 7), (40, 5000)])
@pytest.mark.parametrize("function", [variance_and_centred, covariance, standardised, distances])
def test_every_column_has_its_own(function, shape, dtype):
    x = (rng.standard_normal(shape) + np.arange(shape[1]) % 50).astype(dtype)
    results = tk.jit(function)(x)
    wanted = function(x.astype(np.float64))
    if not isinstance(results, tuple):
        results, wanted = (results,), (wanted,)
    for result, right in zip(results, wanted):
        size = np.abs(right).max() + np.abs(x).max() * (len(x) if function is standardised else 1)
        step = np.finfo(dtype).eps
        np.testing.assert_allclose(result, right, rtol=2e4 * step, atol=100 * step * size)


def padded_and_centred(x):
    y = np.cos(np.pad(x, ((1, 0), (0, 1))))
    return y - y.mean(axis=0), y.sum(axis=0)


def joined_and_centred(x):
    y = np.exp(np.concatenate([x, -x[:, :3], np.zeros((len(x), 9), x.dtype)], axis=1) / 9)
    return y - y.mean(axis=0), y.max(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3209, 48), (3001, 24), (500, 1000), (2000, 7), (257, 3000), (70, 129)])
@pytest.mark.parametrize("function", [padded_and_centred, joined_and_centred])
def test_columns_of_which_some_are_made_otherwise(function, shape, dtype):
    """Accumulators have a place for each column, whatever the columns are cut into."""
    x = rng.standard_normal(shape).astype(dtype)
    for result, right in zip(tk.jit(function)(x), function(x.astype(np.float64)), strict=True):
        np.testing.assert_allclose(result, right, rtol=2e4 * np.finfo(dtype).eps, atol=1e3 * np.finfo(dtype).eps)


REDUCTIONS = [np.sum, np.max, np.min, np.any, np.argmax, np.argmin, np.nanmax, np.mean]


@pytest.mark.parametrize("shape", [(4096, 1024), (2000, 1100), (1030, 4099), (300, 9001), (40, 70, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_a_long_sweep_of_wide_rows(dtype, shape):
    x = (rng.standard_normal(shape) * 50).astype(dtype)
    if dtype in (np.float32, np.float64):
        x[7, ..., 3] = np.nan

    def reduced(x):
        return [reduction(x, axis=0) for reduction in REDUCTIONS] + [np.abs(x).sum(axis=0), x * 2]

    for reduction in REDUCTIONS:
        got, wanted = tk.jit(lambda x: reduction(x, axis=0))(x), reduction(x, axis=0)  # noqa: B023
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=0 if x.dtype.kind in "iu" else 1e-3, atol=1e-2)
    for got, wanted in zip(tk.jit(reduced)(x), reduced(x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0 if wanted.dtype.kind in "iub" else 1e-3, atol=1e-2)
