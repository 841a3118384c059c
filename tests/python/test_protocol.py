"""What traced values are to Python and to other packages: their class, their identity, errors that are caught."""

import collections.abc
import copy
import functools
import gc
import inspect
import numbers
import pickle
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest
import tokamak as tk

X = np.arange(12.0).reshape(3, 4)


def agrees(function, *args):
    """The jitted function gives what the function gives, twice."""
    expected = function(*args)
    jitted = tk.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(*args), expected)


# -- Compiled code that goes on after an error


def test_compiled_code_that_goes_on_after_an_error_does_not_end_the_process():
    pytest.importorskip("scipy.signal")
    program = """
import numpy as np, tokamak as tk, scipy.signal
try:
    tk.jit(lambda x: scipy.signal.lfilter([1.0], [1.0, -0.5], x))(np.ones(4))
except tk.Error as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert "needs the elements of" in done.stdout, done.stdout + done.stderr
    assert "lfilter" in done.stdout


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
    agrees(kind_of, value)


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

    agrees(f, np.float64(2.5), np.int32(2))


def test_type_is():
    def f(x, k, n):
        if type(x) is not np.ndarray or type(k) is not np.float64 or type(n) != int:
            return x * 0
        made = type(n)(3.7)
        return x + made if isinstance(type(x), type) and type(x).__name__ == "ndarray" else x

    agrees(f, X, np.float64(2), 3)
    assert "type" not in globals()
    assert type(tk.array(X)) is tk.Array


def test_type_is_in_several_ways():
    def f(x, settings):
        kinds = {np.ndarray: 1.0, dict: 2.0}
        if type(x) in (np.ndarray, list) and type(settings) is dict and type(x) == type(x.T):
            return x * kinds[type(x)] + kinds[type(settings)]
        return x

    agrees(f, X, {"a": 1.0})


def test_type_of_numbers():
    def f(x, n):
        return x + n if type(n) is float else x - n

    agrees(f, X, 2.0)
    agrees(f, X, 2)


def helper_asking_for_type(x):
    return x + 1 if type(x) is np.ndarray else x - 1


def test_type_is_in_helpers():
    agrees(lambda x: helper_asking_for_type(x), X)
    agrees(lambda x: tk.jit(helper_asking_for_type)(x), X)


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
    agrees(namespace["f"], X)
    assert namespace["type"](1) == "mine"


def test_type_makes_classes():
    def f(x):
        made = type("Pair", (), {"scale": 3.0})
        return x * made.scale

    agrees(f, X)


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

    agrees(lambda x: scaled(x), X)
    agrees(lambda x: scaled(x.sum()), X)
    agrees(lambda n: scaled(n), 3)


def test_match_by_class():
    def f(x):
        match x:
            case np.ndarray():
                return x + 1
            case float():
                return x + 2
            case _:
                return x

    agrees(f, X)
    agrees(f, np.float64(1))
    agrees(f, 1.5)


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
    agrees(lambda x, flag: x + flag, X, True)
    agrees(lambda x, flag: (x * flag, flag)[0], X, False)
    assert tk.jit(lambda x, flag: flag)(X, True) is True


# -- Errors that the function catches


def test_errors_of_ours_are_not_caught():
    def inverse(x):
        try:
            return np.linalg.inv(x)
        except Exception:
            return np.zeros_like(x)

    def branch(x):
        try:
            return x + 1 if x[0, 0] > 0 else x
        except TypeError:
            return x * 0

    def elements(x):
        try:
            return x * float(x.sum())
        except (TypeError, ValueError):
            return x * 0

    def attribute(x):
        return x * 2 if hasattr(x, "ctypes") else x * 0

    for function in (inverse, branch, elements, attribute):
        with pytest.raises(tk.Error, match="caught by the function"):
            tk.jit(function)(np.eye(3) * 2)


def test_errors_of_numpy_are_caught():
    def f(x, y):
        try:
            return x + y
        except ValueError:
            return x.sum() + y.sum()

    def index(x):
        try:
            return x[7]
        except IndexError:
            return x[-1]

    def attribute(x):
        return x.toarray() if hasattr(x, "toarray") else x + getattr(x, "offset", 1)

    def cast(x):
        try:
            x = x.astype(int)
            x += 0.5
        except TypeError:
            return x
        return x * 0

    agrees(f, X, np.ones(5))
    for function in (index, attribute, cast):
        agrees(function, X)


def test_needed_numbers_that_are_caught_are_given():
    def f(x, n):
        try:
            return x * float(n) if n > 2 else x
        except TypeError:
            return x * 0

    agrees(f, X, 3)


# -- Methods


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tk.jit
    def step(self, x):
        """Scales."""
        return x * self.scale


def test_methods_are_bound():
    model = Model(np.full(3, 2.0))
    step = model.step
    for _ in range(2):
        np.testing.assert_array_equal(step(np.ones(3)), [2, 2, 2])
        np.testing.assert_array_equal(step(x=np.ones(3)), [2, 2, 2])
        np.testing.assert_array_equal(step(*[np.ones(3)]), [2, 2, 2])
    assert len(step.explain(np.ones(3)).kernels) == 1
    assert len(model.step.explain(x=0.1).kernels) == 1
    assert step.cache_info().programs >= 1
    assert step == model.step
    assert hash(step) == hash(model.step)
    assert step != Model(model.scale).step
    assert step.__self__ is model
    assert step.__func__ is Model.__dict__["step"]
    assert step.__name__ == "step"
    assert step.__doc__ == "Scales."
    assert step.__module__ == __name__
    assert "bound method Model.step" in repr(step)
    assert isinstance(step, types.MethodType)
    assert list(inspect.signature(step).parameters) == ["x"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(step))(np.ones(3)), [2, 2, 2])
    np.testing.assert_array_equal(copy.deepcopy(step)(np.ones(3)), [2, 2, 2])
    assert weakref.ref(step)() is step
    with pytest.raises(AttributeError):
        step.nothing  # noqa: B018


def test_methods_as_arguments_and_captured():
    model = Model(np.full(3, 2.0))
    agrees(lambda x, f: f(x) + 1, np.ones(3), model.step)
    jitted = tk.jit(lambda x: model.step(x) + 1)
    np.testing.assert_array_equal(jitted(np.ones(3)), [3, 3, 3])
    model.scale = np.full(3, 4.0)
    np.testing.assert_array_equal(jitted(np.ones(3)), [5, 5, 5])
    gc.collect()


# -- What a trace leaves behind

TABLES = {}
WINDOW = None


@functools.lru_cache
def window(n):
    made = np.zeros(n)
    made[: n // 2] = np.ones(n // 2)
    return made + half(n)


def half(n):
    return np.full(n, 0.5)


def test_memoised_functions_keep_ndarrays():
    agrees_after_trace = tk.jit(lambda x: x * window(4))
    np.testing.assert_array_equal(agrees_after_trace(np.ones(4)), [1.5, 1.5, 0.5, 0.5])
    assert type(window(4)) is np.ndarray
    np.fft.rfft(window(4))


def test_caches_keep_ndarrays():
    def f(x):
        global WINDOW
        n = x.shape[0]
        if n not in TABLES:
            TABLES[n] = np.zeros(n) + 2
            TABLES["pair"] = (np.ones(n), [np.zeros(n)])
        if WINDOW is None:
            WINDOW = np.ones(n)
        return x * TABLES[n] + WINDOW

    jitted = tk.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(np.ones(3)), [3, 3, 3])
    assert type(TABLES[3]) is np.ndarray
    assert type(WINDOW) is np.ndarray
    assert type(TABLES["pair"][0]) is type(TABLES["pair"][1][0]) is np.ndarray
    np.fft.rfft(TABLES[3])


def test_attributes_and_closures_keep_ndarrays():
    class Lazy:
        @functools.cached_property
        def table(self):
            return np.zeros(3) + 1

    lazy, held = Lazy(), None

    def f(x):
        nonlocal held
        if held is None:
            held = np.ones(3)
        return x + lazy.table + held

    np.testing.assert_array_equal(tk.jit(f)(np.ones(3)), [3, 3, 3])
    assert type(lazy.table) is type(held) is np.ndarray


KEPT = tk.array([1.0, 2.0])
KEPT_BY_NAME = {"a": KEPT}


def test_arrays_that_were_there_stay():
    tk.jit(lambda x: x + KEPT + KEPT_BY_NAME["a"])(np.ones(2))
    assert type(KEPT) is tk.Array
    assert KEPT_BY_NAME["a"] is KEPT


def test_functions_of_numpy_that_are_not_compiled_say_how_to_call_them():
    ours = tk.array([1.0, 2.0, 4.0])
    with pytest.raises(tk.Unsupported, match=r"np\.asarray\(x\)"):
        np.fft.rfft(ours)
    np.testing.assert_array_equal(np.fft.rfft(np.asarray(ours)), np.fft.rfft([1.0, 2.0, 4.0]))
    assert not hasattr(ours, "toarray")


# -- Comparing with what is no number, setting shapes, floating-point errors, the log


@pytest.mark.parametrize("other", [None, "a", b"a", {}, object(), np.sum])
@pytest.mark.parametrize("x", [X, np.arange(3), np.array([True])])
def test_comparing_with_what_is_no_number(x, other):
    agrees(lambda x: x == other, x)
    agrees(lambda x: x != other, x)
    np.testing.assert_array_equal(np.asarray(tk.array(x) == other), x == other)
    with pytest.raises(TypeError):
        tk.jit(lambda x: x < other)(x)


def test_numbers_are_not_none():
    agrees(lambda x, n: x + 1 if n == None else x - 1, X, 2.0)  # noqa: E711


def test_setting_shapes():
    def f(x):
        a = x * 2
        rows = a[1:]
        a.shape = (4, 3)
        a[0] = 7
        rows.shape = (-1,)
        rows[0] = 5
        a.shape = 12
        return a, rows

    for got, expected in zip(tk.jit(f)(X), f(X), strict=True):
        np.testing.assert_array_equal(got, expected)

    def view(x):
        part = x[1:]
        part.shape = 8
        part[0] = -1
        return part

    ours, plain = X.copy(), X.copy()
    np.testing.assert_array_equal(tk.jit(view)(ours), view(plain))
    np.testing.assert_array_equal(ours, plain)


def test_shapes_that_cannot_be_set():
    def transposed(x):
        a = (x * 2).T
        a.shape = 12
        return a

    def too_small(x):
        a = x * 2
        a.shape = (5, 2)
        return a

    def argument(x):
        x.shape = 12
        return x

    with pytest.raises(AttributeError, match="without a copy"):
        tk.jit(transposed)(X)
    with pytest.raises(ValueError, match="reshape"):
        tk.jit(too_small)(X)
    with pytest.raises(tk.Unsupported, match="shape of the argument x"):
        tk.jit(argument)(X)


def test_floating_point_errors_are_not_looked_for():
    def ignoring(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return x / 0

    def raising(x):
        with np.errstate(all="raise"):
            return x / 0

    def setting(x):
        np.seterr(divide="call")
        return x / 0

    agrees(ignoring, np.ones(3))
    for function in (raising, setting):
        with pytest.raises(tk.Unsupported, match="errstate"):
            tk.jit(function)(X)


def test_log_lines_come_once():
    program = """
import logging, numpy as np, tokamak as tk
f = tk.jit(lambda x: x + 1)
tk.set_logs("recompiles")
f(np.ones(2))
logging.basicConfig(format="theirs %(message)s")
f(np.ones(3))
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("tokamak.recompiles")
    assert lines[1].startswith("theirs")


def test_errors_of_functions_inside_are_not_caught():
    inner = tk.jit(lambda y: np.linalg.inv(y))

    def f(x):
        try:
            return x + inner(np.eye(3))
        except Exception:
            return x * 0

    with pytest.raises(tk.Unsupported, match="inv"):
        tk.jit(f)(np.eye(3))


def test_libraries_may_catch_errors_of_ours():
    stats = pytest.importorskip("scipy.stats")
    linalg = pytest.importorskip("scipy.linalg")
    np.testing.assert_allclose(tk.jit(lambda x: stats.zscore(x))(X), stats.zscore(X))

    def f(x):
        try:
            return linalg.solve(x, x[0])
        except Exception:
            return x * 0

    with pytest.raises(tk.Error, match="caught by the function"):
        tk.jit(f)(np.eye(3))

    def own(x):
        try:
            return np.linalg.inv(x)
        except Exception as error:
            raise KeyError("own") from error

    with pytest.raises(KeyError, match="own"):
        tk.jit(own)(np.eye(3))


def test_arrays_without_axes_are_arrays():
    def f(x, k):
        made = [np.array(k), np.asarray(x.sum()), np.zeros(()), np.full((), 3.0), np.array(x[0, 0])]
        for one in made:
            if not isinstance(one, np.ndarray) or np.isscalar(one):
                return x * 0
            one += 1
        same = np.asarray(made[0])
        same += 1
        return sum(made) + (1 if isinstance(made[0] * 2, np.floating) else 0)

    agrees(f, X, np.float64(2))
