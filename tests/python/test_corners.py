"""Corner cases of functions that join, split, repeat, clip and compare, against NumPy."""

import warnings

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree, compare_rounded
from keywords import caller
from support import DTYPES, assert_same, random_array, seeds

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


@pytest.mark.parametrize("ord", [np.inf, -np.inf, 1, -1, 2, None])
@pytest.mark.parametrize("shape", [(0,), (5,), (0, 4), (3, 0), (3, 4)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_nothing(ord, shape, keepdims):
    x = np.arange(np.prod(shape)).reshape(shape) - 2.0
    if len(shape) == 1 or ord not in (2, -2):
        agree(lambda x: np.linalg.norm(x, ord, keepdims=keepdims), x, rounded=True)
    agree(lambda x: np.linalg.norm(x, ord, axis=0, keepdims=keepdims), x, rounded=True)
    if ord is not None:
        agree(lambda x: np.linalg.vector_norm(x, ord=ord, keepdims=keepdims), x, rounded=True)


def test_scalars_and_arrays_without_axes():
    """Each where NumPy has it."""
    for program, x in [
        (lambda x: np.linalg.norm(x, np.inf), np.ones((2, 3))),
        (lambda x: np.linalg.norm(x, -1, keepdims=True), np.ones((2, 3))),
        (lambda x: np.pad(x, 1, mode="edge"), np.array(2.0)),
        (lambda x: np.isin(x, [1, 2]), np.array(2.0)),
        (lambda x: np.isin(x, [1, 2], invert=True), np.float64(2)),
        (lambda x: np.logaddexp.reduce(x), np.zeros(0)),
        (lambda x: np.add.reduce(x), np.zeros(0)),
        (lambda x: np.median(x, keepdims=True), np.array(2.0)),
        (lambda x: np.median(x), np.ones(3)),
        (lambda x: np.polyval([], x), np.array(2.0)),
        (lambda x: np.einsum("i,i", x, x), np.ones(3)),
        (lambda x: np.einsum("i,i", x, x, optimize=True), np.ones(3)),
        (lambda x: np.unstack(x)[0], np.ones(3)),
        (lambda x: np.roll(x, 2), np.array(2.0)),
        (lambda x: np.nan_to_num(x, copy=False), np.array(np.nan)),
        (lambda x: np.quantile(x, 0.5, method="inverted_cdf", weights=np.ones(3)), np.ones(3)),
    ]:
        assert type(tk.jit(program)(x)) is type(program(x))


def test_sizes_that_are_an_argument():
    """0 is the axis, and how long it is."""
    for x in (tk.asarray(np.zeros((0, 3))), tk.asarray(np.zeros((2, 0, 1)))):
        assert [np.size(x, axis) for axis in range(x.ndim)] == list(x.shape)


@pytest.mark.parametrize("order", ["C", "F", "A", "K", None])
@pytest.mark.parametrize("name", ["asarray", "asanyarray", "array"])
def test_arrays_that_lie_in_both_orders(order, name):
    function = caller(f"np.{name}")

    def program(x):
        y = function(x, order=order, copy=None)
        y[...] = 1

    for shape in ((1, 3), (3, 1), (2, 3), (4,)):
        x = np.zeros(shape)
        for lying in (x, x.T):
            got, want = lying.copy("K"), lying.copy("K")
            program(want)
            tk.jit(program)(got)
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 2.0])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_powers_of_known_numbers(exponent, dtype):
    """NumPy squares for x ** 2, and the square of bool is int8, as no other power is."""
    agree(lambda x: x**exponent, np.array([0, 1, 1], dtype))
    agree(lambda x: np.power(x, exponent), np.array([0, 1, 1], dtype))


@pytest.mark.parametrize("decimals", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("place", ["f2", "f4", "f8", "i4"])
def test_rounding_into_other_dtypes(decimals, dtype, place, rng):
    """What NumPy has in between is in out=, and of its dtype."""
    x = random_array(rng, (20,), dtype, -50, 50, special=False)

    def program(x, out):
        return np.round(x, decimals, out=out)

    got, want = np.zeros(20, place), np.zeros(20, place)
    try:
        program(x, want)
    except TypeError:
        with pytest.raises(TypeError):
            tk.jit(program)(x, got)
    else:
        tk.jit(program)(x, got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("weights", [[1.0, -1.0, 0.0], [0, 0, 0], [1, 2, 3]])
def test_weights_that_sum_to_zero(weights):
    x, w = np.arange(12.0).reshape(3, 4), np.array(weights)
    for program in (
        lambda x, w: np.average(x, axis=0, weights=w),
        lambda x, w: np.average(x[:, 0], weights=w, returned=True),
        lambda x, w: np.average(x, axis=0, weights=weights),
        lambda x, w: np.average(x, axis=0, weights=w[:, None] * np.array([1, 0, 1, 1])),
    ):
        try:
            want = program(x, w)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                tk.jit(program)(x, w)
            with pytest.raises(ZeroDivisionError):
                program(tk.asarray(x), tk.asarray(w))
        else:
            compare_rounded(tk.jit(program)(x, w), want, "")


def test_only_nans():
    for x in ([np.nan, np.nan], [1, np.nan], [[np.nan, 1], [np.nan, np.nan]]):
        for function in (np.nanargmax, np.nanargmin):
            agree(lambda x, function=function: function(x), np.array(x))
            agree(lambda x, function=function: function(x, axis=0, keepdims=True), np.array(x))


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


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("count", [1, 2, 4, 63])
def test_clip_keeps_the_sign_of_zeros_between_numbers(dtype, count):
    x = np.resize(np.array([-0.0, 0.0, -1, 1], dtype), count)
    zero, one = np.zeros_like(x), np.ones_like(x)
    for low, high in [(0, 1), (-0.0, 0.0), (-1, -0.0), (0, None), (None, -0.0), (0, np.inf), (zero, one),
                      (zero, 1), (-1, -zero), (zero[:1], one[:1]), (zero[:1, None], one[:1, None]),
                      (np.zeros((3, 1), dtype), 1)]:  # fmt: skip
        agree(lambda x, low=low, high=high: np.clip(x, low, high), x, what=f"{low} {high}")
    agree(lambda x: np.clip(x[0], 0, 1), x)
    agree(lambda x, low: np.clip(x, low, 1), x, zero)
    assert_same(tk.jit(np.clip)(x, 0.0, 1.0), np.clip(x, 0.0, 1.0))


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


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_of_every_size(dtype):
    x = np.array([0, 1, 2, 3], dtype)
    least = np.iinfo(dtype).min if dtype in ("i4", "i8") else 0
    for count in (1, 50):
        zeros = np.zeros(count, dtype)
        assert_same(tk.jit(np.reciprocal)(zeros), np.full(count, least, dtype))
    for exponent in (-1, -200, 300, 2):
        agree(lambda x, n=exponent: x**n, x, what=str(exponent))
        agree(lambda x, n=exponent: np.power(x, n), x, what=str(exponent))
    agree(lambda x: np.bincount(x, minlength=4), x)
    agree(lambda x: np.bincount(x, x * 0.5, 4), x)


def test_bincount_of_numbers_beyond_i64():
    agree(lambda x: np.bincount(x, minlength=4), np.array([1, 2**63], "u8"))


@pytest.mark.parametrize("subscripts", ["...->", "...->...", "...", "->", ""])
def test_einsum_of_no_axes_is_a_scalar(subscripts):
    x = np.array(2.5)
    agree(lambda x: np.einsum(subscripts, x), x)
    assert type(tk.jit(lambda x: np.einsum(subscripts, x))(x)) is type(np.einsum(subscripts, x))


@pytest.mark.parametrize("number", [-1.0, 2.5])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_masks_of_no_axes(shape, number):
    x, number = np.full(shape, number), np.array(number)
    for reduction in (np.sum, np.prod, np.mean, np.var, np.any, np.all):
        for options in ({}, {"axis": 0}, {"keepdims": True}):

            def reduced(x, n, f=reduction, options=options):
                return f(x[n > 0], **options)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = reduced(x, number)
            compare_rounded(tk.jit(reduced)(x, number), want, f"{reduction} {options}")

    def write(x, n):
        x[n > 0] = 7
        return x * 2

    ours = x.copy()
    assert_same(tk.jit(write)(ours, number), write(x, number))
    assert_same(ours, x)


def test_polynomials_of_no_coefficients():
    agree(lambda p: np.polyval(p, 2), np.array(2.0))
    with pytest.raises(TypeError, match="test_corners.py"):
        tk.jit(lambda p: np.polyval(p, 2))(np.array(2.0))


def test_what_is_refused_says_what_to_do():
    x = np.arange(6.0)
    with pytest.raises(NotImplementedError, match="shape of the result depends on values"):
        tk.jit(np.repeat)(x, np.arange(6))
    assert_same(tk.jit(lambda x, n: np.repeat(x, [n, 2, 0, 1, 1, n]))(x, 3), np.repeat(x, [3, 2, 0, 1, 1, 3]))
    with pytest.raises(NotImplementedError, match=r"keeps its size.*np\.pad"):
        tk.jit(lambda x: (x * 2).resize((2, 20)))(x)

    def write(x):
        np.lib.stride_tricks.sliding_window_view(x, 3, writeable=True)[0] = 1

    with pytest.raises(ValueError, match="as windows .* write to the array that they are elements of"):
        tk.jit(write)(x)
