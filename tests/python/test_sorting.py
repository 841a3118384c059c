"""Sorting, partitions, several keys: against NumPy, jitted and eager."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

from agreement import agree
from support import DTYPES, SHAPES, random_array, seeds

shapes = st.sampled_from(SHAPES)
dtypes = st.sampled_from(DTYPES)
kinds = st.sampled_from([None, "quicksort", "mergesort", "heapsort", "stable"])


def draw_axis(data, shape):
    """An axis, none, or one that is not there."""
    return data.draw(st.sampled_from([None, *range(-len(shape) - 1, len(shape) + 1)]))


@given(shape=shapes, dtype=dtypes, seed=seeds, kind=kinds, data=st.data())
def test_sort(shape, dtype, seed, kind, data):
    axis = draw_axis(data, shape)
    x = random_array(np.random.default_rng(seed), shape, dtype)
    if kind in ("mergesort", "stable"):
        agree(lambda x: np.sort(x, axis=axis, kind=kind), x)  # zeros with their signs
    agree(lambda x: np.sort(x, axis=axis, kind=kind) + 0, x)


@given(shape=shapes, dtype=dtypes, seed=seeds, data=st.data())
def test_argsort(shape, dtype, seed, data):
    axis = draw_axis(data, shape)
    x = random_array(np.random.default_rng(seed), shape, dtype)
    agree(lambda x: np.argsort(x, axis=axis, kind="stable"), x)
    agree(lambda x: np.argsort(x, axis=axis, stable=True), x)


@given(dtype=dtypes, seed=seeds, size=st.integers(0, 700), few=st.booleans())
def test_longer_lines(dtype, seed, size, few):
    rng = np.random.default_rng(seed)
    x = random_array(rng, (size,), dtype, *((-2, 2) if few else (-100, 100)))
    agree(lambda x: (np.sort(x) + 0, np.argsort(x, kind="stable")), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lines_that_all_threads_sort(dtype):
    """Also such as agree in many bits, or differ in the lowest only."""
    rng = np.random.default_rng(3)
    x = random_array(rng, (200_001,), dtype, -120, 120)
    close = np.where(rng.random(x.shape) < 0.01, x, x[:1] + np.arange(x.size).astype(dtype) % 3).astype(dtype)
    for one in (x, close, np.sort(x), np.sort(x)[::-1], x[:1].repeat(100_000)):
        agree(lambda x: (np.sort(x) + 0, np.argsort(x, kind="stable")), one)


def test_the_number_of_threads_changes_nothing():
    x = np.random.default_rng(4).standard_normal(300_000)
    before = tk.num_threads()
    try:
        for threads in (1, 2, 3, 7):
            tk.set_num_threads(threads)
            np.testing.assert_array_equal(tk.jit(np.sort)(x), np.sort(x))
            np.testing.assert_array_equal(tk.jit(np.argsort)(x), np.argsort(x, kind="stable"))
    finally:
        tk.set_num_threads(before)


@given(
    shape=st.sampled_from([(4, 9), (3, 1, 5), (2, 3, 17), (40, 30)]), dtype=dtypes, seed=seeds, data=st.data()
)
def test_through_views(shape, dtype, seed, data):
    x = random_array(np.random.default_rng(seed), shape, dtype)
    axis = data.draw(st.integers(0, len(shape) - 1))
    how = data.draw(st.sampled_from(["T", "slice", "reverse", "broadcast", "reshape", "computed"]))

    def viewed(x):
        if how == "T":
            return x.T
        if how == "slice":
            return x[::2, 1:]
        if how == "reverse":
            return np.flip(x, axis)
        if how == "broadcast":
            return np.broadcast_to(x[..., :1], x.shape)
        if how == "reshape":
            return x.T.reshape(x.shape)
        return np.where(x > 2, x, x[::-1])

    agree(lambda x: (np.sort(viewed(x), axis) + 0, np.argsort(viewed(x), axis, kind="stable")), x)
    # And arguments that lie in memory like that.
    agree(lambda x: (np.sort(x, axis) + 0, np.argsort(x, axis, kind="stable")), viewed(x))


def test_zeros_and_nans_have_an_order():
    x = np.array([np.nan, 0.0, -np.inf, -0.0, np.nan, np.inf, 0.0])
    for dtype in (np.float16, np.float32, np.float64):
        got = tk.jit(np.sort)(x.astype(dtype))
        assert np.signbit(got).tolist()[:5] == [True, True, False, False, False]
        assert np.isnan(got).tolist() == [False] * 5 + [True] * 2
        assert tk.jit(np.argsort)(x.astype(dtype)).tolist() == [2, 1, 3, 6, 5, 0, 4]


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.random.default_rng(0).standard_normal(500).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(tk.jit(np.sort)(x).astype(np.float32), np.sort(x.astype(np.float32)))
    np.testing.assert_array_equal(tk.jit(np.argsort)(x), np.argsort(x.astype(np.float32), kind="stable"))


# ---------------------------------------------------------------------------------------------------------------------
# Methods that write


@given(shape=st.sampled_from([(7,), (4, 9), (2, 3, 17)]), dtype=dtypes, seed=seeds, data=st.data())
def test_sorting_in_place(shape, dtype, seed, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = random_array(np.random.default_rng(seed), shape, dtype)

    def f(x):
        y = x.copy()
        row = y[1:]
        row.sort(axis=axis)
        z = y + 0
        y.T.sort()
        return z, row + 0, y + 0

    agree(f, x)


def test_sorting_an_argument_is_seen_by_the_caller():
    def f(x):
        assert x.sort(axis=0) is None
        x[0].partition(1)

    got = np.random.default_rng(0).standard_normal((5, 4))
    want = np.sort(np.sort(got, axis=0), axis=0)
    want[0].sort()
    tk.jit(f)(got)
    np.testing.assert_array_equal(got, want)


def test_methods_give_orders():
    x = np.random.default_rng(0).permutation(20)
    agree(lambda x: (x.argsort(kind="stable"), x.searchsorted(3, sorter=x.argsort())), x)
    assert x[tk.jit(lambda x: x.argpartition(4))(x)].tolist() == sorted(x)


# ---------------------------------------------------------------------------------------------------------------------
# Partitions


@given(shape=st.sampled_from([(1,), (9,), (4, 9), (3, 0)]), dtype=dtypes, seed=seeds, data=st.data())
def test_partitions(shape, dtype, seed, data):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = random_array(np.random.default_rng(seed), shape, dtype, special=False)
    extent = x.size if axis is None else shape[axis]
    k = data.draw(st.integers(-extent, max(extent - 1, 0)))
    place = 0 if axis is None else axis
    for call in (tk.jit(lambda x: (np.partition(x, k, axis), np.argpartition(x, k, axis))),):
        parted, order = call(x)
        flat = x.ravel() if axis is None else x
        assert parted.dtype == dtype and order.dtype == np.int64 and parted.shape == order.shape == flat.shape
        np.testing.assert_array_equal(parted, np.take_along_axis(flat, order, place))
        if extent:
            want = np.partition(x, k, axis)
            np.testing.assert_array_equal(np.take(parted, k, place), np.take(want, k, place))


def test_partitions_refuse_what_numpy_refuses():
    x = np.array([3.0, 1.0, 2.0])
    for kth in (3, -4, 1.0, True, [0, 5], [[0]]):
        agree(lambda x, kth=kth: np.partition(x, kth), x)
        agree(lambda x, kth=kth: np.argpartition(x, kth), x)
    agree(lambda x: np.partition(x, 1, kind="quick"), x)
    agree(lambda x: np.partition(x, [0, 2]), x)
    agree(lambda x: np.partition(x[0], 0), x)
    agree(lambda x: np.argpartition(x[0], 0), x)


def test_sorting_refuses_what_numpy_refuses():
    x = np.array([3.0, 1.0, 2.0])
    for options in ({"kind": "bogus"}, {"order": "f"}, {"kind": "stable", "stable": True}, {"axis": 1}):
        agree(lambda x, options=options: np.sort(x, **options), x)
        agree(lambda x, options=options: np.argsort(x, **options), x)
    agree(lambda x: np.sort(x[0]), x)
    agree(lambda x: np.sort(x[0], axis=None), x)
    for axis in (-1, 0, None, 1):
        agree(lambda x, axis=axis: np.argsort(x[0], axis=axis), x)


# ---------------------------------------------------------------------------------------------------------------------
# Several keys


@given(
    shape=st.sampled_from([(), (0,), (1,), (9,), (4, 9), (3, 0), (2, 3, 17)]),
    keys=st.lists(dtypes, min_size=1, max_size=3),
    seed=seeds,
    data=st.data(),
)
def test_lexsort(shape, keys, seed, data):
    axis = data.draw(st.sampled_from([-1, *range(-len(shape), len(shape))]))
    rng = np.random.default_rng(seed)
    arrays = [random_array(rng, shape, dtype, -2, 2) for dtype in keys]
    agree(lambda *arrays: np.lexsort(arrays, axis=axis), *arrays)


def test_lexsort_of_an_array_and_of_nothing():
    x = np.random.default_rng(0).integers(0, 3, (3, 20))
    agree(lambda x: np.lexsort(x), x)
    agree(lambda x: np.lexsort((x[0], x[1, :5])), x)
    agree(lambda x: x[0][np.lexsort((x[1], x[2]))], x)


# ---------------------------------------------------------------------------------------------------------------------
# What uses it


@given(seed=seeds, count=st.integers(1, 40), period=st.sampled_from([1.0, 2.5, 360, -3.0]))
@example(seed=0, count=1, period=1.0)
def test_interp_with_a_period(seed, count, period):
    rng = np.random.default_rng(seed)
    points = rng.permutation(count) * 0.37 + rng.random() * 5
    values = rng.standard_normal(count)
    at = rng.standard_normal(20) * 10
    agree(
        lambda at, points, values: np.interp(at, points, values, period=period),
        at,
        points,
        values,
        rounded=True,
    )


def test_searchsorted_with_a_sorter():
    rng = np.random.default_rng(0)
    x, v = rng.standard_normal(50), rng.standard_normal(9)
    agree(lambda x, v: np.searchsorted(x, v, sorter=np.argsort(x)), x, v)


def test_a_sort_is_explained_with_its_line():
    @tk.jit
    def f(x):
        y = x * 2
        return np.sort(y, axis=0)

    e = f.explain(np.ones((50, 4), np.float32))
    assert [kernel.name for kernel in e.kernels] == ["mul", "sort"]
    kernel = e.kernels[1]
    assert "sort along axis 0 of f32[50,4]: 4 lines of 50" in kernel.loops
    line = f.__wrapped__.__code__.co_firstlineno + 3
    assert str(kernel.lines[0]).endswith(f":{line}, in f")
    assert kernel.bytes_read == kernel.bytes_written == 800


def test_unique_stays_outside():
    with pytest.raises(NotImplementedError, match="shape depends on values"):
        tk.jit(np.unique)(np.ones(3))
    assert np.unique(tk.asarray([3, 1, 3])).tolist() == [1, 3]
