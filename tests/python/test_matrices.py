"""Diagonals, Kronecker and cross products, norms and powers of matrices, and what edits arrays, against NumPy."""

import itertools

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, FLOATS, INTEGERS, random_array, seeds

NUMBERS = INTEGERS + FLOATS
SHAPES = [(), (0,), (4,), (3, 0), (4, 7), (5, 3), (2, 3, 5)]
dtypes = st.sampled_from(DTYPES)


@given(shape=st.sampled_from(SHAPES), dtype=dtypes, seed=seeds, k=st.integers(-8, 8), data=st.data())
def test_diagonals(shape, dtype, seed, k, data):
    x = random_array(np.random.default_rng(seed), shape, dtype, special=False)
    axes = [data.draw(st.integers(-3, 2)) for _ in range(2)]
    agree(lambda x: np.diagonal(x, k, *axes), x)
    agree(lambda x: np.diagonal(x, k), x)
    agree(lambda x: np.trace(x, k, *axes), x, rounded=True)
    agree(lambda x: np.linalg.diagonal(x, offset=k), x)
    agree(lambda x: np.linalg.trace(x, offset=k), x, rounded=True)
    agree(lambda x: np.diag(x, k), x)
    agree(lambda x: np.diagflat(x, k), x)


@given(
    shapes=st.tuples(st.sampled_from(SHAPES), st.sampled_from(SHAPES)),
    dtypes=st.tuples(dtypes, dtypes),
    seed=seeds,
)
def test_kron(shapes, dtypes, seed):
    rng = np.random.default_rng(seed)
    agree(np.kron, *[random_array(rng, s, d) for s, d in zip(shapes, dtypes, strict=True)])


@given(
    shapes=st.sampled_from(
        [
            ((3,), (3,)),
            ((2,), (3,)),
            ((3,), (2,)),
            ((2,), (2,)),
            ((4, 3), (3,)),
            ((5, 1, 3), (4, 2)),
            ((4,), (3,)),
        ]
    ),
    dtypes=st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)),
    seed=seeds,
)
def test_cross(shapes, dtypes, seed):
    rng = np.random.default_rng(seed)
    arrays = [random_array(rng, s, d, special=False) for s, d in zip(shapes, dtypes, strict=True)]
    agree(lambda x, y: np.cross(x, y), *arrays)
    agree(lambda x, y: np.cross(x.T, y.T, axisa=0, axisb=0, axisc=0), *arrays)
    agree(lambda x, y: np.linalg.cross(x, y), *arrays)


ORDERS = [None, 0, 1, -1, 2, 3, 0.5, -2.5, np.inf, -np.inf, "fro"]


@given(
    shape=st.sampled_from([(4,), (4, 7), (2, 3, 5)]),
    dtype=dtypes,
    order=st.sampled_from(ORDERS),
    keepdims=st.booleans(),
    seed=seeds,
    data=st.data(),
)
def test_norms(shape, dtype, order, keepdims, seed, data):
    x = random_array(np.random.default_rng(seed), shape, dtype, 1, 5, special=False)
    axis = data.draw(st.sampled_from([None, 0, -1, *([(0, 1), (-1, 0)] if len(shape) > 1 else [])]))
    matrix = isinstance(axis, tuple) or (axis is None and len(shape) == 2)
    if not (matrix and order == 2):
        agree(lambda x: np.linalg.norm(x, order, axis, keepdims), x, rounded=True)
    vector_order = 2 if order in (None, "fro") else order
    agree(lambda x: np.linalg.vector_norm(x, axis=axis, ord=vector_order, keepdims=keepdims), x, rounded=True)
    if order in ("fro", 1, -1, np.inf, -np.inf):
        agree(lambda x: np.linalg.matrix_norm(x, ord=order, keepdims=keepdims), x, rounded=True)


@given(
    shape=st.sampled_from([(0, 0), (3, 3), (2, 4, 4), (3, 4)]),
    dtype=st.sampled_from(NUMBERS),
    n=st.integers(0, 9),
    seed=seeds,
)
def test_matrix_power(shape, dtype, n, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype, -1, 1, special=False)
    agree(lambda x: np.linalg.matrix_power(x, n), x, rounded=True)


def test_inverse_powers_are_refused():
    with pytest.raises(NotImplementedError, match="invert"):
        tk.jit(lambda x: np.linalg.matrix_power(x, -1))(np.eye(3))
    with pytest.raises(NotImplementedError, match="singular"):
        tk.jit(lambda x: np.linalg.norm(x, 2))(np.eye(3))


@given(
    count=st.integers(0, 5),
    columns=st.sampled_from([None, 0, 1, 2, 6]),
    increasing=st.booleans(),
    dtype=dtypes,
    seed=seeds,
)
def test_vander(count, columns, increasing, dtype, seed):
    x = random_array(np.random.default_rng(seed), (count,), dtype, -3, 3, special=False)
    agree(lambda x: np.vander(x, columns, increasing), x)


@given(shape=st.sampled_from([(0,), (5,), (4, 7), (2, 3, 5)]), dtype=dtypes, seed=seeds, data=st.data())
def test_delete_and_insert(shape, dtype, seed, data):
    rng = np.random.default_rng(seed)
    x = random_array(rng, shape, dtype)
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    extent = x.size if axis is None else shape[axis]
    mask = rng.random(extent) < 0.5
    places = [0, -1, extent - 1, [0, -1], [1, 1, 0], slice(1, None, 2), slice(None, None, -1), [], mask, 99]
    where = data.draw(st.sampled_from(places))
    agree(lambda x: np.delete(x, where, axis), x)
    agree(lambda x: np.insert(x, where, 1, axis), x)
    if len(shape) == 2 and axis in (0, 1):
        agree(lambda x, y: np.insert(x, where, y, axis), x, x[0] if axis == 0 else x[:, 0])
        agree(lambda x, y: np.insert(x, 1, y, axis), x, x)


@given(shape=st.sampled_from([(), (0,), (5,), (2, 3)]), dtype=dtypes, seed=seeds)
def test_resize(shape, dtype, seed):
    x = random_array(np.random.default_rng(seed), shape, dtype)
    for new in (3, (4, 4), (), (0, 2), 17, (1, 5), -1):
        agree(lambda x, new=new: np.resize(x, new), x)


def test_rollaxis(rng):
    x = random_array(rng, (2, 3, 4, 5), np.int16)
    for axis in range(-4, 5):
        for start in range(-5, 6):
            agree(lambda x, a=axis, s=start: np.rollaxis(x, a, s), x)


BLOCKS = [
    lambda x, y: np.block(x),
    lambda x, y: np.block([x]),
    lambda x, y: np.block([x, y]),
    lambda x, y: np.block([[x, x], [y, y]]),
    lambda x, y: np.block([[x, 3], [y, 4.5]]) if x.ndim == 0 else np.block([[[x]], [[y]]]),
    lambda x, y: np.block([[x], y]),
    lambda x, y: np.block([[x], []]),
    lambda x, y: np.block([(x, y)]),
]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("function", BLOCKS, ids=range(len(BLOCKS)))
def test_block(function, shape, rng):
    agree(function, random_array(rng, shape, np.int32), random_array(rng, shape, np.float32))


def test_ix(rng):
    i, j = np.array([2, 0]), np.array([1, 3, 3])
    agree(lambda i, j: np.ix_(i, j), i, j)
    agree(lambda i: np.ix_(i, np.array([True, False, True])), i)
    agree(lambda i: np.ix_(i.reshape(2, 1)), i)


@given(
    shape=st.sampled_from([(), (0,), (5,), (8,), (9,), (3, 17), (2, 3, 4)]),
    dtype=dtypes,
    order=st.sampled_from(["big", "little"]),
    count=st.sampled_from([None, 0, 3, 20, -2, -100]),
    seed=seeds,
    data=st.data(),
)
def test_bits(shape, dtype, order, count, seed, data):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = random_array(rng, shape, dtype, 0, 1, special=False)
    agree(lambda x: np.packbits(x, axis, order), x)
    if 0 in shape:
        count = None  # NumPy leaves the elements it adds to nothing as they are in memory
    agree(lambda x: np.unpackbits(x, axis, count, order), rng.integers(0, 256, shape).astype(np.uint8))
    agree(lambda x: np.unpackbits(x), x.astype(np.int16))


@pytest.mark.parametrize("first", [2, 3])
@pytest.mark.parametrize("second", [2, 3])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_signs_of_zeros_of_cross_products(first, second):
    values = np.array(list(itertools.product([0.0, -0.0, 1.0, -2.0], repeat=first + second)))
    a, b = values[:, :first].copy(), values[:, first:].copy()
    expected, got = np.cross(a, b), tk.jit(np.cross)(a, b)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
    np.testing.assert_array_equal(got, expected)
