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
