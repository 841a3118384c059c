"""What numbers mean where arrays have no axes, exponents are negative, divisors are zero, and dicts are reordered."""

import collections

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

from agreement import agree

X = np.arange(4.0)


# -- Axes of arrays that have none


@pytest.mark.parametrize("axis", [0, -1, None, (), 1, -2, (0,)])
@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "ptp", "cumsum", "mean"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_])
def test_reductions_of_arrays_without_axes(name, axis, dtype):
    function, x = getattr(np, name), np.array(1, dtype)
    try:
        wanted = function(x, axis=axis)
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError)):
            tk.jit(lambda x: function(x, axis=axis))(x)
        return
    got = tk.jit(lambda x: function(x, axis=axis))(x)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)
    if name in ("sum", "max", "argmin", "any"):
        kept = function(x, axis=axis, keepdims=True)
        np.testing.assert_array_equal(tk.jit(lambda x: function(x, axis=axis, keepdims=True))(x), kept)


# -- Powers


NEGATIVE = r"(?s)Integers to negative integer powers are not allowed\..*test_meaning"


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x**k,
        lambda x, k: np.power(x, k),
        lambda x, k: 2**k,
        lambda x, k: x.sum() ** k[0],
        lambda x, k: (x**k).sum() + 1,
    ],
)
def test_negative_powers_of_integers(function):
    x, k = np.arange(5), np.array([0, 2, 1, 3, 2])
    jitted = tk.jit(function)
    np.testing.assert_array_equal(jitted(x, k), function(x, k))
    bad = np.array([-1, 2, 1, 3, -5])
    with pytest.raises(ValueError, match="negative integer powers"):
        function(x, bad)
    with pytest.raises(ValueError, match=NEGATIVE):
        jitted(x, bad)
    np.testing.assert_array_equal(jitted(x, k), function(x, k))


def test_negative_powers_that_are_known():
    for function in (
        lambda x: x**-1,
        lambda x: x ** np.array([1, -1, 2]),
        lambda x: np.power(x, np.int8(-2)),
    ):
        with pytest.raises(ValueError, match=NEGATIVE):
            tk.jit(function)(np.arange(3))


@pytest.mark.parametrize("exponent", [np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("base", [np.int32, np.uint8, np.float32, np.float64])
def test_powers_that_are_fine(base, exponent):
    x, k = np.arange(6).astype(base), np.array([0, 1, 2, 3, 1, 2], exponent)
    agree(lambda x, k: x**k, x, k)
    if base is np.float64 and exponent is not np.uint8:
        agree(lambda x, k: x ** (k - 2), x[1:], k[1:])


# -- Python's numbers


@given(st.integers(-4, 4), st.integers(-4, 4))
@example(0, -1)
@example(2, -1)
@example(0, 0)
def test_python_numbers_among_themselves(a, b):
    operations = [
        lambda a, b: a / b,
        lambda a, b: a // b,
        lambda a, b: a % b,
        lambda a, b: a**b,
        lambda a, b: (a + 0.5) / b,
        lambda a, b: (a + 0.5) // (b * 1.0),
        lambda a, b: a / (b - 1),
    ]
    for function in operations:
        jitted = tk.jit(lambda x, a, b: x * function(a, b))  # noqa: B023
        try:
            wanted = X * function(a, b)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError, match="test_meaning"):
                jitted(X, a, b)
            continue
        got = jitted(X, a, b)
        np.testing.assert_allclose(got, wanted, rtol=1e-15)
        assert got.dtype == wanted.dtype


def test_one_program_for_all_divisors():
    f = tk.jit(lambda x, a, b: x * (a / b))
    for b in (1, 2, 5):
        np.testing.assert_array_equal(f(X, 1, b), X * (1 / b))
    with pytest.raises(ZeroDivisionError):
        f(X, 1, 0)
    np.testing.assert_array_equal(f(X, 1, 4), X * (1 / 4))
    assert f.cache_info().misses == 1
    with pytest.raises(ZeroDivisionError):
        tk.jit(lambda x, a: x * (a // 0))(X, 1)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tk.jit(lambda x, a: x / a)(X, 0), X / 0)
        np.testing.assert_array_equal(tk.jit(lambda x, a: a / x)(X, 1), 1 / X)


# -- Places


def test_put_takes_what_numpy_takes():
    def put(x, i):
        np.put(x, i, [7, 8])
        return x

    for dtype in (np.int64, np.uint32, np.int8):
        agree(put, X, np.array([1, 3], dtype))
    for function in (put, lambda x, i: put(x, np.array([1, 3], np.uint64))):
        with pytest.raises(TypeError, match=r"np\.put: cannot cast indices from uint64"):
            tk.jit(function)(X.copy(), np.array([1, 3], np.uint64))


# -- The order of dicts


def moved_back(d):
    d["a"] = d.pop("a") * 2
    return d["b"] + 1


def moved_as_it_is(d):
    a = d.pop("a")
    d["a"] = a
    return sum(i * value for i, value in enumerate(d.values()))


def turned(d):
    for key in reversed(list(d)):
        d[key] = d.pop(key)
    d["new"] = d["b"] * 3


def added(d):
    d["new"] = d["a"] + 1
    d["b"] = d["b"] * 2


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
@pytest.mark.parametrize("function", [moved_back, moved_as_it_is, turned, added])
def test_the_order_of_dicts(function, kind):
    jitted = tk.jit(function)
    ours, theirs = kind(a=X, b=X + 1, c=X + 2), kind(a=X, b=X + 1, c=X + 2)
    for _ in range(3):
        got, wanted = jitted(ours), function(theirs)
        assert list(ours) == list(theirs)
        assert type(ours) is kind
        for key in ours:
            np.testing.assert_array_equal(ours[key], theirs[key])
        if wanted is not None:
            np.testing.assert_array_equal(got, wanted)


def test_items_that_only_move_stay_the_same_objects():
    d = {"a": X, "b": X + 1}
    a, b = d["a"], d["b"]
    tk.jit(moved_as_it_is)(d)
    assert list(d) == ["b", "a"]
    assert d["a"] is a
    assert d["b"] is b
