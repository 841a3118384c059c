"""NumPy's functions against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from support import DTYPES, FLOATS, assert_same, check, layouts, random_array, seeds, shapes, with_layout

REDUCTIONS = {
    "sum": lambda x, axis: np.sum(x, axis=axis),
    "prod": lambda x, axis: np.prod(x, axis=axis),
    "max": lambda x, axis: np.max(x, axis=axis),
    "min": lambda x, axis: np.min(x, axis=axis),
    "any": lambda x, axis: np.any(x, axis=axis),
    "all": lambda x, axis: np.all(x, axis=axis),
    "mean": lambda x, axis: np.mean(x, axis=axis),
    "var": lambda x, axis: np.var(x, axis=axis),
    "std": lambda x, axis: np.std(x, axis=axis, keepdims=True),
    "ptp": lambda x, axis: np.ptp(x, axis=axis),
    "count_nonzero": lambda x, axis: np.count_nonzero(x, axis=axis),
}
#: results that depend on the order of summation
ROUNDED = {"sum", "prod", "mean", "var", "std"}


def axes_of(rank):
    yield None
    yield from range(rank)
    if rank > 1:
        yield (0, rank - 1)
        yield -1


def assert_rounded(got, want, x):
    """Equal up to the rounding of a sum: a few units in the last place of the largest partial sum."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    tolerance = {2: 4e-3, 4: 1e-5, 8: 1e-13}[want.dtype.itemsize]
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 10 * max(1, x.size) ** 0.5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype, rng):
    function = REDUCTIONS[name]
    if name == "ptp" and dtype.kind == "b":
        return
    low, high = (0.5, 1.5) if name == "prod" and dtype.kind == "f" else (-10, 10)
    for shape in [(), (1,), (37,), (5, 9), (3, 4, 5)]:
        x = random_array(rng, shape, dtype, low, high, special=name not in ROUNDED)
        for axis in axes_of(len(shape)):
            want = function(x, axis)
            got = tk.jit(function, static_argnums=1)(x, axis)
            if name in ROUNDED:
                assert_rounded(got, want, x)
            else:
                assert_same(got, want, what=f"{name} {dtype} {shape} {axis}")


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
def test_reductions_of_nothing(name):
    check(lambda x: REDUCTIONS[name](x, None), np.zeros((0, 3), np.float32))
    check(lambda x: REDUCTIONS[name](x, 0), np.zeros((0, 3), np.float32))
    check(lambda x: REDUCTIONS[name](x, 1), np.zeros((0, 3), np.float32))


def test_extremes_of_nothing_raise():
    with pytest.raises(ValueError, match="max"):
        tk.jit(lambda x: x.max())(np.zeros(0))
    with pytest.raises(ValueError, match="argmin"):
        tk.jit(lambda x: x.argmin(axis=0))(np.zeros((0, 3)))


def test_reduction_keywords(rng):
    x = random_array(rng, (5, 9), np.float32, special=False)
    mask = rng.random((5, 9)) < 0.5
    check(lambda x: x.sum(axis=0, keepdims=True), x, ulp=2)
    check(lambda x: x.max(axis=1, initial=3.0), x)
    check(lambda x, m: np.max(x, axis=1, initial=-100.0, where=m), x, mask)
    check(lambda x, m: np.any(x > 5, axis=1, where=m), x, mask)
    check(lambda x: x.argmax(axis=1, keepdims=True), x)
    for function in (
        lambda x, m: np.sum(x, axis=0, where=m, initial=2.0),
        lambda x, m: np.mean(x, axis=0, where=m),
        lambda x, m: np.var(x, axis=1, ddof=1),
        lambda x, m: np.sum(x, dtype=np.float64),
        lambda x, m: np.mean(x, dtype=np.float64),
        lambda x, m: np.average(x, axis=1, weights=np.arange(9.0)),
    ):
        assert_rounded(tk.jit(function)(x, mask), function(x, mask), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arg_and_running_reductions(dtype, rng):
    x = random_array(rng, (6, 11), dtype, 0.5, 1.5, special=False)
    for axis in (None, 0, 1):
        check(lambda x, axis=axis: (np.argmax(x, axis=axis), np.argmin(x, axis=axis)), x)
        for function in (np.cumsum, np.cumprod):
            assert_rounded(tk.jit(lambda x, f=function, a=axis: f(x, axis=a))(x), function(x, axis=axis), x)


def test_argmax_of_nan_and_ties():
    check(lambda x: (x.argmax(), x.argmin()), np.array([1.0, np.nan, 3.0, np.nan]))
    check(lambda x: (x.argmax(), x.argmin()), np.array([2.0, 3.0, 3.0, 2.0]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_that_skip_nan(dtype, rng):
    x = random_array(rng, (7, 9), dtype, -3, 3, special=False)
    x[rng.random((7, 9)) < 0.3] = np.nan
    x[2] = np.nan
    with pytest.warns(RuntimeWarning):
        want = np.nanmax(x, axis=1), np.nanmin(x, axis=1)
    got = tk.jit(lambda x: (np.nanmax(x, axis=1), np.nanmin(x, axis=1)))(x)
    assert_same(got[0], want[0])
    assert_same(got[1], want[1])
    for function in (np.nansum, np.nanprod):
        assert_rounded(tk.jit(lambda x, f=function: f(x, axis=0))(x), function(x, axis=0), x)


SHAPE_FUNCTIONS = [
    lambda x: x.T,
    lambda x: x.reshape(-1),
    lambda x: x.reshape(3, -1),
    lambda x: np.ravel(x),
    lambda x: x.transpose(2, 0, 1),
    lambda x: np.transpose(x, (1, 2, 0)),
    lambda x: np.swapaxes(x, 0, 2),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.moveaxis(x, (0, 1), (2, 0)),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: np.squeeze(x[:, :1], 1),
    lambda x: np.squeeze(x[:1, :, :1]),
    lambda x: np.broadcast_to(x, (2, *x.shape)),
    lambda x: np.flip(x),
    lambda x: np.flip(x, 1),
    lambda x: np.fliplr(x),
    lambda x: np.roll(x, 5),
    lambda x: np.roll(x, -2, axis=1),
    lambda x: np.roll(x, (1, 2), axis=(0, 2)),
    lambda x: np.rot90(x),
    lambda x: np.rot90(x, 3),
    lambda x: np.tile(x, (2, 1, 3)),
    lambda x: np.tile(x, 2),
    lambda x: np.repeat(x, 3, axis=1),
    lambda x: np.repeat(x, 2),
    lambda x: np.repeat(x, [1, 0, 2], axis=0),
    lambda x: np.atleast_2d(x[0, 0]),
    lambda x: np.concatenate([x, x * 2], axis=1),
    lambda x: np.concatenate([x, x[:1]], axis=None),
    lambda x: np.stack([x, x + 1], axis=1),
    lambda x: np.stack([x, x], axis=-1),
    lambda x: np.vstack([x[0], x[1]]),
    lambda x: np.hstack([x, x]),
    lambda x: np.dstack([x[0], x[1]]),
    lambda x: np.column_stack([x[0, 0], x[0, 1]]),
    lambda x: np.split(x, 3),
    lambda x: np.array_split(x, 3, axis=2),
    lambda x: np.split(x, [1, 3], axis=1),
    lambda x: np.pad(x, 2),
    lambda x: np.pad(x, ((0, 1), (2, 0), (1, 1)), constant_values=7),
    lambda x: np.pad(x, 1, mode="edge"),
    lambda x: np.diff(x),
    lambda x: np.diff(x, n=2, axis=1),
    lambda x: np.tril(x),
    lambda x: np.triu(x, 1),
    lambda x: np.zeros_like(x) + np.ones_like(x) + np.full_like(x, 3),
    lambda x: np.outer(x[0, 0], x[0, 1]),
    lambda x: np.meshgrid(x[0, 0], x[0, :, 0]),
    lambda x: list(x),
    lambda x: [row.sum() for row in x[0]],
    lambda x: np.copy(x) + x.copy(),
]


@pytest.mark.parametrize("function", SHAPE_FUNCTIONS, ids=[str(i) for i in range(len(SHAPE_FUNCTIONS))])
def test_shape_functions(function, rng):
    for dtype in (np.int32, np.float64):
        check(function, random_array(rng, (3, 4, 5), dtype, special=False))


ELEMENTWISE = [
    lambda x, y: np.where(x > y, x, y),
    lambda x, y: np.where(x > 0, 1.0, y),
    lambda x, y: np.where(x, 1, 0),
    lambda x, y: np.clip(x, -1, 2),
    lambda x, y: np.clip(x, None, y),
    lambda x, y: x.clip(min=y),
    lambda x, y: np.round(x),
    lambda x, y: np.round(x, 2),
    lambda x, y: np.nan_to_num(x),
    lambda x, y: np.nan_to_num(x, nan=3.0, posinf=1.0),
    lambda x, y: np.isclose(x, y),
    lambda x, y: np.isclose(x, x, equal_nan=True),
    lambda x, y: np.select([x > 1, x < -1], [x, y], 5),
    lambda x, y: x.astype(np.float32),
    lambda x, y: np.fix(x),
    lambda x, y: np.isposinf(x) | np.isneginf(y),
]


@pytest.mark.parametrize("function", ELEMENTWISE, ids=[str(i) for i in range(len(ELEMENTWISE))])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_elementwise_functions(function, dtype, rng):
    check(function, random_array(rng, (5, 9), dtype), random_array(rng, (9,), dtype), ulp=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("to", DTYPES, ids=str)
def test_conversions(dtype, to, rng):
    x = random_array(rng, (41,), dtype, -100, 100, special=dtype.kind != "f" or to.kind in "fb")
    if dtype.kind == "f" and to.kind == "u":
        x = np.abs(x)  # negative floats to unsigned integers differ between NumPy's own loops
    check(lambda x: x.astype(to), x, what=f"{dtype} to {to}")


@given(shape=shapes, layout=layouts, dtype=st.sampled_from(DTYPES), seed=seeds, data=st.data())
def test_reductions_of_any_layout(shape, layout, dtype, seed, data):
    rng = np.random.default_rng(seed)
    x = with_layout(rng, random_array(rng, shape, dtype), layout)
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1))) if shape else set()
    axis = tuple(sorted(axes)) or None
    f = tk.jit(lambda x: (x.sum(axis=axis), (x > 0).any(axis=axis)))
    got = f(x)
    with np.errstate(all="ignore"):
        want = x.sum(axis=axis), (x > 0).any(axis=axis)
    assert_same(got[1], want[1])
    assert got[0].dtype == want[0].dtype
    if dtype.kind != "f":
        np.testing.assert_array_equal(got[0], want[0])


def test_norms(rng):
    x = random_array(rng, (6, 7), np.float64, special=False)
    for function in (
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: np.linalg.norm(x, 1, axis=0),
        lambda x: np.linalg.norm(x, np.inf, axis=0),
        lambda x: np.trapezoid(x),
    ):
        np.testing.assert_allclose(tk.jit(function)(x), function(x), rtol=1e-13)


@pytest.mark.parametrize("decimals", [308, 309, 400, -400])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_more_decimals_than_floats_have(decimals):
    x = np.array([1.5, 0.0, -2.0, np.inf])
    np.testing.assert_array_equal(tk.jit(lambda x: np.round(x, decimals))(x), np.round(x, decimals))
