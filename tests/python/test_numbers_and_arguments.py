"""Python numbers among themselves, and what an argument may not have done to it."""

import numpy as np
import pytest
import tokamak as tk


@pytest.mark.parametrize(
    "compare", [lambda n: n > 1, lambda n: n == 2, lambda n: n % 2 == 0, lambda n: np.greater(n, 1)]
)
def test_numbers_compare_with_numbers(compare):
    x = np.arange(4.0)
    function = tk.jit(lambda a, n: np.where(compare(n), a, -a))
    for n in (1, 2, 3):
        np.testing.assert_array_equal(function(x, n), np.where(compare(n), x, -x))


def test_a_number_that_does_not_fit_raises_as_numpy_does():
    x = np.zeros(3, np.uint8)
    with pytest.raises(OverflowError):
        x + 300
    with pytest.raises(OverflowError) as raised:
        tk.jit(lambda a: a + 300)(x)
    assert isinstance(raised.value, tk.UserError)


def stored(a, n):
    a[0] = n
    return a


def filled(a, n):
    a.fill(n)
    return a


@pytest.mark.parametrize(
    "function",
    [
        lambda a, n: a + n,
        lambda a, n: np.minimum(n, a),
        lambda a, n: a * (n + 1),
        lambda a, n: np.where(a > 0, a, n),
        lambda a, n: np.clip(a, 0, n),
        lambda a, n: np.clip(a, n, 3),
        lambda a, n: np.full_like(a, n),
        lambda a, n: np.searchsorted(a, n),
        lambda a, n: np.isin(a, n),
        lambda a, n: np.append(a, n),
        lambda a, n: np.isclose(a, n),
        lambda a, n: a.astype(np.float32) + n,
        lambda a, n: a == n,
        stored,
        filled,
    ],
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int32])
def test_integers_that_are_arguments_fit_or_raise(function, dtype):
    jitted = tk.jit(function)
    for n in (3, 100, 127, 128, 200, 300, -1, -200, 2**40, -(2**40), 2**62):
        a = np.arange(5).astype(dtype)
        try:
            with np.errstate(all="ignore"):
                wanted = function(a.copy(), n)
        except OverflowError:
            with pytest.raises(OverflowError, match="test_numbers_and"):
                jitted(a, n)
            continue
        got = jitted(a, n)
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
    assert jitted.cache_info().misses == 1


def test_in_place_operators_on_intermediates():
    def total(a):
        b = a * 2
        b += 1
        return b

    np.testing.assert_array_equal(tk.jit(total)(np.arange(3.0)), [1, 3, 5])


def test_joining_reads_only_what_is_there():
    """The operands are far apart, so that a guarded load outside of one may be outside of all memory."""
    a, b = np.arange(300_000.0), np.arange(200_000.0)
    function = tk.jit(lambda x, y: np.concatenate([x, y]) * 2)
    np.testing.assert_array_equal(function(a, b), np.concatenate([a, b]) * 2)


@pytest.mark.parametrize(
    "compare", [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64, np.uint64])
def test_integer_arguments_compare_beyond_the_dtype(compare, dtype):
    x = np.array([0, 5, np.iinfo(dtype).max], dtype)
    forward, backward = tk.jit(lambda a, n: compare(a, n)), tk.jit(lambda a, n: compare(n, a))
    for number in (-1, 3, 127, 255, 256, -(2**40), 2**40, 2**63 - 1):
        np.testing.assert_array_equal(forward(x, number), compare(x, number))
        np.testing.assert_array_equal(backward(x, number), compare(number, x))


def test_static_values_that_compare_equal_are_different_programs():
    x = np.arange(3)
    nested = tk.jit(lambda a, s: a * s[0], static_argnums=1)
    assert nested(x, (1,)).dtype == np.int64
    assert nested(x, (1.0,)).dtype == np.float64
    signed = tk.jit(lambda a, s: a * s, static_argnums=1)
    ones = np.ones(3)
    assert not np.signbit(signed(ones, 0.0)).any()
    assert np.signbit(signed(ones, -0.0)).all()


def test_donation_leaves_what_others_hold_alone():
    double = tk.jit(lambda a: a * 2 + 100, donate_argnums=0)
    constant = bytes(np.arange(4.0).tobytes())
    with pytest.raises(ValueError, match="read-only"):
        double(tk.asarray(np.frombuffer(constant)))
    np.testing.assert_array_equal(np.frombuffer(constant), np.arange(4.0))
    whole = tk.array(np.arange(4.0))
    view = whole[1:]
    with pytest.raises(ValueError, match="share"):
        double(whole)
    np.testing.assert_array_equal(np.asarray(view), [1, 2, 3])
    del view
    np.testing.assert_array_equal(np.asarray(double(whole)), np.arange(4.0) * 2 + 100)
