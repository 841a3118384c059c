"""Corner cases of functions that join, split, repeat, clip and compare, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, random_array, seeds

SHAPES = [(), (0,), (1,), (5,), (3, 0), (4, 6), (2, 3, 4)]
shapes = st.sampled_from(SHAPES)
dtypes = st.sampled_from(DTYPES)

JOIN = [
    lambda x, y: np.stack([x, y], -1),
    lambda x, y: np.stack([x, y], 1),
    lambda x, y: np.vstack([x, y]),
    lambda x, y: np.hstack([x, y]),
    lambda x, y: np.dstack([x, y]),
    lambda x, y: np.column_stack([x, y]),
    lambda x, y: np.append(x, y),
    lambda x, y: np.append(x, y, 0),
    lambda x, y: np.concatenate([x, y], axis=None),
    lambda x, y: np.concatenate([x, y], axis=-1),
    lambda x, y: np.concatenate([x, y], dtype=np.float32, casting="unsafe"),
]


@pytest.mark.parametrize("function", JOIN, ids=range(len(JOIN)))
@given(shape=shapes, one=dtypes, other=dtypes, seed=seeds)
def test_joining(function, shape, one, other, seed):
    rng = np.random.default_rng(seed)
    agree(
        function, random_array(rng, shape, one, special=False), random_array(rng, shape, other, special=False)
    )


@given(
    shape=shapes,
    dtype=dtypes,
    seed=seeds,
    parts=st.sampled_from([1, 2, 3, 7, [1], [0, 2], [3, 1], [-1], [2, 99], []]),
    axis=st.integers(-3, 2),
)
def test_splitting(shape, dtype, seed, parts, axis):
    x = random_array(np.random.default_rng(seed), shape, dtype)
    agree(lambda x: np.array_split(x, parts, axis), x)
    agree(lambda x: np.split(x, parts, axis), x)
    for function in (np.hsplit, np.vsplit, np.dsplit):
        agree(lambda x, f=function: f(x, parts), x)
    if len(shape) > 0:
        agree(lambda x: np.unstack(x, axis=axis % len(shape)), x)


REPEAT = [
    lambda x: np.tile(x, 0),
    lambda x: np.tile(x, ()),
    lambda x: np.tile(x, (2, 1)),
    lambda x: np.tile(x, (2, 1, 2, 3)),
    lambda x: np.repeat(x, 0),
    lambda x: np.repeat(x, 3),
    lambda x: np.repeat(np.atleast_1d(x), 2, axis=-1),
    lambda x: np.repeat(np.atleast_1d(x), [2], axis=0) if x.ndim < 2 and x.size == 1 else x,
    lambda x: np.tril(x, -1),
    lambda x: np.triu(x, 1),
    lambda x: np.meshgrid(x, x),
    lambda x: np.meshgrid(x, x, x, indexing="ij"),
    lambda x: np.meshgrid(x, x, sparse=True),
    lambda x: np.meshgrid(x, x, indexing="xx"),
    lambda x: np.round(x, 1),
    lambda x: np.round(x, -1),
    lambda x: np.isposinf(x),
    lambda x: np.isneginf(x),
    lambda x: np.fix(x),
    lambda x: np.sinc(x),
    lambda x: np.nan_to_num(x, nan=3, posinf=4, neginf=-5),
]


@pytest.mark.parametrize("function", REPEAT, ids=range(len(REPEAT)))
@given(shape=shapes, dtype=dtypes, seed=seeds)
def test_one_argument(function, shape, dtype, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype, special=dtype.kind == "f")
    agree(function, x, rounded=True)


BOUNDS = [None, 0, 3, -2, 2.5, 300, np.float32(1.5), np.int8(1), np.array([1, 2, 3, 4, 5])]


@given(
    shape=st.sampled_from([(), (5,), (2, 5)]),
    dtype=dtypes,
    low=st.sampled_from(BOUNDS),
    high=st.sampled_from([*BOUNDS, np.nan]),
    seed=seeds,
)
def test_clip(shape, dtype, low, high, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype)
    agree(lambda x: np.clip(x, low, high), x)
    agree(lambda x: np.clip(x, min=low, max=high), x)
    agree(lambda x: np.clip(x, low, x), x)


@given(shape=shapes, one=dtypes, other=dtypes, equal_nan=st.booleans(), seed=seeds)
def test_equality(shape, one, other, equal_nan, seed):
    rng = np.random.default_rng(seed)
    x, y = random_array(rng, shape, one, -2, 2), random_array(rng, shape, other, -2, 2)
    agree(lambda x, y: np.isclose(x, y, equal_nan=equal_nan), x, y)
    agree(lambda x, y: np.allclose(x, y, rtol=0.5, atol=1, equal_nan=equal_nan), x, y)
    agree(lambda x, y: np.array_equal(x, y, equal_nan=equal_nan), x, y)
    agree(lambda x, y: np.array_equal(x, x, equal_nan=equal_nan), x, y)
    agree(lambda x, y: np.array_equiv(x, y[..., :1] if shape else y), x, y)
    agree(lambda x: np.isclose(x, 1), x)
