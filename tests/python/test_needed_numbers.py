"""Number arguments whose values a function needs: sizes, numbers of turns, axes, conditions."""

import dataclasses
import functools
import math
import numbers
import threading
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

X = np.arange(12.0).reshape(3, 4)


def loop(x, n):
    for _ in range(n):
        x = x * 1.5 + n
    return x


def grow(x, n):
    k = 0
    while k < n:
        x = x + k
        k += 1
    return x


def counts(x, n):
    total = {0: x, 1: x + 1, 2: x + 2, 3: x + 3}
    return total[n]


def dispatches(x, n):
    if isinstance(n, int):
        n = (n, n)
    return np.pad(x, n)


def asks_for_its_type(x, n):
    if isinstance(n, bool):
        return x
    return x[n - 1] if isinstance(n, int) else x * n


def raises(x, n):
    if n < 0:
        raise ValueError(f"n is {n}")
    return x * n


def matches(x, n):
    match n:
        case 1:
            return x
        case _:
            return x * n


FUNCTIONS = {
    "range": loop,
    "while": grow,
    "zeros": lambda x, n: np.zeros(n) + x[0, 0],
    "zeros of a shape": lambda x, n: np.zeros((n, 2)) + x[0, 0],
    "ones, twice as many": lambda x, n: np.ones(n * 2) * x[1, 1],
    "full": lambda x, n: np.full((2, n), 7.0) - x[0, 1],
    "empty": lambda x, n: np.empty((0, n)) + x[0, 1],
    "arange": lambda x, n: np.arange(n) + x[0, 0],
    "linspace": lambda x, n: np.linspace(0, 1, n) * x[0, 2],
    "eye": lambda x, n: np.eye(n) + x[0, 0],
    "slice": lambda x, n: x[:n] * 2,
    "slice from the end": lambda x, n: x[:, -n:] + 1,
    "step": lambda x, n: x[:, ::n],
    "write": lambda x, n: np.concatenate([x[:n], x[n:] * 2]),
    "axis": lambda x, n: x.sum(axis=n % 2),
    "axis of a function": lambda x, n: np.mean(x, axis=n - 3, keepdims=True),
    "roll": lambda x, n: np.roll(x, n),
    "roll along an axis": lambda x, n: np.roll(x, n, axis=1),
    "reshape": lambda x, n: np.arange(6.0).reshape(n, -1) + x[0, 0],
    "tile": lambda x, n: np.tile(x, n),
    "repeat": lambda x, n: np.repeat(x, n, axis=0),
    "split": lambda x, n: np.split(np.concatenate([x, x]), n)[0],
    "if": lambda x, n: x if n > 2 else -x,
    "elif": lambda x, n: x if n == 1 else x * 2 if n == 2 else x * 3,
    "not": lambda x, n: x if not n else x + n,
    "and": lambda x, n: x if n and n < 3 else x + 1,
    "in": lambda x, n: x if n in (1, 3) else x + 1,
    "int": lambda x, n: x[: int(n)],
    "float": lambda x, n: x * float(n),
    "bool": lambda x, n: x * bool(n),
    "int of a root": lambda x, n: x[:, : int(np.sqrt(n * n))],
    "math.sqrt": lambda x, n: x * math.sqrt(n),
    "math.floor": lambda x, n: x[: math.floor(n / 2) + 1],
    "max": lambda x, n: x[: max(n, 2)],
    "min with a size": lambda x, n: x[: min(n, len(x))],
    "list": lambda x, n: x * [1.0, 2.0, 3.0, 4.0][n],
    "list repeated": lambda x, n: x[[0] * n],
    "tuple repeated": lambda x, n: np.zeros(n * (2,)) + x[0, 0],
    "text": lambda x, n: x * {"1": 1, "2": 2, "3": 3}[str(n)],
    "formatted text": lambda x, n: x * {"n1": 1, "n2": 2, "n3": 3}[f"n{n:d}"],
    "dict": counts,
    "isinstance": dispatches,
    "match": matches,
    "isinstance without an error": asks_for_its_type,
    "length of text": lambda x, n: x * len(str(n * 50)),
    "method of int": lambda x, n: x * n.bit_length(),
    "round": lambda x, n: x[: round(n * 0.8)],
    "diff": lambda x, n: np.diff(x, n),
    "power": lambda x, n: np.linalg.matrix_power(x[:, :3], n),
    "polynomial": lambda x, n: sum(x**i for i in range(n)),
    "window": lambda x, n: np.lib.stride_tricks.sliding_window_view(x, n, axis=1).sum(-1),
    "bins": lambda x, n: np.histogram(x, n, (0, 12))[0],
    "k": lambda x, n: np.eye(4, k=n) * x[0],
    "triangle": lambda x, n: np.tril(x, n - 2),
    "ndarray made of it": lambda x, n: x.reshape(np.array([12 // (2 * n), -1])),
    "raise": raises,
    "scalar": lambda x, n: x * n if np.isscalar(n) else x,
    "several": lambda x, n: x[: n + 1, n - 1 :].sum(axis=n - 1) if n < 3 else np.zeros(n),
}


#: NumPy's integers are no instances of int
CASES = [
    (name, kind)
    for name in FUNCTIONS
    for kind in (int, np.int64, np.int32)
    if kind is int or name not in ("isinstance", "isinstance without an error", "method of int")
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_as_numpy_code_stands(name, kind):
    function = FUNCTIONS[name]
    jitted = tk.jit(function)
    for n in (1, 2, 3, 2):
        wanted = function(X, kind(n))
        got = jitted(X, kind(n))
        np.testing.assert_allclose(got, wanted, rtol=1e-14, err_msg=f"{name} of {n}")
        assert got.dtype == wanted.dtype
    assert jitted.cache_info().misses <= 3


def test_numbers_that_are_computed_with_need_no_other_program():
    @tk.jit
    def f(x, steps, alpha, beta=0.5):
        for _ in range(steps):
            x = x * alpha + beta
        return x

    for steps in (1, 2):
        for alpha in (0.5, 1.5, -2.0):
            for beta in (1.0, 3.0):
                wanted = f.__wrapped__(X, steps, alpha, beta)
                np.testing.assert_array_equal(f(X, steps, alpha, beta), wanted)
    info = f.cache_info()
    assert info.misses == info.programs == 2
    assert info.hits == 10


def test_only_what_the_needed_value_depends_on():
    @tk.jit
    def f(x, n, m, k):
        size = n * 2 + m
        return np.zeros(size) + x[0, 0] * k

    for n, m, k in [(1, 2, 3), (1, 2, 4), (1, 2, 5)]:
        np.testing.assert_array_equal(f(X, n, m, k), np.zeros(2 * n + m))
    assert f.cache_info().misses == 1
    f(X, 1, 3, 5)
    f(X, 2, 3, 5)
    assert f.cache_info().misses == 3


def test_the_reason_is_told():
    def f(x, steps):
        for _ in range(steps):
            x = x + 1
        return x

    jitted = tk.jit(f)
    jitted(X, 2)
    jitted(X, 3)
    first, second = jitted.cache_info().reasons
    line = f.__code__.co_firstlineno + 1
    assert first == (
        f"first call; argument `steps` is used as a number at {__file__}:{line}: compiled for each of its values"
    )
    assert second == "number steps: 2 -> 3"


def test_a_number_that_is_needed_later():
    """With one dimension it is only computed with; with two it is a number of turns."""

    def f(x, n):
        return x * n if x.ndim == 1 else loop(x, n)

    jitted = tk.jit(f)
    for n in (1, 2, 3):
        np.testing.assert_array_equal(jitted(X[0], n), X[0] * n)
    assert jitted.cache_info().misses == 1
    for n in (1, 2):
        np.testing.assert_array_equal(jitted(X, n), loop(X, n))
    np.testing.assert_array_equal(jitted(X[0], 9), X[0] * 9)
    assert jitted.cache_info().misses == 3
    assert "argument `n` is used as a number" in jitted.cache_info().reasons[1]


def test_one_value_is_not_another_that_is_equal():
    @tk.jit
    def f(x, s):
        return x * s if s is not None and float(s) == float(s) else x * s

    for value in (
        1,
        1.0,
        True,
        0.0,
        -0.0,
        math.nan,
        np.float32(1),
        np.float64(1),
        np.float32(-0.0),
        np.int8(1),
    ):
        for x in (X.astype(np.float32), np.arange(3), np.array([True])):
            got, wanted = f(x, value), x * value
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
    before = f.cache_info().misses
    f(X.astype(np.float32), math.nan)
    f(X.astype(np.float32), np.float32(-0.0))
    assert f.cache_info().misses == before


def test_large_integers_are_found_again():
    f = tk.jit(lambda x, n: x * float(n))
    for _ in range(3):
        for n in (10**6, 10**6 + 1, 2**62):
            np.testing.assert_array_equal(f(X, int(str(n))), X * n)
    assert f.cache_info().misses == 3
    assert f.cache_info().hits == 6


# -- Where numbers are


@dataclasses.dataclass
class Setting:
    x: np.ndarray
    n: int
    rate: float


class Pair(NamedTuple):
    x: np.ndarray
    n: int


class Model:
    def __init__(self, n):
        self.n, self.w = n, X.copy()

    @tk.jit
    def run(self, steps, by):
        w = self.w
        for _ in range(steps + self.n):
            w = w * by
        return w


def test_numbers_inside_containers():
    f = tk.jit(lambda d: loop(d["x"], d["deep"][0][1]) * d["scale"])
    g = tk.jit(lambda s: loop(s.x, s.n) * s.rate if s.rate > 0 else s.x[: s.n])
    h = tk.jit(lambda pair: loop(*pair))
    for n in (1, 2):
        for scale in (0.5, 2.0):
            np.testing.assert_array_equal(f({"x": X, "deep": [(0, n)], "scale": scale}), loop(X, n) * scale)
            np.testing.assert_array_equal(g(Setting(X, n, scale)), loop(X, n) * scale)
        np.testing.assert_array_equal(g(Setting(X, n, -1.0)), X[:n])
        np.testing.assert_array_equal(h(Pair(X, n)), loop(X, n))
    assert f.cache_info().misses == 2
    assert h.cache_info().misses == 2
    assert "argument `d['deep'][0][1]` is used as a number" in f.cache_info().reasons[0]
    assert "argument `s.rate` is used as a number" in g.cache_info().reasons[0]


def test_long_lists_of_numbers():
    def f(x, numbers, scale):
        for n in numbers:
            if n > 2:
                x = x + n
        return x * scale

    jitted = tk.jit(f)
    numbers = list(range(40))
    for scale in (2.0, 3.0):
        np.testing.assert_array_equal(jitted(X, numbers, scale), f(X, numbers, scale))
    assert jitted.cache_info().misses == 1


def test_keywords_defaults_and_the_rest():
    @tk.jit
    def f(x, n=2, *rest, axis=0, **more):
        out = loop(x, n).sum(axis=axis)
        for count in rest:
            out = loop(out, count)
        for count in more.values():
            out = loop(out, count)
        return out

    wanted = f.__wrapped__
    np.testing.assert_array_equal(f(X), wanted(X))
    for n in (1, 2, 1):
        np.testing.assert_array_equal(f(X, n), wanted(X, n))
        np.testing.assert_array_equal(f(X, n=n), wanted(X, n))
        np.testing.assert_array_equal(f(X, n, axis=n - 1), wanted(X, n, axis=n - 1))
        np.testing.assert_array_equal(f(X, 1, n, 2), wanted(X, 1, n, 2))
        np.testing.assert_array_equal(f(X, k=n), wanted(X, k=n))


def test_methods_and_partials():
    model = Model(1)
    for steps in (1, 2):
        for by in (0.5, 2.0, 3.0):
            np.testing.assert_array_equal(model.run(steps, by), Model.run.__wrapped__(model, steps, by))
    assert Model.run.cache_info().misses == 2
    f = functools.partial(tk.jit(loop), n=2)
    np.testing.assert_array_equal(f(X), loop(X, 2))


def test_the_same_position_may_hold_an_array():
    def f(a, b):
        if np.ndim(b) == 0:
            return loop(a, b)
        return loop(b, a) if np.ndim(a) == 0 else a + b

    jitted = tk.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X, 2), f(X, 2))
        np.testing.assert_array_equal(jitted(2, X), f(2, X))
        np.testing.assert_array_equal(jitted(3, X), f(3, X))
        np.testing.assert_array_equal(jitted(X, X), f(X, X))
        np.testing.assert_array_equal(jitted(X, 3), f(X, 3))
    assert jitted.cache_info().misses == 5


def test_in_functions_that_call_others():
    inner = tk.jit(lambda x, n: loop(x, n))
    outer = tk.jit(lambda x, n: inner(x, n) + inner(x, 2) + inner(x, n + 1))
    for n in (1, 2):
        np.testing.assert_array_equal(outer(X, n), loop(X, n) + loop(X, 2) + loop(X, n + 1))
    assert outer.cache_info().misses == 2
    captured = tk.jit(lambda x, n: tk.jit(lambda y: loop(y, n))(x))
    for n in (1, 2):
        np.testing.assert_array_equal(captured(X, n), loop(X, n))


def test_explain_and_written_arguments():
    def f(x, n):
        x[:n] += 1
        return x

    jitted = tk.jit(f)
    assert jitted.explain(X.copy(), 2).kernels
    for n in (2, 1, 2):
        a, b = X.copy(), X.copy()
        assert jitted(a, n) is a
        f(b, n)
        np.testing.assert_array_equal(a, b)


def test_numbers_that_are_returned():
    f = tk.jit(lambda x, n, a: (loop(x, n), n, n + 1, a, a * n))
    for n, a in [(1, 0.5), (2, 1.5), (2, 2.5)]:
        got = f(X, n, a)
        assert got[1:] == (n, n + 1, a, a * n)
        assert [type(one) for one in got[1:]] == [int, int, float, float]


def test_traced_numbers_are_numbers():
    def f(x, n, a, flag):
        assert isinstance(n, int)
        assert not isinstance(n, (bool, float))
        assert isinstance(a, float)
        assert isinstance(flag, bool)
        assert isinstance(n + a, float)
        assert isinstance(n // 2, numbers.Integral)
        assert not isinstance(x, (int, float, numbers.Number))
        assert not isinstance(x.sum(), int)
        return x * n + a * flag

    jitted = tk.jit(f)
    for n, a, flag in [(1, 0.5, True), (2, 1.5, False), (3, 2.5, True)]:
        np.testing.assert_array_equal(jitted(X, n, a, flag), f(X, n, a, flag))
    assert jitted.cache_info().misses == 2  # one for each flag


def test_errors_that_something_catches():
    def f(x, n):
        try:
            return x[:n]
        except Exception:
            return x

    np.testing.assert_array_equal(tk.jit(f)(X, 2), X[:2])


def test_numbers_that_depend_on_elements_are_not_known():
    with pytest.raises(TypeError, match="`if` needs the elements of bool.*not known while"):
        tk.jit(lambda x, n: x if x.sum() > n else -x)(X, 3)
    with pytest.raises(TypeError, match=r"needs the elements of the argument n, i64\[\].*pass n.item\(\)"):
        tk.jit(lambda x, n: x[:n])(X, np.array(2))
    with pytest.raises(ValueError, match="n is -1$"):
        tk.jit(raises)(X, -1)


def test_what_is_computed_from_constants_is_known():
    def f(x, n):
        weights = np.zeros(n)
        weights[1:] = 2
        if weights.sum() > 3:
            x = x * 2
        turns = int(np.ones((2, n)).sum())
        for _ in range(turns):
            x = x + 1
        assert np.full(3, n).max() == n
        return x * float(weights[-1])

    jitted = tk.jit(f)
    for n in (1, 2, 3):
        np.testing.assert_array_equal(jitted(X, n), f(X, n))


def test_numbers_of_too_many_values_are_told():
    f = tk.jit(lambda x, n: x if n > 3 else -x)
    with pytest.warns(RuntimeWarning, match="more than 32 values of the argument n.*np.where") as told:
        for n in range(36):
            f(X, n)
    assert len(told) == 1
    assert told[0].filename == __file__
    g = tk.jit(lambda x, n: x * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(40):
            g(X, n)
    assert g.cache_info().misses == 1


def test_from_several_threads():
    f = tk.jit(lambda x, n, a: loop(x, n) * a if a > 0 else loop(x, n + 1) * a)
    wrong = []

    def work(n):
        for a in (0.5, -0.5, 2.0):
            if not np.array_equal(f(X, n, a), f.__wrapped__(X, n, a)):
                wrong.append((n, a))

    threads = [threading.Thread(target=work, args=(n % 4 + 1,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.cache_info().programs == 12


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-2, 2), st.booleans()), max_size=6))
def test_any_order_of_values(calls):
    def f(x, n, a, flag):
        out = np.zeros(n)
        for i in range(n):
            out[i] = x[0, i % 4] * a + i
        return out if flag else out * 2

    jitted = tk.jit(f)
    for n, a, flag in calls:
        np.testing.assert_array_equal(jitted(X, n, a, flag), f(X, n, a, flag))
    assert jitted.cache_info().misses == len({(n, flag) for n, _, flag in calls})
