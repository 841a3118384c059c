"""Looking up: searchsorted, digitize, interp, isin, choose, select, piecewise, against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, FLOATS, INTEGERS, random_array, seeds

NUMBERS = INTEGERS + FLOATS
COUNTS = [0, 1, 2, 5, 31, 32, 33, 64, 100]
SHAPES = [(), (0,), (1,), (9,), (4, 7)]


@given(
    count=st.sampled_from(COUNTS),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(DTYPES),
    other=st.sampled_from(DTYPES),
    side=st.sampled_from(["left", "right"]),
    seed=seeds,
)
def test_searchsorted(count, shape, dtype, other, side, seed):
    rng = np.random.default_rng(seed)
    a, v = random_array(rng, (count,), dtype, -20, 20), random_array(rng, shape, other, -20, 20)
    agree(lambda a, v: np.searchsorted(a, v, side), np.sort(a), v)
    agree(lambda a, v, order: np.searchsorted(a, v, side, order), a, v, np.argsort(a))


@given(
    count=st.sampled_from([5, 9, 33, 100, 700]),
    dtype=st.sampled_from(NUMBERS),
    power=st.sampled_from([1, 2, 4]),
    special=st.booleans(),
    side=st.sampled_from(["left", "right"]),
    seed=seeds,
)
@example(count=100, dtype=np.dtype(np.float64), power=1, special=False, side="right", seed=0)
def test_searchsorted_in_a_known_array(count, dtype, power, special, side, seed):
    """Elements that are dense in some places, or the same, or infinite; values between them and equal to them."""
    rng = np.random.default_rng(seed)
    a = np.sort((random_array(rng, (count,), np.float64, 0, 1, special=False) ** power * 100).astype(dtype))
    if special and dtype.kind == "f":
        a[-2:] = np.inf, np.nan
    v = np.concatenate([a, random_array(rng, (50,), dtype, -20, 120), a + 1])
    agree(lambda v: np.searchsorted(a, v, side), v)


@given(
    count=st.sampled_from(COUNTS[1:]),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(NUMBERS),
    right=st.booleans(),
    falling=st.booleans(),
    seed=seeds,
)
def test_digitize(count, shape, dtype, right, falling, seed):
    rng = np.random.default_rng(seed)
    bins = np.sort(random_array(rng, (count,), dtype, -20, 20, special=False))[:: -1 if falling else 1]
    x = random_array(rng, shape, dtype, -25, 25)
    agree(lambda x: np.digitize(x, bins, right), x)
    agree(lambda x, bins: np.digitize(x, bins, right), x, np.ascontiguousarray(bins))


@given(
    count=st.sampled_from(COUNTS),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(DTYPES),
    ends=st.sampled_from([(None, None), (-1.5, None), (0, 7.0)]),
    special=st.booleans(),
    seed=seeds,
)
@example(count=1, shape=(4, 7), dtype=np.dtype(np.float16), ends=(None, None), special=False, seed=10059)
def test_interp(count, shape, dtype, ends, special, seed):
    rng = np.random.default_rng(seed)
    xp = np.unique(random_array(rng, (count,), np.float64, -10, 10, special=False))
    fp = random_array(rng, (xp.size,), np.float64, -10, 10, special=special)
    x = random_array(rng, shape, dtype, -12, 12)
    agree(lambda x, xp, fp: np.interp(x, xp, fp, *ends), x, xp, fp, ulp=1)
    if xp.size and shape:
        agree(lambda x: np.interp(x, xp, fp, *ends), np.resize(xp, shape), ulp=1)
        finite = np.nan_to_num(x, posinf=3, neginf=3)
        agree(lambda x, fp: np.interp(x, xp, fp, period=7.5), finite, fp, rounded=True)


@given(
    count=st.sampled_from(COUNTS),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(DTYPES),
    other=st.sampled_from(DTYPES),
    invert=st.booleans(),
    seed=seeds,
)
def test_isin(count, shape, dtype, other, invert, seed):
    rng = np.random.default_rng(seed)
    x, tests = random_array(rng, shape, dtype, 0, 20), random_array(rng, (count,), other, 0, 20)
    agree(lambda x: np.isin(x, tests, invert=invert), x)
    agree(lambda x, tests: np.isin(x, tests, invert=invert), x, tests)


@given(
    shape=st.sampled_from([(), (5,), (3, 5)]),
    dtype=st.sampled_from(DTYPES),
    mode=st.sampled_from(["raise", "wrap", "clip"]),
    seed=seeds,
)
def test_choose(shape, dtype, mode, seed):
    rng = np.random.default_rng(seed)
    choices = [random_array(rng, s, dtype) for s in [(5,), (), (3, 1)]]
    index = rng.integers(0, 3, shape) if mode == "raise" else rng.integers(-9, 9, shape)
    agree(lambda i, *c: np.choose(i, c, mode=mode), index, *choices)
    agree(lambda *c: np.choose(index, c, mode=mode), *choices)


def test_choosing_what_is_not_there():
    choices = np.arange(6.0).reshape(2, 3)
    for index in ([0, 1, 2], [0, -1, 0]):
        with pytest.raises(ValueError, match="choice"):
            tk.jit(lambda c, i=index: np.choose(np.array(i), c))(choices)
        with pytest.raises(IndexError):
            tk.jit(lambda i, c: np.choose(i, c))(np.array(index), choices)


@given(shape=st.sampled_from([(), (5,), (3, 5)]), dtype=st.sampled_from(DTYPES), seed=seeds)
def test_select(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x, y = random_array(rng, shape, dtype), random_array(rng, (5,), np.float32)
    agree(lambda x, y: np.select([x > 1, y > 0], [x, y]), x, y)
    agree(lambda x, y: np.select([x > 1], [x], 1), x, y)
    agree(lambda x, y: np.select([x > 1, x < 0], [1, 2], 1), x, y)
    agree(lambda x, y: np.select([x > 1], [x, y]), x, y)
    agree(lambda x, y: np.select([], []), x, y)
    agree(lambda x, y: np.select([y], [x]), x, y)


@given(shape=st.sampled_from([(), (5,), (3, 5)]), dtype=st.sampled_from(FLOATS), seed=seeds)
def test_piecewise(shape, dtype, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype)
    agree(lambda x: np.piecewise(x, [x < 0, x > 1], [lambda x: -x, 2]), x)
    agree(lambda x: np.piecewise(x, [x < 0, x > 1], [lambda x, k: x * k, 2, lambda x, k: x], 3), x)
    agree(lambda x: np.piecewise(x, [x < 0, x > 1], [1]), x)


def test_errors():
    x = np.array([3.0, 1.0, 2.0])
    for function in (
        lambda x: np.searchsorted(x.reshape(1, 3), x),
        lambda x: np.searchsorted(x, x, side="middle"),
        lambda x: np.interp(x, x[:2], x),
        lambda x: np.interp(x, x.reshape(1, 3), x),
        lambda x: np.interp(x, np.arange(3.0), x, period=0),
        lambda x: np.isin(x, x, kind="guess"),
        lambda x: np.choose(x, [x]),
        lambda x: np.digitize(x, np.array([1, 3, 2])),
    ):
        agree(function, x)


@given(
    extents=st.sampled_from([(5,), (3, 4), (2, 3, 4), (4, 0)]),
    shape=st.sampled_from(SHAPES),
    order=st.sampled_from(["C", "F"]),
    dtype=st.sampled_from(INTEGERS),
    seed=seeds,
)
def test_places_in_a_shape(extents, shape, order, dtype, seed):
    rng = np.random.default_rng(seed)
    size = int(np.prod(extents))
    if size:
        flat = rng.integers(0, size, shape).astype(dtype)
        agree(lambda i: np.unravel_index(i, extents, order), flat)
        index = [rng.integers(0, n, shape).astype(dtype) for n in extents]
        agree(lambda *i: np.ravel_multi_index(i, extents, order=order), *index)
    anywhere = [rng.integers(-9, 9, shape) for _ in extents]
    if size:
        for mode in ("wrap", "clip", ("wrap", "clip", "wrap")[: len(extents)]):
            agree(lambda *i, m=mode: np.ravel_multi_index(i, extents, m, order), *anywhere)


def test_places_outside_of_a_shape():
    for index in (6, -1):
        with pytest.raises(ValueError, match="bounds"):
            np.unravel_index(tk.asarray(index), (2, 3))
        with pytest.raises(IndexError):
            tk.jit(lambda i: np.unravel_index(i, (2, 3)))(np.array([0, index]))
        with pytest.raises(IndexError):
            tk.jit(lambda i: np.ravel_multi_index((i, i), (2, 3)))(np.array([0, index]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("side", ["left", "right"])
def test_many_values_in_long_tables(rng, dtype, side):
    """Several vectors of values search at once."""
    table = np.sort(rng.integers(-500, 500, 777).astype(dtype))
    values = rng.integers(-600, 600, (1 << 14) + 37).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        table[-5:], values[3::101], values[5::103] = np.nan, np.nan, np.inf
        values[-1] = -np.inf
    agree(lambda t, v: np.searchsorted(t, v, side), table, values)
    agree(lambda t, v: np.digitize(v, t[:700], right=side == "left"), table, values)


def test_many_values_between_many_points(rng):
    points, values = np.sort(rng.standard_normal(300)), rng.standard_normal(300)
    at = 1.5 * rng.standard_normal((3, 7001))
    at[0, ::50] = np.nan
    agree(np.interp, at, points, values)
