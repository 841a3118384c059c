"""Differences, gradients, running sums, convolutions and evenly spaced numbers against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, FLOATS, INTEGERS, random_array, seeds

NUMBERS = INTEGERS + FLOATS
SHAPES = [(), (0,), (1,), (2,), (7,), (3, 0), (4, 7), (2, 3, 5)]
shapes = st.sampled_from(SHAPES)
filled = st.sampled_from([(5,), (4, 7), (3, 4, 5)])


@given(shape=shapes, dtype=st.sampled_from(DTYPES), seed=seeds, n=st.integers(0, 3), data=st.data())
def test_diff(shape, dtype, seed, n, data):
    axis = data.draw(st.integers(-len(shape), max(len(shape) - 1, 0)))
    rng = np.random.default_rng(seed)
    x = random_array(rng, shape, dtype)
    agree(lambda x: np.diff(x, n, axis), x)
    edge = x[:1] if len(shape) == 1 else x
    agree(lambda x, e: np.diff(x, n, axis, prepend=e, append=3 if dtype.kind == "f" else e), x, edge)


@given(shape=shapes, dtype=st.sampled_from(NUMBERS), seed=seeds)
def test_ediff1d(shape, dtype, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype)
    agree(lambda x: np.ediff1d(x), x)
    agree(lambda x: np.ediff1d(x, to_begin=x[..., :1] if shape else x, to_end=x), x)
    agree(lambda x: np.ediff1d(x, to_end=np.array([1.5, 2.5])), x)


@given(
    shape=shapes,
    dtype=st.sampled_from(DTYPES),
    seed=seeds,
    order=st.sampled_from([1, 2]),
    spacing=st.sampled_from(["none", "number", "numbers", "points", "equal", "integers", "mixed"]),
    data=st.data(),
)
def test_gradient(shape, dtype, seed, order, spacing, data):
    rng = np.random.default_rng(seed)
    x = random_array(rng, shape, dtype, -5, 5, special=False)
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    axes = range(len(shape)) if axis is None else (axis,)
    spacings = {
        "none": [],
        "number": [0.5],
        "numbers": [0.5 + i for i in range(len(axes))],
        "points": [np.cumsum(rng.random(shape[i]) + 0.1) for i in axes],
        "equal": [np.arange(shape[i]) * 2.0 for i in axes],
        "integers": [np.cumsum(rng.integers(1, 4, shape[i])) for i in axes],
        "mixed": [2.0, *[np.cumsum(rng.random(shape[i]) + 0.1) for i in list(axes)[1:]]],
    }[spacing]
    agree(lambda x: np.gradient(x, *spacings, axis=axis, edge_order=order), x, rounded=True)
    if spacing in ("points", "integers") and shape:
        agree(
            lambda x, *given: np.gradient(x, *given, axis=axis, edge_order=order), x, *spacings, rounded=True
        )


def test_gradient_of_several_axes_and_errors(rng):
    x = random_array(rng, (4, 5, 6), np.float32, special=False)
    agree(lambda x: np.gradient(x, 2.0, 3.0, axis=(2, 0)), x, rounded=True)
    for function in (
        lambda x: np.gradient(x, 1.0, 2.0),
        lambda x: np.gradient(x, axis=3),
        lambda x: np.gradient(x, edge_order=3),
        lambda x: np.gradient(x, np.ones(3), axis=0),
        lambda x: np.gradient(x, np.ones((3, 3)), axis=0),
        lambda x: np.gradient(x[:1]),
    ):
        agree(function, x)


@given(shape=filled, dtype=st.sampled_from(NUMBERS), seed=seeds, data=st.data())
def test_trapezoid(shape, dtype, seed, data):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    y = random_array(rng, shape, dtype, 0, 9, special=False)
    agree(lambda y: np.trapezoid(y, axis=axis), y, rounded=True)
    agree(lambda y: np.trapezoid(y, dx=0.5, axis=axis), y, rounded=True)
    for points in (np.sort(rng.random(shape[axis])), np.sort(rng.random(shape), axis=axis)):
        agree(lambda y, x: np.trapezoid(y, x, axis=axis), y, points, rounded=True)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(shape=shapes, dtype=st.sampled_from(DTYPES), seed=seeds, initial=st.booleans(), data=st.data())
def test_cumulative(name, shape, dtype, seed, initial, data):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = random_array(np.random.default_rng(seed), shape, dtype, 0.5, 1.5, special=False)
    agree(lambda x: getattr(np, name)(x, axis=axis, include_initial=initial), x, rounded=True)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@given(
    sizes=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    mode=st.sampled_from(["full", "same", "valid"]),
    seed=seeds,
)
def test_sliding_products(name, sizes, dtypes, mode, seed):
    rng = np.random.default_rng(seed)
    arrays = [random_array(rng, (n,), d, -5, 5, special=False) for n, d in zip(sizes, dtypes, strict=True)]
    agree(lambda x, y: getattr(np, name)(x, y, mode), *arrays, rounded=True)


def test_sliding_products_of_special_values(rng):
    x, taps = np.array([1.0, 2.0, -np.inf, 3.0, 4.0, 5.0]), np.array([np.inf, 1.0, np.nan])
    for mode in ("full", "same", "valid"):
        agree(lambda x, t, m=mode: np.convolve(x, t, m), x, taps)
        agree(lambda x, t, m=mode: np.correlate(t, x, m), x, taps)
    agree(lambda x: np.convolve(x, 3.0), x)
    agree(lambda x: np.convolve(x, x.reshape(2, 3)), x)
    agree(lambda x: np.convolve(x, x, "outer"), x)


@given(shape=filled, dtype=st.sampled_from(NUMBERS), seed=seeds, data=st.data())
def test_unwrap(shape, dtype, seed, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = random_array(np.random.default_rng(seed), shape, dtype, 0, 20, special=False)
    agree(lambda x: np.unwrap(x, axis=axis), x, rounded=True)
    agree(lambda x: np.unwrap(x, discont=4, axis=axis), x, rounded=True)
    agree(lambda x: np.unwrap(x, axis=axis, period=6), x, rounded=True)
    agree(lambda x: np.unwrap(x, axis=axis, period=7), x, rounded=True)


@given(
    dtype=st.sampled_from(NUMBERS),
    seed=seeds,
    count=st.sampled_from([0, 1, 2, 5, 50]),
    endpoint=st.booleans(),
    shape=st.sampled_from([(), (3,), (2, 3)]),
    to=st.sampled_from([None, np.int32, np.float32]),
    data=st.data(),
)
def test_linspace(dtype, seed, count, endpoint, shape, to, data):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    a, b = (random_array(rng, shape, dtype, 0, 9, special=False) for _ in range(2))
    rounded = to is None or np.dtype(to).kind == "f"
    agree(lambda a, b: np.linspace(a, b, count, endpoint, dtype=to, axis=axis), a, b, rounded=rounded)
    agree(lambda a: np.linspace(0, a, count, endpoint, retstep=True), a, rounded=True)
    if to is None:
        agree(lambda a, b: np.logspace(a / 9, b / 9, count, endpoint, axis=axis), a, b, rounded=True)
        agree(lambda a, b: np.geomspace(a + 1, b + 1, count, endpoint, axis=axis), a, b, rounded=True)


def test_compiled_as_few_kernels(rng):
    x = random_array(rng, (1000,), np.float64, special=False)
    assert len(tk.jit(lambda x: np.gradient(x)).explain(x).kernels) <= 3
