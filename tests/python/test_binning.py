"""np.bincount and the histograms against NumPy's own."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

from support import assert_same, check, seeds


@given(
    seeds,
    st.sampled_from([0, 1, 5, 1000]),
    st.sampled_from([np.int64, np.int8, np.uint16, np.bool_]),
    st.booleans(),
)
def test_bincount(seed, count, dtype, weighted):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2 if dtype is np.bool_ else 20, count).astype(dtype)
    if weighted:
        check(lambda x, w: np.bincount(x, w, 20), x, rng.random(count))
        check(lambda x, w: np.bincount(x, weights=w, minlength=25), x, rng.integers(0, 9, count))
        assert_same(np.bincount(tk.asarray(x), tk.asarray(x * 2.0)), np.bincount(x, x * 2.0))
    else:
        check(lambda x: np.bincount(x, minlength=20), x)
        assert_same(np.bincount(tk.asarray(x)), np.bincount(x))


def test_bincount_inside_jit_has_a_given_length():
    jitted = tk.jit(lambda x: np.bincount(x, minlength=4))
    assert_same(jitted(np.array([0, 3, 3])), np.array([1, 0, 0, 2]))
    for wrong in (4, -1):
        with pytest.raises(ValueError, match=r"^np\.bincount: .*negative, or not below minlength=4"):
            jitted(np.array([wrong]))
    with pytest.raises(NotImplementedError, match="minlength"):
        tk.jit(lambda x: np.bincount(x))(np.array([1]))


def test_bincount_refuses():
    for x, weights, minlength, kind in [
        (np.ones((2, 2), int), None, 4, ValueError),
        (np.ones(2, int), np.ones(3), 4, ValueError),
        (np.ones(2, int), None, -1, ValueError),
        (np.ones(2), None, 4, TypeError),
    ]:
        with pytest.raises(kind):
            tk.jit(lambda x: np.bincount(x, weights, minlength))(x)
    with pytest.raises(ValueError, match="negative"):
        np.bincount(tk.asarray(np.array([-1])))


DATA = [np.float64, np.float32, np.int64, np.int16, np.uint8]


def sample(rng, count, dtype):
    values = rng.random(count) * 10
    values[::7] = np.round(values[::7])  # on the edges
    return values.astype(dtype)


@given(
    seeds,
    st.sampled_from([0, 1, 7, 300]),
    st.sampled_from(DATA),
    st.sampled_from([1, 4, 10, 50]),
    st.sampled_from([None, (0, 10), (2.5, 7), (3, 3), (-5, 20)]),
)
@example(0, 300, np.float32, 50, (0, 10))
def test_histogram_of_equal_bins(seed, count, dtype, bins, bounds):
    x = sample(np.random.default_rng(seed), count, dtype)

    def histogram(x):
        return np.histogram(x, bins, bounds)

    check(histogram, x)
    counts, edges = histogram(tk.asarray(x))
    want = histogram(x)
    assert_same(counts, want[0])
    assert_same(edges, want[1])


@given(
    seeds, st.sampled_from([1, 7, 300]), st.sampled_from([4, 40]), st.sampled_from([np.float64, np.float32])
)
def test_histogram_of_given_edges(seed, count, bins, dtype):
    rng = np.random.default_rng(seed)
    x = sample(rng, count, dtype)
    x[: count // 5] = np.nan
    edges = np.sort(np.concatenate([rng.random(bins) * 10, [3, 3, 8]]))
    check(lambda x: np.histogram(x, edges), x)
    check(lambda x, edges: np.histogram(x, edges), x, edges)


def test_histogram_weights_and_density(rng):
    x = sample(rng, 300, np.float64)
    for dtype in (np.float64, np.float32, np.int64):
        w = (rng.random(300) * 5).astype(dtype)
        for bins in (8, np.linspace(0, 10, 9)):
            want = np.histogram(x, bins, (0, 10), weights=w)
            got = tk.jit(lambda x, w, bins=bins: np.histogram(x, bins, (0, 10), weights=w))(x, w)
            assert got[0].dtype == want[0].dtype
            np.testing.assert_allclose(got[0], want[0], rtol=1e-5 if dtype == np.float32 else 1e-12)
            assert_same(got[1], want[1])
    check(lambda x: np.histogram(x, 8, (0, 10), density=True), x, ulp=4)
    check(lambda x: np.histogram(x.reshape(20, 15), 8, density=True), x, ulp=4)
    check(lambda x: np.histogram_bin_edges(x, 12), x)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.histogram(x, 4),
        lambda x: np.histogram(x, 4)[0],
        lambda x: np.histogram(x, 4)[1],
        lambda x: np.histogram(x, 4, weights=x, density=True),
        lambda x: np.histogram_bin_edges(x, 4),
        lambda x: np.histogram2d(x, np.abs(x), 4),
    ],
)
def test_histogram_of_what_is_not_finite(function, bad):
    x = np.array([1.0, bad, 2.0])
    for f in (function, tk.jit(function)):
        with pytest.raises(ValueError, match="not finite"):
            f(x)


def test_histogram_of_numbers_that_are_not_finite_in_a_range():
    check(lambda x: np.histogram(x, 4, (0, 4)), np.array([1.0, np.nan, np.inf, -np.inf, 4.0]))


def test_histogram_refuses():
    x = np.arange(4.0)
    for options, kind in [
        ({"bins": 0}, ValueError),
        ({"bins": 2.5}, TypeError),
        ({"bins": [3, 1, 2]}, ValueError),
        ({"range": (2, 1)}, ValueError),
        ({"range": (0, np.inf)}, ValueError),
        ({"weights": np.ones(3)}, ValueError),
        ({"bins": "auto"}, NotImplementedError),
    ]:
        with pytest.raises(kind):
            tk.jit(lambda x, options=options: np.histogram(x, **options))(x)
    counts, edges = np.histogram(tk.asarray(x), "auto")
    want = np.histogram(x, "auto")
    assert_same(counts, want[0])
    assert_same(edges, want[1])


@pytest.mark.parametrize("bins", [5, (4, 6), [0.0, 1.0, 5.0, 10.0], [np.linspace(0, 10, 41), 3]])
@pytest.mark.parametrize("bounds", [None, [(0, 10), (2, 8)]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_histogram2d(bins, bounds, dtype, rng):
    x, y = sample(rng, 200, dtype), sample(rng, 200, dtype)

    def histogram(x, y):
        return np.histogram2d(x, y, bins, bounds)

    check(histogram, x, y)
    w = rng.random(200)
    want = np.histogram2d(x, y, bins, bounds, density=True, weights=w)
    got = tk.jit(lambda x, y, w: np.histogram2d(x, y, bins, bounds, density=True, weights=w))(x, y, w)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_histogramdd(rng):
    points = sample(rng, 300, np.float64).reshape(100, 3)
    for bins in (3, (2, 3, 4)):
        for bounds in (None, [(0, 10), (1, 9), (2, 8)]):
            want = np.histogramdd(points, bins, bounds)
            got = tk.jit(lambda p, bins=bins, bounds=bounds: np.histogramdd(p, bins, bounds))(points)
            assert_same(got[0], want[0])
            for one, other in zip(got[1], want[1], strict=True):
                assert_same(one, other)
    with pytest.raises(ValueError, match="dimension of bins"):
        tk.jit(lambda p: np.histogramdd(p, (2, 3)))(points)


def test_everything_is_one_pass(rng):
    x = rng.random(1000)
    e = tk.jit(lambda x: np.histogram(x, 50, (0, 1))[0]).explain(x)
    assert len(e.kernels) == 1, [kernel.ops for kernel in e.kernels]
