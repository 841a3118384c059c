"""Reductions, statistics and quantiles with every keyword, against NumPy."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from keyword_strategies import (
    FULL,
    Call,
    Case,
    any_dtype,
    array,
    axes,
    axis,
    axis_or_none,
    flag,
    float_dtype,
    mask,
    out,
    pick,
    summed,
)
from keywords import check_case

from support import DTYPES, FLOATS, INTEGERS, random_array, seeds

number = pick(2, 0, 1.5, -3, np.float32(2.5), np.int8(3), None)
some_number = pick(2, 0, -3, 1, np.int8(3))
ddof = pick(0, 1, 2, 0.5)


def mean_of(c: Call):
    """mean=, computed as the documentation of np.var does."""
    options = {name: c.kwargs[name] for name in ("axis", "where", "dtype") if name in c.kwargs}
    try:
        return np.mean(c.args[0], keepdims=True, **options)
    except (ValueError, TypeError):
        return 1.0


def without_both(**keywords):
    """ddof= and correction= are one, and mean= is last, since it depends on the others."""
    return {**keywords, "ddof": ddof, "correction": ddof, "mean": mean_of}


def weights(c: Call):
    """Of the shape of the array, or of the axes that are averaged."""
    shape, chosen = c.shape, c.kwargs.get("axis")
    if chosen is not None and c.chance(0.5) and c.ndim:
        some = chosen if isinstance(chosen, tuple) else (chosen,)
        shape = tuple(shape[i] for i in some if -c.ndim <= i < c.ndim)
    return random_array(c.rng, shape, c.pick(INTEGERS + FLOATS), 1, 4, special=False)


def quantile_weights(c: Call):
    """Only one method knows weights."""
    if c.chance(0.9):
        c.kwargs["method"] = "inverted_cdf"
    return random_array(c.rng, c.shape, c.pick(INTEGERS + FLOATS), 1, 4, special=False)


def vector_weights(low, high, dtypes):
    def draw(c: Call):
        rowvar = c.args[1] if len(c.args) > 1 else c.kwargs.get("rowvar", True)
        shape = np.atleast_2d(c.args[0]).shape
        count = shape[1 if rowvar or c.ndim < 2 else 0]
        return random_array(c.rng, (count,), c.pick(dtypes), low, high, special=False)

    return draw


def other_samples(c: Call):
    return random_array(c.rng, c.shape, c.pick(INTEGERS + FLOATS), 0, 5, special=False)


METHODS = pick(
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip
share = pick(0.5, 0, 1, 0.1, np.float64(0.3), [0.25, 0.75], np.array([0.9, 0.2]), [[0.1], [0.2]])
percent = pick(50, 0, 100, 12.5, np.float64(30), [25, 75], np.array([90.0, 20.0]), [[10], [20]])

plain_sum = {"axis": axes, "dtype": any_dtype, "out": out, "keepdims": flag, "initial": number, "where": mask}
extreme = {"axis": axes, "out": out, "keepdims": flag, "initial": some_number, "where": mask}
truth = {"axis": axes, "out": out, "keepdims": flag, "where": mask}
average = {"axis": axes, "dtype": float_dtype, "out": out, "keepdims": flag, "where": mask}
spread = without_both(**average)
place = {"axis": axis_or_none, "out": out, "keepdims": flag}
running = {"axis": axis_or_none, "dtype": any_dtype, "out": out}
quantile = {
    "axis": axes,
    "out": out,
    "overwrite_input": flag,
    "method": METHODS,
    "keepdims": flag,
    "weights": quantile_weights,
}
median = {"axis": axes, "out": out, "overwrite_input": flag, "keepdims": flag}
numbers = [dtype for dtype in DTYPES if dtype.kind != "b"]
compared = (("where", "initial"),)


def of_both(c: Call) -> bool:
    """NumPy refuses ddof= with correction=, which is tested elsewhere."""
    return "ddof" in c.kwargs and "correction" in c.kwargs


def of_nothing(c: Call) -> bool:
    """NumPy cannot reshape what it makes of no axes of no elements."""
    return c.kwargs.get("axis") == () and 0 in c.shape


def of_no_axes(c: Call) -> bool:
    """NumPy has the quantiles among the axes, not before them."""
    return c.kwargs.get("axis") == ()


TABLE = {
    "np.sum": Case([summed()], plain_sum, rounded=True),
    "np.prod": Case([summed()], plain_sum, rounded=True),
    "np.nansum": Case([summed()], plain_sum, rounded=True),
    "np.nanprod": Case([summed()], plain_sum, rounded=True),
    "np.max": Case([array()], extreme, together=compared),
    "np.min": Case([array()], extreme, together=compared),
    "np.amax": Case([array()], extreme, together=compared),
    "np.amin": Case([array()], extreme, together=compared),
    "np.nanmax": Case([array()], extreme, together=compared),
    "np.nanmin": Case([array()], extreme, together=compared),
    "np.all": Case([array()], truth),
    "np.any": Case([array()], truth),
    "np.count_nonzero": Case([array()], {"axis": axes, "keepdims": flag}),
    "np.ptp": Case([array(numbers)], {"axis": axes, "out": out, "keepdims": flag}),
    "np.argmax": Case([array()], place),
    "np.argmin": Case([array()], place),
    "np.nanargmax": Case([array(special=False)], place),
    "np.nanargmin": Case([array(special=False)], place),
    "np.mean": Case([summed()], average, rounded=True),
    "np.nanmean": Case([summed()], average, rounded=True),
    "np.var": Case([summed()], spread, rounded=True, undefined=of_both),
    "np.std": Case([summed()], spread, rounded=True, undefined=of_both),
    "np.nanvar": Case([summed()], spread, rounded=True, undefined=of_both),
    "np.nanstd": Case([summed()], spread, rounded=True, undefined=of_both),
    "np.average": Case(
        [summed(shapes=FULL)], {"axis": axes, "weights": weights, "returned": flag, "keepdims": flag}, rounded=True
    ),
    "np.cumsum": Case([summed()], running, rounded=True),
    "np.cumprod": Case([summed()], running, rounded=True),
    "np.nancumsum": Case([summed()], running, rounded=True),
    "np.nancumprod": Case([summed()], running, rounded=True),
    "np.cumulative_sum": Case([summed()], {**running, "axis": axis, "include_initial": flag}, rounded=True),
    "np.cumulative_prod": Case([summed()], {**running, "axis": axis, "include_initial": flag}, rounded=True),
    "np.median": Case([array(special=False)], median, rounded=True, undefined=of_nothing),
    "np.nanmedian": Case([array(special=False)], median, rounded=True, undefined=of_nothing),
    "np.quantile": Case([array(numbers, FULL, special=False), share], quantile, rounded=True),
    "np.nanquantile": Case(
        [array(numbers, FULL, special=False), share], quantile, rounded=True, undefined=of_no_axes
    ),
    "np.percentile": Case([array(numbers, FULL, special=False), percent], quantile, rounded=True),
    "np.nanpercentile": Case(
        [array(numbers, FULL, special=False), percent], quantile, rounded=True, undefined=of_no_axes
    ),
    "np.cov": Case(
        [summed(shapes=[(), (1,), (6,), (3, 4), (4, 1)], specials=())],
        {
            "y": other_samples, "rowvar": flag, "bias": flag, "ddof": pick(None, 0, 1, 2), "dtype": float_dtype,
            "fweights": vector_weights(1, 4, INTEGERS), "aweights": vector_weights(1, 4, FLOATS + INTEGERS),
        },
        rounded=True,
    ),
    "np.corrcoef": Case(
        [summed(shapes=[(6,), (3, 4), (2, 5)], specials=())],
        {"y": other_samples, "rowvar": flag, "dtype": float_dtype},
        rounded=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
@settings(max_examples=max(2, settings().max_examples // 12))
@given(seed=seeds)
def test_keywords(name, seed):
    check_case(name, TABLE[name], seed, signature=inspect.signature(eval(name)))
