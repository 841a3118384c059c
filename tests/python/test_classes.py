"""The classes of traced values are those that NumPy's would have, and flags are True and False themselves."""

import collections.abc
import functools
import numbers

import numpy as np
import pytest
import tokamak as tk
from agreement import agree_jitted

X = np.arange(12.0).reshape(3, 4)


# -- Classes


def kind_of(x):
    if isinstance(x, np.ndarray):
        return x + 1
    if isinstance(x, np.bool_):
        return x * 2.0
    if isinstance(x, np.integer):
        return x + 3
    if isinstance(x, np.floating):
        return x + 4
    if isinstance(x, (int, float)):
        return x + 5
    return x * 0


@pytest.mark.parametrize(
    "value",
    [
        X,
        np.arange(3),
        np.array(2.0),
        np.float32(2),
        np.float64(2),
        np.int8(2),
        np.uint64(3),
        np.bool_(True),
        2,
        2.5,
    ],
)
def test_isinstance(value):
    agree_jitted(kind_of, value)


def test_isinstance_of_what_is_computed():
    def f(x):
        return [
            kind_of(one)
            for one in (
                x + 1,
                x.sum(),
                x[0, 0],
                x[0],
                x.argmax(),
                (x > 1).any(),
                np.zeros(3),
                np.dot(x[0], x[1]),
            )
        ]

    for got, expected in zip(tk.jit(f)(X), f(X), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_number_classes():
    def f(k, n):
        is_float = (
            isinstance(k, (float, np.floating))
            and isinstance(k, numbers.Real)
            and not isinstance(k, numbers.Integral)
        )
        is_integer = isinstance(n, numbers.Integral) and not isinstance(n, int)
        return k + n if is_float and is_integer else k * 0

    agree_jitted(f, np.float64(2.5), np.int32(2))


def test_type_is():
    def f(x, k, n):
        if type(x) is not np.ndarray or type(k) is not np.float64 or type(n) != int:
            return x * 0
        made = type(n)(3.7)
        return x + made if isinstance(type(x), type) and type(x).__name__ == "ndarray" else x

    agree_jitted(f, X, np.float64(2), 3)
    assert "type" not in globals()
    assert type(tk.array(X)) is tk.Array


def test_type_is_in_several_ways():
    def f(x, settings):
        kinds = {np.ndarray: 1.0, dict: 2.0}
        if type(x) in (np.ndarray, list) and type(settings) is dict and type(x) == type(x.T):
            return x * kinds[type(x)] + kinds[type(settings)]
        return x

    agree_jitted(f, X, {"a": 1.0})


def test_type_of_numbers():
    def f(x, n):
        return x + n if type(n) is float else x - n

    agree_jitted(f, X, 2.0)
    agree_jitted(f, X, 2)


def helper_asking_for_type(x):
    return x + 1 if type(x) is np.ndarray else x - 1


def test_type_is_in_helpers():
    agree_jitted(lambda x: helper_asking_for_type(x), X)
    agree_jitted(lambda x: tk.jit(helper_asking_for_type)(x), X)


def test_type_is_put_back_after_errors():
    def f(x):
        if type(x) is np.ndarray:
            raise RuntimeError("no")
        return x

    with pytest.raises(RuntimeError, match="no"):
        tk.jit(f)(X)
    assert "type" not in globals()


def test_type_is_another_name_of_the_users():
    namespace = {"type": lambda x: "mine", "np": np}
    exec("def f(x):\n    return x + 1 if type(x) == 'mine' else x", namespace)
    agree_jitted(namespace["f"], X)
    assert namespace["type"](1) == "mine"


def test_type_makes_classes():
    def f(x):
        made = type("Pair", (), {"scale": 3.0})
        return x * made.scale

    agree_jitted(f, X)


def test_dispatch_by_class():
    @functools.singledispatch
    def scaled(x):
        return x * 0

    @scaled.register
    def _(x: np.ndarray):
        return x * 2

    @scaled.register
    def _(x: np.floating):
        return x * 3

    @scaled.register
    def _(x: int):
        return x * 4

    agree_jitted(lambda x: scaled(x), X)
    agree_jitted(lambda x: scaled(x.sum()), X)
    agree_jitted(lambda n: scaled(n), 3)


def test_match_by_class():
    def f(x):
        match x:
            case np.ndarray():
                return x + 1
            case float():
                return x + 2
            case _:
                return x

    agree_jitted(f, X)
    agree_jitted(f, np.float64(1))
    agree_jitted(f, 1.5)


def test_arrays_stay_what_they_are_elsewhere():
    made = tk.array(X)
    assert not isinstance(made, np.ndarray)
    assert isinstance(made, tk.Array)
    assert not isinstance(made, collections.abc.Sequence)
    assert tk.jit(lambda x: x if isinstance(x, tk.Array) else x * 0)(made).tolist() == X.tolist()


# -- True and False


@pytest.mark.parametrize("flag", [True, False, None])
def test_flags_are_known(flag):
    def f(x, norm=True):
        if norm is None:
            return x + 1
        if norm is False:
            return x + 2
        return x / x.sum() if norm is True else x * 0

    np.testing.assert_array_equal(tk.jit(f)(X, norm=flag), f(X, norm=flag))
    np.testing.assert_array_equal(tk.jit(f)(X, flag), f(X, flag))


def test_one_function_with_all_flags():
    def f(x, flags, deep):
        return x * (2 if flags["up"] is True else 3) + (1 if deep[0][0] is False else 0)

    jitted = tk.jit(f)
    for _ in range(2):
        for up in (True, False):
            for deep in (True, False):
                args = (X, {"up": up}, [(deep, 2.0)])
                np.testing.assert_array_equal(jitted(*args), f(*args))
    assert jitted.cache_info().misses == 4


def test_many_flags_are_data():
    jitted = tk.jit(lambda x, keep: x * np.array(keep))
    for keep in ([True] * 12, [False] * 12, [True, False] * 6):
        np.testing.assert_array_equal(jitted(np.ones(12), keep), keep)
    assert jitted.cache_info().misses == 1


def test_flags_are_computed_with():
    agree_jitted(lambda x, flag: x + flag, X, True)
    agree_jitted(lambda x, flag: (x * flag, flag)[0], X, False)
    assert tk.jit(lambda x, flag: flag)(X, True) is True
