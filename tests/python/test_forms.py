"""Forms of NumPy that are no functions of arrays: x.flat, x.view, np.r_ and np.c_, np.vectorize, lists of arrays."""

import math

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

X = np.arange(12.0).reshape(3, 4)
V = np.arange(5, dtype=np.float32)


def check(function, *args):
    """Equal to NumPy, with dtypes, and what the arguments are afterwards."""
    ours, theirs = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    got, wanted = tk.jit(function)(*ours), function(*theirs)
    for a, b in zip(
        got if isinstance(got, tuple) else (got,),
        wanted if isinstance(wanted, tuple) else (wanted,),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def filled(x):
    x.flat = [1, 2, 3]
    return x * 2


def written(x):
    x.flat[3] = 50
    x.flat[-2:] = -1
    x.flat[[0, 5]] = [7, 8]
    x.flat[1::4] = [20, 30]
    return x + 1


def written_below_a_view(x):
    x.T.flat[:5] = [1, 2, 3, 4, 5]
    x[:, 1].flat[1] = 100
    return x * 2


def written_under_a_mask(x):
    x.flat[x.ravel() > 5] = 0
    return x


def counted(x):
    flat = x.flat
    return next(flat) + next(flat) * 10


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.flat[3],
        lambda x: x.flat[-1] + x.flat[0],
        lambda x: x.flat[2:7],
        lambda x: x.T.flat[2:7:2],
        lambda x: x.flat[[1, 3, -2]],
        lambda x: x.flat[...],
        lambda x: x.flat[np.array([[0, 1], [2, 3]])],
        lambda x: x.T.flat[x[0].astype(int)],
        lambda x: sum(v * i for i, v in enumerate(x.flat)),
        lambda x: len(x.flat) * x,
        lambda x: x.flat.copy(),
        lambda x: np.sum(x.flat) + np.max(x.T.flat),
        lambda x: np.sqrt(x.flat),
        lambda x: x.flat > 3,
        lambda x: np.concatenate([x.flat, x[0]]),
        filled,
        written,
        written_below_a_view,
        written_under_a_mask,
        counted,
    ],
)
def test_flat(function):
    check(function, X)
    check(function, X.astype(np.int32))


def test_flat_outside_of_functions():
    x = tk.array(X)
    x.flat[5] = 99
    assert float(x[1, 1]) == 99
    assert [float(v) for v in tk.array(V).flat] == V.tolist()


def test_flat_of_what_is_not_there():
    with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 12"):
        tk.jit(lambda x: x.flat[12])(X)
    with pytest.raises(IndexError, match="one index"):
        tk.jit(lambda x: x.flat[1, 2])(X)


# -- Views of bits


def inverse_root(x):
    """As in Quake III."""
    bits = np.int32(0x5F3759DF) - (x.view(np.int32) >> 1)
    y = bits.view(np.float32)
    return y * (1.5 - 0.5 * x * y * y)


def cleared(x):
    x.view(np.uint64)[1:] &= np.uint64(0x7FFFFFFFFFFFFFFF)
    return x


BITS = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e308])


def test_views_of_bits():
    check(inverse_root, np.array([1, 4, 2.5, 1e-3, 1e10], np.float32))
    check(cleared, BITS)
    check(lambda x: x.view(), X)
    check(lambda x: x.view(np.ndarray), X)
    check(lambda x: (x > 3).view(np.int8) + (x > 3).view("u1"), X)


@pytest.mark.parametrize(
    ("of", "to"),
    [
        ("f8", "i8"),
        ("f8", "u8"),
        ("i8", "f8"),
        ("f4", "u4"),
        ("u4", "f4"),
        ("i4", "f4"),
        ("i2", "u2"),
        ("u1", "i1"),
        ("f8", "f8"),
    ],
)
def test_views_of_all_dtypes(of, to):
    with np.errstate(all="ignore"):
        x = (
            BITS.astype("f4").view("u4").astype(of)
            if of[0] == "u"
            else np.nan_to_num(BITS * 1e-300).astype(of)
        )
    check(lambda x: x.view(to), x)
    check(lambda x: x[::-2].view(to).view(of) * 2, x)


def test_views_as_complex_numbers_are_refused():
    with pytest.raises((tk.Unsupported, TypeError), match="test_forms.py"):
        tk.jit(lambda x: x.view("c16"))(X)


# -- np.r_ and np.c_


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: np.r_[x, x],
        lambda x, n: np.r_[0, x, 1],
        lambda x, n: np.r_[0.5, x, 1:4, n],
        lambda x, n: np.r_[x[0], x[1:], [7, 8]],
        lambda x, n: np.r_[0:1:5j, x],
        lambda x, n: np.c_[x, x * 2],
        lambda x, n: np.c_[np.arange(5), x],
        lambda x, n: np.r_["0,2", x, x],
        lambda x, n: np.r_["1,2,0", x, x],
        lambda x, n: np.r_["-1", np.outer(x, x), np.outer(x, x)],
        lambda x, n: np.r_[n, 1, 2] + x[0],
        lambda x, n: np.c_[np.outer(x, x), x],
        lambda x, n: np.r_[1, 2, 3] * x[0],
        lambda x, n: np.r_[x.sum(), x],
        lambda x, n: np.r_[:3] + x[0],
        lambda x, n: np.r_[:n] + x[0],
    ],
)
def test_joining_by_index(function):
    for x in (V, V.astype(np.float64), V.astype(np.int32)):
        for n in (2, 3):
            check(function, x, n)


# -- np.vectorize

DOUBLE = 2.0
scaled = np.vectorize(lambda v: DOUBLE * v + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.vectorize(lambda v: v * 2 + 1)(x),
        lambda x: np.vectorize(lambda a, b: a * b)(x, 3),
        lambda x: np.vectorize(lambda a, b: np.where(a > b, a - b, a + b))(x, x[:, :1]),
        lambda x: np.vectorize(lambda a, k=1: a * k)(x, k=2.5),
        lambda x: np.vectorize(lambda v: 1.5)(x),
        lambda x: np.vectorize(lambda v: (v, v + 1))(x),
        lambda x: np.vectorize(lambda v: v + 1, otypes=[np.float32])(x),
        lambda x: np.vectorize(lambda v, c: v * c[0] + c[1], excluded=["c"])(x, c=[2.0, 1.0]),
        lambda x: np.vectorize(np.sqrt)(x * x),
        lambda x: scaled(x),
    ],
)
def test_vectorize(function):
    check(function, X)
    check(function, X.astype(np.float32))


def test_what_vectorize_cannot_do():
    with pytest.raises(TypeError, match="`if`|bool"):
        tk.jit(lambda x: np.vectorize(lambda v: v if v > 0 else -v)(x))(X)
    with pytest.raises(tk.Unsupported, match="signature"):
        tk.jit(lambda x: np.vectorize(lambda v: v.sum(), signature="(n)->()")(x))(X)
    plain = np.vectorize(lambda v: math.floor(v) if v > 1 else v)
    np.testing.assert_array_equal(tk.jit(lambda x: x * plain(V))(V), V * plain(V))


def test_vectorized_functions_are_looked_at():
    global DOUBLE
    f = tk.jit(lambda x: scaled(x))
    np.testing.assert_array_equal(f(X), X * 2 + 1)
    try:
        DOUBLE = 3.0
        np.testing.assert_array_equal(f(X), X * 3 + 1)
    finally:
        DOUBLE = 2.0


# -- Lists of arrays


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: np.mean([a, b]),
        lambda a, b: np.mean([a, b, a * 2], axis=0),
        lambda a, b: np.sum((a, b), axis=1),
        lambda a, b: np.max([a.sum(), b.sum(), 3.0]),
        lambda a, b: np.median([a, b], axis=0),
        lambda a, b: np.std([a, b], 0),
        lambda a, b: np.argmax([a[0], b[1], a[2]]),
        lambda a, b: np.sort([a[2], b[1], a[0]]),
        lambda a, b: np.linalg.norm([a[1], b[1]]),
        lambda a, b: np.transpose([a, b]),
        lambda a, b: np.cumsum([a, b], axis=0),
        lambda a, b: np.dot([a[0], a[1]], [b[0], b[1]]),
        lambda a, b: np.average([a, b], axis=0, weights=[1, 3]),
        lambda a, b: np.any([a > 1, b > 1], axis=0),
        lambda a, b: np.percentile([a, b], 50),
        lambda a, b: np.clip([a, b], 1, 3),
        lambda a, b: np.round([a / 3, b], 1),
        lambda a, b: np.array([[a[0], 1], [2, b[1]]]).sum(),
        lambda a, b: np.diff([a, b], axis=0),
    ],
)
def test_lists_of_arrays(function):
    check(function, V.astype(np.float64), V[::-1].astype(np.float64) + 1)


def test_functions_stay_themselves():
    """Functions may be asked which they are: np.mean is replaced only where a list was passed."""

    def f(x, how):
        if how is np.mean:
            return x * 2
        return how(x) if how is np.max else x

    for how in (np.mean, np.max, np.sum):
        np.testing.assert_array_equal(tk.jit(f)(X, how), f(X, how))
    before = np.mean
    tk.jit(lambda x: np.mean([x, x]))(X)
    assert np.mean is before


def test_numbers_in_lists_stay_arguments():
    f = tk.jit(lambda x, a, b: x * np.max([a, b, x.sum()]))
    for a, b in [(1, 2), (3, 2.5), (100, 200)]:
        np.testing.assert_array_equal(f(X, a, b), X * np.max([a, b, X.sum()]))
    assert f.cache_info().misses == 2  # a float among them, or not


def test_strides_are_refused():
    for f in (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)), lambda x: as_strided(x, (2, 2))):
        with pytest.raises(tk.Error, match=r"(?s)as_strided.*sliding_window_view.*test_forms.py"):
            tk.jit(f)(X)


@given(
    st.lists(st.integers(-12, 11), min_size=1, max_size=6),
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
)
def test_any_places_of_flat(places, values):
    def f(x):
        x.flat[places] = values
        return x.flat[places]

    check(f, X)
