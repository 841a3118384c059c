"""x[...] against NumPy."""

import numpy as np
import pytest
import tokamak as tk
from agreement import agree
from hypothesis import given, settings
from hypothesis import strategies as st

from support import assert_same, check, compare_trees, layouts, random_array, seeds, with_layout

KEYS = [
    np.s_[0],
    np.s_[-1],
    np.s_[1:],
    np.s_[:-1],
    np.s_[::2],
    np.s_[::-1],
    np.s_[5:1:-2],
    np.s_[..., 0],
    np.s_[0, ..., 1],
    np.s_[:, None],
    np.s_[None, ..., None],
    np.s_[1, 2, 3],
    np.s_[1:2, ::-1, -1],
    np.s_[:, 1:1],
    np.s_[100:],
    np.s_[:, -3:-1, ::3],
    np.s_[()],
    np.s_[...],
    np.s_[[0, 2]],
    np.s_[:, [3, 0, 3]],
    np.s_[:, :, np.array([[0, 1], [-1, 2]])],
    np.s_[np.array([1, 2]), np.array([0, 3])],
    np.s_[:, [[0], [1]], [0, 2]],
    np.s_[1:, [0, 1]],
    np.s_[None, [0, 1]],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys(key, rng):
    check(lambda x: x[key], random_array(rng, (3, 4, 5), np.float32), what=str(key))


slices = st.builds(slice, *[st.none() | st.integers(-7, 7)] * 2, st.none() | st.integers(-3, 3).filter(bool))
items = st.integers(-2, 1) | slices | st.none()


@given(key=st.lists(items, max_size=4).map(tuple), layout=layouts, seed=seeds)
def test_random_keys(key, layout, seed):
    if sum(item is not None for item in key) > 3:
        return
    rng = np.random.default_rng(seed)
    check(
        lambda x: x[key] * 2, with_layout(rng, random_array(rng, (2, 5, 6), np.int32), layout), what=str(key)
    )


def test_computed_indices(rng):
    x = random_array(rng, (6, 5), np.float64)
    i = np.array([0, -1, 3, 5])
    j = np.array([[4, 0], [-5, 1]])
    check(lambda x, i: x[i], x, i)
    check(lambda x, j: x[:, j], x, j)
    check(lambda x, i, k: x[i, k], x, i, np.array([0, 1, 2, -1]))
    check(lambda x, i: np.take(x, i, axis=0, mode="clip"), x, i + 3)
    check(lambda x, i: np.take(x, i, axis=0, mode="wrap"), x, i + 9)
    check(lambda x, i: np.take(x, i), x, np.array([0, 29, -30], np.int32))
    check(lambda x, i: np.take_along_axis(x, i, axis=1), x, rng.integers(-5, 5, (6, 3)))
    check(lambda x, i: np.take_along_axis(x, i, axis=0), x, rng.integers(0, 6, (2, 5)))
    check(lambda x, i: x[i].sum() + x[i + 1].sum(), x.astype(np.int64), np.array([0, 1, 2], np.uint8))


def test_out_of_range():
    x = np.arange(5.0)
    with pytest.raises(IndexError, match="out of bounds"):
        tk.jit(lambda x: x[5])(x)
    with pytest.raises(IndexError, match="out of bounds"):
        tk.jit(lambda x: x[[0, 7]])(x)
    f = tk.jit(lambda x, i: x[i])
    for wrong in ([5], [-6], [0, 2, 100]):
        with pytest.raises(IndexError):
            f(x, np.array(wrong))
    assert f(x, np.array([4])) == 4  # the next call works
    with pytest.raises(IndexError):
        tk.jit(lambda x, i: np.take_along_axis(x, i, 0))(x, np.array([9]))
    with pytest.raises(IndexError, match="too many"):
        tk.jit(lambda x: x[0, 0])(x)


FROM_NOTHING = {
    "rows": (lambda x, i: x[i], (37, 0)),
    "columns": (lambda x, i: x[:, i], (0, 37)),
    "a row": (lambda x, i: x[i[0]], (37, 0)),
    "points": (lambda x, i: x[i, i], (37, 38, 0)),
    "points behind": (lambda x, i: x[:, i, 0], (0, 37, 1)),
    "sum": (lambda x, i: x[i].sum(), (37, 0)),
    "sums of rows": (lambda x, i: (x[i] * 2).sum(axis=1) + 1, (37, 0)),
    "in front of others": (lambda x, i: np.pad(x[i], ((0, 0), (0, 3))), (37, 0)),
    "product": (lambda x, i: x[i] @ np.ones((0, 4)), (37, 0)),
    "sorted": (lambda x, i: np.sort(x[i], axis=0), (37, 0)),
    "computed indices": (lambda x, i: np.exp(x[np.cumsum(i) - i.sum()]), (37, 0)),
    "indices by index": (lambda x, i: x[i[i // 37]], (37, 0)),
    "take rows": (lambda x, i: np.take(x, i, axis=0), (37, 0)),
    "take columns": (lambda x, i: np.take(x, i, axis=1), (0, 37)),
    "take known columns": (lambda x, i: np.take(x, [40, 37], axis=1), (0, 37)),
    "take columns of planes": (lambda x, i: x.take(i, axis=1), (2, 37, 0)),
    "along an axis": (lambda x, i: np.take_along_axis(x, i[:, None], axis=1), (0, 37)),
    "along another axis": (lambda x, i: np.take_along_axis(x, i[:, None][:, :0], axis=0), (37, 0)),
}


@pytest.mark.parametrize("name", FROM_NOTHING)
@pytest.mark.parametrize("index", [[3, 36], [3, 37], [-38, 0], [0, 1 << 40]])
def test_of_arrays_without_elements(name, index):
    f, shape = FROM_NOTHING[name]
    x, i = np.ones(shape), np.array(index)
    try:
        expected = f(x, i)
    except IndexError:
        for options in ({}, {"fuse": False}, {"optimize": False}):
            with pytest.raises(IndexError):
                tk.jit(f, **options)(x, i)
    else:
        check(f, x, i)


def test_what_is_refused():
    x = np.arange(5.0)
    with pytest.raises(NotImplementedError, match=r"depends on values.*np\.where"):
        tk.jit(lambda x: x[x > 2])(x)
    with pytest.raises(IndexError, match="str"):
        tk.jit(lambda x: x["a"])(x)
    with pytest.raises(IndexError, match=r"mask of shape \(4,\)"):
        tk.jit(lambda x: x[np.ones(4, bool)])(x)


@pytest.mark.parametrize("layout", ["dense", "reversed"])
def test_reversed_after_a_reshape(layout, rng):
    """Indices that fall while they are divided."""
    x = with_layout(rng, random_array(rng, (8, 5, 3), np.float32), layout)
    check(lambda x: x.reshape(-1)[::-1], x)
    check(lambda x: x.reshape(4, -1)[::-1, 3::-2] + 1, x)
    check(lambda x: np.repeat(x, 2, axis=0)[::-1], x)
    check(lambda x: np.tile(x, 2)[..., ::-1], x)


MIXED_KEYS = [
    (0, slice(None), [1, 2]),
    ([0, 1], slice(None), [1, 2]),
    ([[0], [1]], [1, 2]),
    (slice(None), 1, [0, 3]),
    (slice(None), [0, 2], None, [1, 1]),
    (..., [3, 0], 2)[:2],
    ([1, 0], ..., 0),
    (None, [0, 1], 2),
    (np.array(1), slice(0, 2)),
    (np.array([True, False]),),
    (slice(None), np.array([True, False, True])),
    (np.arange(24).reshape(2, 3, 4) % 5 == 0,),
    (0, np.array([[True, False, True, True]] * 3)),
    ([], 0),
    (slice(None), [1, 2], ..., [0, 3]),
    ([[0, 1], [1, 0]], ..., [1, 2], 0),
    ([1, 0], ..., slice(None), [1, 2]),
    (slice(None), 1, ..., [0, 3]),
    (slice(None), [0, 2], ..., 1),
    (..., [0, 2], [1, 3]),
    (slice(None), [0, 2], [1, 3], ...),
    (0, ..., np.array([True, False, True]), [1, 1]),
]


@pytest.mark.parametrize("key", MIXED_KEYS, ids=str)
def test_arrays_beside_integers_slices_and_masks(key):
    x = np.arange(24.0).reshape(2, 3, 4)
    assert_same(tk.jit(lambda x: x[key])(x), x[key])
    assert_same(np.asarray(tk.asarray(x)[key]), x[key])


def test_masks_outside_of_jit():
    x = np.arange(6.0)
    a = tk.asarray(x)
    assert_same(np.asarray(a[a > 2]), x[x > 2])
    assert_same(np.asarray(a[a > 9]), x[x > 9])
    a[a > 2] = np.array([7.0, 8, 9])
    assert_same(np.asarray(a), np.array([0.0, 1, 2, 7, 8, 9]))


@pytest.mark.parametrize(
    "key", [k for k in MIXED_KEYS if not any(getattr(i, "dtype", None) == bool for i in k)], ids=str
)
def test_computed_arrays_beside_integers_and_slices(key):
    x = np.arange(24.0).reshape(2, 3, 4)
    known = [np.asarray(i, np.int64) for i in key if isinstance(i, (list, np.ndarray))]

    def pick(x, indices):
        rest = iter(indices)
        return x[tuple(next(rest) if isinstance(i, (list, np.ndarray)) else i for i in key)]

    assert_same(tk.jit(pick)(x, known), x[key])


indices = st.lists(st.integers(-2, 1), min_size=1, max_size=3) | st.just([[0], [-1]])
mixed = st.lists(items | indices | st.just(...), max_size=6).map(tuple)


@given(key=mixed, layout=layouts, seed=seeds)
@settings(max_examples=settings().max_examples * 4)
def test_random_keys_with_arrays(key, layout, seed):
    """Reads and writes; the arrays known, and given as arguments."""
    rng = np.random.default_rng(seed)
    x = with_layout(rng, random_array(rng, (2, 3, 4), np.int32, special=False), layout)
    arrays = [np.array(one) for one in key if isinstance(one, list)]

    def key_of(given):
        rest = iter(given)
        return tuple(next(rest) if isinstance(one, list) else one for one in key)

    def read(x, *given):
        return x[key_of(given)]

    def write(x, values, *given):
        x = x.copy()
        x[key_of(given)] = values
        return x

    def add(x, values, *given):
        x = x.copy()
        np.add.at(x, key_of(given), values)
        return x

    agree(read, x, *arrays)
    agree(lambda x: x[key], x)
    try:
        values = rng.integers(0, 99, x[key].shape).astype(x.dtype)
    except IndexError:
        values = np.int32(7)
    agree(write, x, values, *arrays)
    agree(lambda x, values: write(x, values, *arrays), x, values)
    agree(add, x, values, *arrays)


def test_arrays_that_do_not_fit_each_other():
    x, i, j = np.ones((3, 4)), np.array([0, 1]), np.array([0, 1, 2])
    for program in (lambda x: x[i, j], lambda x: x[[0, 1], [0, 1, 2]]):
        with pytest.raises(IndexError, match=r"shape mismatch.*\(2,\) \(3,\)"):
            tk.jit(program)(x)
    with pytest.raises(IndexError, match="shape mismatch"):
        tk.jit(lambda x, i, j: x[i, j])(x, i, j)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_what_arrays_in_front_find_lies_as_in_numpy(order):
    """Place by place, each as it lay."""
    x = np.arange(60.0).reshape(np.take((3, 4, 5), order)).transpose(np.argsort(order))
    i, pairs = np.array([0, 2]), np.asfortranarray([[0, 1, 0], [1, 2, 2]])
    triples = (pairs, pairs, pairs)
    for key in [(i,), (i, i), (pairs,), triples, (pairs, pairs), (i, slice(None), i), (i, ..., i)]:
        assert tk.jit(lambda x, key=key: x[key])(x).strides == x[key].strides


@pytest.mark.parametrize("indices", [(0, 0), (3, 0), (0, 3), (500, 0)])
@pytest.mark.parametrize("table", [(20_000, 100), (20_000, 0), (20, 100)])
def test_sums_of_rows_that_nobody_looks_up(table, indices):
    """Of a large table, rows to come are fetched: of none there is no next one."""
    x, i = np.ones(table, np.float32), np.zeros(indices, np.int64)
    functions = [lambda x, i: x[i].sum(axis=1), lambda x, i: x[i + 1].sum(axis=(1, 2))]
    if table[1] != 0:
        functions.append(lambda x, i: x[np.where(i > 0, i, 0)].max(axis=-1))
    for f in functions:
        assert_same(tk.jit(f)(x, i), f(x, i))


LARGE = np.array([2**64 - 1, 0, 2**64 - 3], np.uint64)


def _written(x, i):
    x = x.copy()
    x[i] = -1.0
    return x


def _added(x, i):
    x = x.copy()
    x[i] += 1.0
    np.add.at(x, i, 1.0)
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: np.take(x, i),
        lambda x, i: np.take(x, i, axis=1),
        lambda x, i: np.take(x, i, mode="wrap"),
        lambda x, i: np.take(x, i, mode="clip"),
        lambda x, i: np.take_along_axis(x, i[:, None], axis=1),
        _written,
        _added,
    ],
)
def test_indices_beyond_int64_are_negative_as_in_numpy(function):
    x = np.arange(12.0).reshape(3, 4)
    check(function, x, LARGE)
    check(lambda x: function(x, LARGE), x)
    compare_trees(np.asarray(function(tk.array(x), LARGE)), function(x, LARGE), 0, "eager")
    compare_trees(np.asarray(function(tk.array(x), tk.array(LARGE))), function(x, LARGE), 0, "eager")
