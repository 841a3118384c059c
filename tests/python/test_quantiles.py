"""Medians, percentiles and quantiles, with and without NaNs, against NumPy."""

import numpy as np
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import BOOL, DTYPES, FLOATS, assert_same, random_array, seeds

SHAPES = [(), (0,), (1,), (2,), (5,), (8,), (3, 0), (4, 7), (2, 3, 5)]
METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
shapes = st.sampled_from(SHAPES)
full_shapes = st.sampled_from([shape for shape in SHAPES if 0 not in shape])
dtypes = st.sampled_from(DTYPES)
numbers = st.sampled_from([dtype for dtype in DTYPES if dtype not in BOOL])
floats = st.sampled_from(FLOATS)
methods = st.sampled_from(METHODS)
quantiles = st.sampled_from(
    [
        0.5,
        0,
        1,
        0.1,
        np.float64(0.3),
        np.float32(0.3),
        [0.25, 0.75],
        [0, 1],
        np.array([0.9], np.float32),
        [[0.1, 0.2]],
    ]
)


def draw_axis(data, shape):
    choices = [None, *range(-len(shape), len(shape))]
    if len(shape) > 1:
        choices += [(0, 1), (-1, 0), ()]
    return data.draw(st.sampled_from(choices))


def some(rng, shape, dtype, nans=0.0):
    x = random_array(rng, shape, dtype, -50, 50, special=False)
    if x.dtype.kind == "f" and nans:
        x = np.where(rng.random(shape) < nans, np.nan, x).astype(dtype)
    return x


@given(
    shape=shapes,
    dtype=dtypes,
    seed=seeds,
    keepdims=st.booleans(),
    nans=st.sampled_from([0, 0.1]),
    data=st.data(),
)
def test_median(shape, dtype, seed, keepdims, nans, data):
    axis = draw_axis(data, shape)
    if 0 in shape and isinstance(axis, tuple):
        return  # NumPy cannot reshape
    x = some(np.random.default_rng(seed), shape, dtype, nans)
    agree(lambda x: np.median(x, axis=axis, keepdims=keepdims), x)


@given(shape=shapes, dtype=dtypes, seed=seeds, keepdims=st.booleans(), data=st.data())
def test_nanmedian(shape, dtype, seed, keepdims, data):
    axis = draw_axis(data, shape)
    if 0 in shape and isinstance(axis, tuple):
        return
    x = some(np.random.default_rng(seed), shape, dtype, 0.4)
    agree(lambda x: np.nanmedian(x, axis=axis, keepdims=keepdims), x, rounded=True)


@given(
    shape=full_shapes,
    dtype=numbers,
    seed=seeds,
    q=quantiles,
    method=methods,
    keepdims=st.booleans(),
    nans=st.sampled_from([0, 0.1]),
    data=st.data(),
)
def test_quantile(shape, dtype, seed, q, method, keepdims, nans, data):
    axis = draw_axis(data, shape)
    if isinstance(q, np.generic):
        nans = 0  # NumPy's one result then has the dtype of x if it is NaN, and that of q otherwise
    x = some(np.random.default_rng(seed), shape, dtype, nans)
    agree(lambda x: np.quantile(x, q, axis=axis, method=method, keepdims=keepdims), x)
    percent = np.multiply(q, 100).tolist() if isinstance(q, (list, int, float)) else q * 100
    agree(lambda x: np.percentile(x, percent, axis=axis, method=method, keepdims=keepdims), x)


@given(
    shape=full_shapes,
    dtype=floats,
    seed=seeds,
    q=quantiles,
    method=methods,
    keepdims=st.booleans(),
    data=st.data(),
)
def test_nanquantile(shape, dtype, seed, q, method, keepdims, data):
    axis = draw_axis(data, shape)
    if np.ndim(q) == 2 and isinstance(axis, tuple):
        return  # NumPy puts the axes of q in between
    x = some(np.random.default_rng(seed), shape, dtype, 0.3)
    if np.isnan(x).any() and type(q) not in (int, float):
        x = x.astype(np.float64)  # NumPy takes the dtype from the first line, which may have no numbers
    agree(lambda x: np.nanquantile(x, q, axis=axis, method=method, keepdims=keepdims), x)
    percent = np.multiply(q, 100).tolist() if isinstance(q, (list, int, float)) else q * 100
    agree(lambda x: np.nanpercentile(x, percent, axis=axis, method=method, keepdims=keepdims), x)


@given(
    shape=full_shapes, dtype=dtypes, seed=seeds, q=quantiles, nans=st.sampled_from([0, 0.2]), data=st.data()
)
def test_weights(shape, dtype, seed, q, nans, data):
    axis = draw_axis(data, shape)
    rng = np.random.default_rng(seed)
    x = some(rng, shape, dtype, nans)
    w = rng.integers(1, 4, shape).astype(data.draw(st.sampled_from([np.int32, np.float64])))
    options = {"axis": axis, "method": "inverted_cdf"}
    agree(lambda x, w: np.quantile(x, q, weights=w, **options), x, w)
    agree(lambda x: np.quantile(x, q, weights=np.maximum(w, 0) * 2, **options), x)
    if dtype.kind == "f" and not np.isnan(x).all(axis).any():
        agree(lambda x, w: np.nanquantile(x, q, weights=w, **options), x, w)
    if isinstance(axis, int):
        agree(lambda x, w: np.percentile(x, 30, weights=w, **options), x, w[tuple([0] * (x.ndim - 1))])


@given(dtype=numbers, seed=seeds, method=methods, count=st.integers(1, 60))
def test_every_place(dtype, seed, method, count):
    """Quantiles that are elements, or lie halfway, or next to them."""
    x = some(np.random.default_rng(seed), (count,), dtype)
    q = np.linspace(0, 1, 2 * count + 1)
    agree(lambda x: np.quantile(x, q, method=method), x)


@given(seed=seeds, method=methods, dtype=st.sampled_from(FLOATS[1:]), shape=st.sampled_from([(9,), (4, 7)]))
def test_quantiles_that_are_computed(seed, method, dtype, shape):
    rng = np.random.default_rng(seed)
    x = some(rng, shape, dtype, 0.1)
    weak = tk.jit(lambda x, q: np.quantile(x, q, axis=0, method=method))(x, 0.37)
    assert_same(weak, np.quantile(x, 0.37, axis=0, method=method))
    for q in (np.array([0.41]), rng.random(3), np.array([0, 1])):
        agree(lambda x, q: np.quantile(x, q, axis=0, method=method), x, q)
        agree(lambda x, q: np.nanquantile(x, q, axis=-1, method=method), x, q)


def test_what_is_refused():
    x = np.array([3.0, 1.0, 2.0])
    agree(lambda x: np.quantile(x, 1.5), x)
    agree(lambda x: np.percentile(x, [5, 101]), x)
    agree(lambda x: np.quantile(x, np.nan), x)
    agree(lambda x: np.quantile(x, 0.5, method="bogus"), x)
    agree(lambda x: np.quantile(x, 0.5, axis=1), x)
    agree(lambda x: np.quantile(x[:0], 0.5), x)
    agree(lambda x: np.quantile(x > 1, 0.5), x)
    agree(lambda x: np.quantile(x, np.full((1, 1, 1), 0.5)), x)
    agree(lambda x: np.quantile(x, 0.5, weights=[1, 1, 1]), x)
    for weights in ([1, -1, 1], [0, 0, 0], [1, np.nan, 1], [1, 1]):
        agree(lambda x, w=weights: np.quantile(x, 0.5, method="inverted_cdf", weights=w), x)


def test_out_is_written():
    x = np.random.default_rng(0).standard_normal((5, 6))

    def f(x):
        out = np.zeros_like(x[0])
        np.median(x, axis=0, out=out)
        np.quantile(x, 0.3, axis=0, out=out[:])
        return out

    agree(f, x)


def test_infinities():
    x = np.array([[np.inf, -np.inf, 1.0, 2.0], [np.inf, np.inf, np.nan, 0.0]])
    for axis in (0, 1, None):
        agree(lambda x, axis=axis: (np.median(x, axis), np.nanmedian(x, axis), np.quantile(x, 0.3, axis)), x)
