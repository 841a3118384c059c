"""Errors name the construct and the argument, and end with the user's line, wherever they are raised."""

import functools
import statistics

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import tokamak as tk
from numpy import sqrt

X = np.arange(12.0).reshape(3, 4)
ONE = np.array(1)  # an array without axes: its element is not known
RNG = np.random.default_rng(3)


def raised(function, *args):
    with pytest.raises(tk.Error) as error:
        tk.jit(function)(*args)
    return error.value


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x, i: x[i, i + 4], ["axes that are indexed together", "12 elements"]),
        (lambda x, i: x.flat[12], ["x.flat", "index 12", "size 12"]),
        (lambda x, i: x.flat[x], ["x.flat", "integer"]),
        (lambda x, i: [v for v in np.nditer(x)], ["np.nditer", "x.flat"]),
        (lambda x, i: x.sum(axis=i), ["sum", "axis=", "the argument i", "i.item()"]),
        (lambda x, i: np.max(x, axis=i), ["np.max", "axis=", "the argument i"]),
        (lambda x, i: np.cumsum(x, axis=i), ["np.cumsum", "axis=", "the argument i"]),
        (lambda x, i: np.mean(x, axis=(0, i)), ["np.mean", "axis=", "the argument i"]),
        (lambda x, i: x.std(axis=i + 0), ["std", "axis=", "pass it as a number"]),
        (lambda x, i: np.roll(x, x[0]), ["np.roll", "integer", "f64[]"]),
        (lambda x, i: np.roll(x, (1, 2), (0, 1, 0)), ["np.roll", "same length"]),
        (lambda x, i: x[:i], ["integer", "the argument i"]),
        (lambda x, i: x[i::2, ::i], ["integer", "the argument i"]),
        (lambda x, i: np.tile(x, i), ["np.tile", "the argument i"]),
        (lambda x, i: np.repeat(x, i), ["np.repeat", "the argument i"]),
        (lambda x, i: np.zeros(i), ["integer", "the argument i"]),
        (lambda x, i: scipy.linalg.solve(x[:, :3], x[:, 0]), ["solve()", "f64[3,3]"]),
        (lambda x, i: scipy.ndimage.gaussian_filter(x, 1.0), ["gaussian_filter()", "the argument x"]),
        (lambda x, i: statistics.median(x[0]), ["bool"]),
        (lambda x, i: functools.reduce(max, x[0]), ["bool()"]),
        (lambda x, i: sqrt([x, x]), ["sqrt()", "the argument x", "np.stack"]),
        (lambda x, i: np.matrix(x), ["x.view(matrix)", "classes of their own"]),
        (lambda x, i: x + np.random.rand(3, 4), ["random numbers", "draw them outside"]),
        (lambda x, i: x + RNG.normal(size=4), ["random numbers", "draw them outside"]),
        (lambda x, i: np.random.normal(x), ["np.random.normal", "draw them outside"]),
    ],
)
def test_the_line_and_the_construct(function, words):
    error = raised(function, X, ONE)
    text = str(error)
    for word in words:
        assert word in text
    line = function.__code__.co_firstlineno
    assert error.where[:2] == (__file__, line)
    assert text.count(f"{__file__}:{line}") == 1


def draws_later(x):
    y = x * 2
    for i in range(3):
        y = y + i
        if i == 1:
            y = y + np.random.random()
    return y


def test_the_line_that_draws():
    before = np.random.get_state()[2]
    error = raised(draws_later, X)
    assert error.where[1] == draws_later.__code__.co_firstlineno + 5
    assert error.where[2] == "draws_later"
    assert np.random.get_state()[2] != before


def helper_that_draws(x):
    return x + RNG.random()


def test_the_line_that_draws_in_another_function():
    assert raised(lambda x: helper_that_draws(x) * 2, X).where[2] == "helper_that_draws"


class Scaler:
    def __init__(self):
        self.by = np.full(4, 2.0)

    def scale(self, x):
        return x * self.by


def test_bound_methods_as_arguments():
    scaler = Scaler()
    f = tk.jit(lambda x, how: how(x) + 1)
    np.testing.assert_array_equal(f(X, scaler.scale), X * 2 + 1)
    scaler.by = np.full(4, 3.0)
    np.testing.assert_array_equal(f(X, scaler.scale), X * 3 + 1)
    scaler.by[0] = 0
    np.testing.assert_array_equal(f(X, scaler.scale), scaler.scale(X) + 1)
    error = raised(lambda x, how: x * how(), X, X.sum)
    assert "argument how is the method sum of an array" in str(error)
    assert "pass the array" in str(error)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_rolling_by_elements(axis):
    f = tk.jit(lambda x, k: np.roll(x, k, axis))
    for shift in (0, 1, -2, 7, -100):
        np.testing.assert_array_equal(f(X, np.array(shift)), np.roll(X, shift, axis))
    assert f.cache_info().misses == 1
    np.testing.assert_array_equal(f(X[:0], np.array(2)), X[:0])


def test_rolling_several_axes_by_elements():
    f = tk.jit(lambda x, k: np.roll(x, (k[0], 1), (1, 0)) + np.roll(x, k, (0, 1)))
    k = np.array([2, -1])
    np.testing.assert_array_equal(f(X, k), np.roll(X, (2, 1), (1, 0)) + np.roll(X, (2, -1), (0, 1)))


def test_ndenumerate():
    def f(x):
        total = 0.0
        for (i, j), value in np.ndenumerate(x):
            total = total + value * (i - j)
        return total

    np.testing.assert_array_equal(tk.jit(f)(X), f(X))


def test_the_line_of_the_function_that_is_called():
    """Functions that do the same share kernels, but not lines; nor do two lines of one."""

    def first(x, i):
        return x[i]

    def second(x, i):
        return x[i]

    def both(x, i, j):
        kept = np.sort(x[i])
        return kept, np.sort(x[j])

    jitted = [tk.jit(first), tk.jit(second)]
    for function, original in zip(jitted, (first, second), strict=True):
        function(X, np.array([0, 1]))
        with pytest.raises(IndexError) as error:
            function(X, np.array([0, 7]))
        assert str(error.value).endswith(
            f"test_error_places.py:{original.__code__.co_firstlineno + 1}, in {original.__name__}"
        )
    twice = tk.jit(both)
    for bad, line in (((7, 0), 1), ((0, 7), 2)):
        with pytest.raises(IndexError) as error:
            twice(X, *(np.array([0, place]) for place in bad))
        assert f"test_error_places.py:{both.__code__.co_firstlineno + line}, in both" in str(error.value)


def test_names_of_what_lines_call():
    """Read off the code of all kinds of calls, as the module dis has it."""
    import dis
    import inspect
    from types import CodeType

    from tokamak._code_names import loaded_name

    def codes(code):
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from codes(constant)

    many = " + ".join(f"name{i}(v{i}.attribute{i})" for i in range(300))  # more names than a byte can count
    sources = [inspect.getsource(module) for module in (functools, statistics, inspect)]
    checked = 0
    for source in [many, *sources]:
        for code in codes(compile(source, "text", "exec")):
            for one in dis.get_instructions(code):
                if one.opname.startswith("LOAD_") and isinstance(one.argval, str):
                    assert loaded_name(code, one.offset // 2) == one.argval, one
                    checked += 1
    assert checked > 5000
