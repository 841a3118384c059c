"""np.pad in all modes against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, assert_same, random_array, seeds

MODES = ["constant", "edge", "linear_ramp", "maximum", "minimum", "mean", "reflect", "symmetric", "wrap"]
SHAPES = [(0,), (1,), (4,), (7,), (2, 3), (1, 4), (3, 0), (2, 3, 4)]


@pytest.mark.parametrize("mode", MODES)
@given(shape=st.sampled_from(SHAPES), dtype=st.sampled_from(DTYPES), seed=seeds, data=st.data())
def test_modes(mode, shape, dtype, seed, data):
    widths = data.draw(
        st.one_of(
            st.integers(0, 9),
            st.tuples(st.integers(0, 9), st.integers(0, 3)),
            st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 12))] * len(shape)),
        )
    )
    options = {}
    if mode in ("reflect", "symmetric"):
        kinds = ["even"] if dtype.kind == "b" else ["even", "odd"]
        options["reflect_type"] = data.draw(st.sampled_from(kinds))
    numbers = st.integers(0, 5) if dtype.kind != "f" else st.sampled_from([0, 2.5, -1.0])
    pairs = st.tuples(*[st.tuples(numbers, numbers)] * len(shape))
    if mode in ("constant", "linear_ramp"):
        name = "constant_values" if mode == "constant" else "end_values"
        options[name] = data.draw(st.one_of(numbers, st.tuples(numbers, numbers), pairs))
    if mode in ("maximum", "minimum", "mean"):
        options["stat_length"] = data.draw(st.sampled_from([None, 1, 2, (1, 3), 100]))
    rng = np.random.default_rng(seed)
    x = random_array(rng, shape, dtype, -9, 9, special=mode not in ("mean", "linear_ramp"))
    if mode == "linear_ramp" and dtype.kind == "b":
        x = x.astype(np.int8)
    agree(lambda x: np.pad(x, widths, mode, **options), x, rounded=mode in ("mean", "linear_ramp"))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_few_axes(shape, rng):
    x = random_array(rng, shape, np.float32, special=False)
    agree(lambda x: np.pad(x, 2), x)
    assert tk.jit(lambda x: np.pad(x, 2, "empty"))(x).shape == tuple(n + 4 for n in shape)


def test_widths_by_axis(rng):
    x = random_array(rng, (3, 4), np.int64)
    agree(lambda x: np.pad(x, {-1: (1, 2)}), x)
    agree(lambda x: np.pad(x, {0: 3}, mode="wrap"), x)


def test_constants_that_are_computed(rng):
    x = random_array(rng, (3, 4), np.float64, special=False)
    agree(lambda x: np.pad(x, 1, constant_values=x[0, 0]), x)

    def sides(x, values):
        return np.pad(x, ((1, 2), (3, 0)), constant_values=values)

    agree(sides, x, np.array([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64", "float32", "bool"])
@pytest.mark.parametrize(
    "values", [300, -1, 3.7, float("nan"), 1e30, True, (1, 300), ((1, 2), (3, 300)), np.int64(300)]
)
def test_constants_that_do_not_fit(values, dtype):
    x = np.ones((2, 3), dtype)
    try:
        with np.errstate(all="ignore"):
            expected = np.pad(x, 1, constant_values=values)
    except (OverflowError, ValueError) as error:
        with pytest.raises(type(error)):
            tk.jit(lambda x: np.pad(x, 1, constant_values=values))(x)
    else:
        assert_same(tk.jit(lambda x: np.pad(x, 1, constant_values=values))(x), expected)


def test_errors(rng):
    x = random_array(rng, (3, 0), np.float64)
    for function in (
        lambda x: np.pad(x, -1),
        lambda x: np.pad(x, 1.5),
        lambda x: np.pad(x, 1, "edge"),
        lambda x: np.pad(x, 1, "maximum"),
        lambda x: np.pad(x, 1, "sideways"),
        lambda x: np.pad(x, 1, "edge", constant_values=3),
        lambda x: np.pad(x, ((1, 2), (3, 4), (5, 6))),
        lambda x: np.pad(x[:, :0].sum(axis=1), 1, "minimum", stat_length=0),
    ):
        agree(function, x)
    agree(lambda x: np.pad(x, 1, "median"), x)
