"""Python's numbers that are computed with in a program: right as in Python, or an error."""

import operator

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

LEAST, MOST = -(2**63), 2**63 - 1
INTEGERS = st.one_of(
    st.integers(LEAST, MOST),
    st.integers(-70, 70),
    st.sampled_from([LEAST, LEAST + 1, MOST, 2**62, -(2**62), 2**32 + 1, 3037000499, 3037000500]),
)
OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "neg": lambda a, b: -a,
    "abs": lambda a, b: abs(a),
    "square": lambda a, b: a**2,
    "fifth power": lambda a, b: a**5,
    "lshift": lambda a, b: a << (b % 90),
    "rshift": lambda a, b: a >> (b % 90),
}
JITTED = {name: tk.jit(lambda a, b, f=f: f(a, b), static_argnames="f") for name, f in OPERATIONS.items()}
POWER = tk.jit(lambda x, y: x**y)


@pytest.mark.parametrize("name", OPERATIONS)
@given(INTEGERS, INTEGERS)
@example(LEAST, -1)
@example(-1, LEAST)
@example(2**62, 4)
@example(9999999999, 9999999999)
def test_integers(name, a, b):
    try:
        wanted = OPERATIONS[name](a, b)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            JITTED[name](a, b)
        return
    if not LEAST <= wanted <= MOST:
        with pytest.raises(OverflowError):
            JITTED[name](a, b)
        return
    got = JITTED[name](a, b)
    assert type(got) is int
    assert got == wanted


FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, -8.0, 1 / 3, 2.0, -1.0, 1e200, 0.5]))


@given(FLOATS, FLOATS)
@example(-8.0, 1 / 3)
@example(0.0, -1.0)
@example(0.0, -np.inf)
@example(10.0, 400.0)
def test_powers_of_floats(x, y):
    try:
        wanted = x**y
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            POWER(x, y)
        return
    except OverflowError:  # the one thing that is as in NumPy
        assert abs(POWER(x, y)) == np.inf
        return
    if isinstance(wanted, complex):
        with pytest.raises(OverflowError):
            POWER(x, y)
        return
    np.testing.assert_allclose(POWER(x, y), wanted, rtol=1e-15, atol=0)


def test_a_product_that_wraps_is_an_error_where_it_is_used():
    def function(x, n):
        return x * (n * n % 1000)

    x = np.arange(3.0)
    np.testing.assert_array_equal(tk.jit(function)(x, 1234), function(x, 1234))
    with pytest.raises(OverflowError):
        tk.jit(function)(x, 9999999999)
    static = tk.jit(function, static_argnames="n")
    np.testing.assert_array_equal(static(x, 9999999999), function(x, 9999999999))


def same_or_error(function, *arguments):
    """The result, and of which type; or which error of Python's."""
    results = []
    for one in (function, tk.jit(function)):
        try:
            with np.errstate(all="ignore"):
                result = one(*arguments)
            results.append((type(result), getattr(result, "dtype", None), np.asarray(result).tolist()))
        except (TypeError, OverflowError, ValueError) as error:
            results.append(next(kind for kind in (TypeError, OverflowError, ValueError) if isinstance(error, kind)))
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4", "u1"])
def test_round_of_a_numpy_scalar_is_an_integer_of_python(dtype):
    x = np.array([100, 3, 2], dtype) + (np.array(0.5, dtype) if dtype[0] == "f" else np.array(0, dtype))
    same_or_error(lambda x: round(x.max()), x)
    same_or_error(lambda x: round(x.max()) + 100, x)
    same_or_error(lambda x: round(x[2]) * np.ones(2, "f4"), x)
    same_or_error(lambda x: np.zeros(2, np.int8) + round(x[1]), x)
    same_or_error(lambda s: round(s) + 100, x[0])
    same_or_error(lambda x: round(x.max(), 1), x)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_round_of_what_is_no_integer_is_an_error(number):
    same_or_error(lambda x: round(x.sum()), np.array([number]))
    same_or_error(lambda k, x: round(k) + x, number, np.zeros(1))


def test_round_of_numbers_that_do_not_fit_and_of_booleans():
    f = tk.jit(lambda k, x: round(k) + x)
    np.testing.assert_array_equal(f(2.5, np.zeros(1)), [2])
    for large in (1e30, -1e30, 2.0**63):
        with pytest.raises(OverflowError):
            f(large, np.zeros(1))
    np.testing.assert_array_equal(f(-(2.0**63), np.zeros(1)), [-(2.0**63)])
    same_or_error(lambda k: round(k), True)
    same_or_error(lambda x: round(x.any()), np.ones(2))


@pytest.mark.parametrize("number", [3.7, -2.0, 5, True])
def test_bits_of_a_float_are_not_turned(number):
    same_or_error(lambda k: ~k, number)
    same_or_error(lambda k, x: x + ~k, number, np.ones(2))


def test_square_of_a_boolean_scalar_is_an_integer_as_powers_are():
    x = np.array([1.0, 3.0])
    same_or_error(lambda x: (x > 2).any() ** 2 + np.int8(100) + np.int8(100), x)
    same_or_error(lambda x: (x > 2).any() ** 2 * 200, x)
    same_or_error(lambda s: pow(s, 2), np.True_)
    same_or_error(lambda s: s**2, np.array([True]))
    same_or_error(lambda s: s**2, np.array(True))


AROUND_FLOATS = [2**53 + 1, 2**53, 2**63 - 1, -(2**63), -(2**53) - 1, 0, 5, -5, 2**62 + 1]
THEIR_FLOATS = [2.0**53, 2.0**63, -(2.0**63), 0.0, 5.5, np.inf, -np.inf, np.nan, 2.0**62, -(2.0**53), 1e300, 5.0]


def test_integers_and_floats_are_compared_exactly():
    def f(k, j):
        return k == j, k != j, k < j, k <= j, k > j, k >= j, j == k, j != k, j < k, j <= k, j > k, j >= k

    both = tk.jit(f)
    for k in AROUND_FLOATS:
        of_integer = tk.jit(lambda j, k=k: f(k, j))
        for j in THEIR_FLOATS:
            assert tuple(map(bool, both(k, j))) == f(k, j), (k, j)
            assert tuple(map(bool, of_integer(j))) == f(k, j), (k, j)
            assert tuple(map(bool, tk.jit(lambda k, j=j: f(k, j))(k))) == f(k, j), (k, j)
