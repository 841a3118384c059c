"""Averages, covariances, reductions without NaNs, and the keywords of reductions, against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, FLOATS, random_array, seeds

SHAPES = [(), (0,), (1,), (5,), (3, 0), (4, 7), (2, 3, 5)]
shapes = st.sampled_from(SHAPES)
dtypes = st.sampled_from(DTYPES)


def draw_axis(data, shape):
    choices = [None, *range(-len(shape), len(shape))]
    if len(shape) > 1:
        choices += [(0, 1), (-1, 0)]
    return data.draw(st.sampled_from(choices))


def with_nans(rng, shape, dtype, low=-3, high=3):
    x = random_array(rng, shape, dtype, low, high, special=False)
    if x.dtype.kind == "f":
        x = np.where(rng.random(shape) < 0.3, np.nan, x).astype(dtype)
    return x


NAN_SUMS = {
    "nansum": np.nansum,
    "nanprod": np.nanprod,
    "nanmean": np.nanmean,
    "nanvar": np.nanvar,
    "nanstd": np.nanstd,
    "nanvar1": lambda x, **options: np.nanvar(x, ddof=1, **options),
}


@pytest.mark.parametrize("name", NAN_SUMS)
@given(shape=shapes, dtype=dtypes, seed=seeds, keepdims=st.booleans(), data=st.data())
def test_sums_without_nan(name, shape, dtype, seed, keepdims, data):
    axis = draw_axis(data, shape)
    x = with_nans(np.random.default_rng(seed), shape, dtype, 0.5, 1.5)
    agree(lambda x: NAN_SUMS[name](x, axis=axis, keepdims=keepdims), x, rounded=True)


@pytest.mark.parametrize("name", ["nanmin", "nanmax"])
@given(shape=shapes, dtype=dtypes, seed=seeds, keepdims=st.booleans(), data=st.data())
def test_extremes_without_nan(name, shape, dtype, seed, keepdims, data):
    axis = draw_axis(data, shape)
    x = with_nans(np.random.default_rng(seed), shape, dtype)
    agree(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x)


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
@given(shape=shapes, dtype=dtypes, seed=seeds, keepdims=st.booleans(), data=st.data())
def test_places_of_extremes_without_nan(name, shape, dtype, seed, keepdims, data):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = random_array(np.random.default_rng(seed), shape, dtype)
    if dtype.kind == "f" and shape:
        x[..., :1] = 1  # never only NaNs
        x[:1] = 1
    agree(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x)


def test_only_nans_have_no_extreme():
    x = np.array([[1.0, np.nan], [np.nan, np.nan]])
    for function in (np.nanargmax, np.nanargmin):
        with pytest.raises(ValueError, match="All-NaN"):
            function(tk.asarray(x), axis=1)
        with pytest.raises(ValueError, match="All-NaN"):
            tk.jit(lambda x, f=function: f(x, axis=1))(x)


@pytest.mark.parametrize("name", ["nancumsum", "nancumprod"])
@given(shape=shapes, dtype=dtypes, seed=seeds, data=st.data())
def test_running_sums_without_nan(name, shape, dtype, seed, data):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = with_nans(np.random.default_rng(seed), shape, dtype, 0.5, 1.5)
    agree(lambda x: getattr(np, name)(x, axis=axis), x, rounded=True)


KEYWORDS = {
    "sum": lambda x, m, a: np.sum(x, axis=a, initial=2, where=m),
    "prod": lambda x, m, a: np.prod(x, axis=a, initial=2, where=m),
    "max": lambda x, m, a: np.max(x, axis=a, initial=1, where=m),
    "min": lambda x, m, a: np.min(x, axis=a, initial=1, where=m, keepdims=True),
    "any": lambda x, m, a: np.any(x, axis=a, where=m),
    "all": lambda x, m, a: np.all(x, axis=a, where=m, keepdims=True),
    "mean": lambda x, m, a: np.mean(x, axis=a, where=m),
    "var": lambda x, m, a: np.var(x, axis=a, where=m, ddof=1),
    "std": lambda x, m, a: np.std(x, axis=a, where=m, keepdims=True),
    "nansum": lambda x, m, a: np.nansum(x, axis=a, where=m, initial=3),
    "nanprod": lambda x, m, a: np.nanprod(x, axis=a, where=m, initial=3),
    "nanmean": lambda x, m, a: np.nanmean(x, axis=a, where=m),
    "nanvar": lambda x, m, a: np.nanvar(x, axis=a, where=m),
    "nanmax": lambda x, m, a: np.nanmax(x, axis=a, where=m, initial=1),
    "nanmin": lambda x, m, a: np.nanmin(x, axis=a, where=m, initial=1),
    "count_nonzero": lambda x, m, a: np.count_nonzero(x, axis=a, keepdims=True),
    "ptp": lambda x, m, a: np.ptp(x, axis=a, keepdims=True),
}


@pytest.mark.parametrize("name", KEYWORDS)
@given(shape=st.sampled_from([(1,), (5,), (4, 7), (2, 3, 5)]), dtype=dtypes, seed=seeds, data=st.data())
def test_keywords_of_reductions(name, shape, dtype, seed, data):
    if name == "ptp" and dtype.kind == "b":
        return
    rng = np.random.default_rng(seed)
    axis = draw_axis(data, shape)
    x = random_array(rng, shape, dtype, 0.5, 1.5, special=False)
    x = with_nans(rng, shape, dtype, 0.5, 1.5) if name.startswith("nan") else x
    mask = rng.random(data.draw(st.sampled_from([shape, shape[-1:]]))) < 0.6
    agree(lambda x, m: KEYWORDS[name](x, m, axis), x, mask, rounded=True)


@given(shape=shapes, dtype=dtypes, weight=dtypes, seed=seeds, keepdims=st.booleans(), data=st.data())
def test_average(shape, dtype, weight, seed, keepdims, data):
    rng = np.random.default_rng(seed)
    axis = draw_axis(data, shape)
    x = random_array(rng, shape, dtype, 0.5, 3, special=False)
    if 0 in shape:
        return  # NumPy divides by the number of averages
    agree(lambda x: np.average(x, axis=axis, returned=True, keepdims=keepdims), x, rounded=True)
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for extents in {shape, tuple(shape[i] for i in axes)}:
        w = np.ones(extents, bool) if weight.kind == "b" else random_array(rng, extents, weight, 1, 4, False)
        agree(lambda x, w: np.average(x, axis, w, True, keepdims=keepdims), x, w, rounded=True)


def test_average_refuses_what_does_not_fit():
    agree(lambda x, w: np.average(x, weights=w), np.ones((3, 4)), np.ones(4))
    agree(lambda x, w: np.average(x, axis=0, weights=w), np.ones((3, 4)), np.ones(4))


@given(
    shape=st.sampled_from([(), (6,), (1, 5), (4, 7), (2, 6)]),
    dtype=st.sampled_from([d for d in DTYPES if d.kind != "b"]),
    seed=seeds,
    rowvar=st.booleans(),
    bias=st.booleans(),
    ddof=st.sampled_from([None, 0, 1, 2]),
    weighted=st.sampled_from(["", "f", "a", "fa"]),
    both=st.booleans(),
)
def test_cov(shape, dtype, seed, rowvar, bias, ddof, weighted, both):
    rng = np.random.default_rng(seed)
    x = random_array(rng, shape, dtype, -5, 5, special=False)
    y = random_array(rng, shape, np.float32, -5, 5, special=False) if both else None
    count = np.array(x, ndmin=2).shape[1 if rowvar or x.ndim < 2 else 0]
    options = {"rowvar": rowvar, "bias": bias, "ddof": ddof}
    if "f" in weighted:
        options["fweights"] = rng.integers(1, 4, count)
    if "a" in weighted:
        options["aweights"] = rng.random(count) + 0.5
    arrays = [x] if y is None else [x, y]
    agree(lambda *xs: np.cov(*xs, **options), *arrays, rounded=True)


@pytest.mark.parametrize("dtype", [np.int32, *FLOATS], ids=str)
def test_corrcoef(dtype, rng):
    x = random_array(rng, (4, 9), dtype, -5, 5, special=False)
    agree(lambda x: np.corrcoef(x), x, rounded=True)
    agree(lambda x: np.corrcoef(x, rowvar=False), x, rounded=True)
    agree(lambda x: np.corrcoef(x[0], x[1]), x, rounded=True)
    agree(lambda x: np.corrcoef(x[0]), x, rounded=True)
    agree(lambda x: np.cov(x, dtype=np.float32), x, rounded=True)
