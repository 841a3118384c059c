"""What traced values are to Python and to other packages: their identity, errors that are caught, what is left behind."""

import copy
import functools
import gc
import inspect
import pickle
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest
import tokamak as tk
from agreement import agree_jitted

X = np.arange(12.0).reshape(3, 4)


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

    agree_jitted(f, X, np.ones(5))
    for function in (index, attribute, cast):
        agree_jitted(function, X)


def test_needed_numbers_that_are_caught_are_given():
    def f(x, n):
        try:
            return x * float(n) if n > 2 else x
        except TypeError:
            return x * 0

    agree_jitted(f, X, 3)


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
    agree_jitted(lambda x, f: f(x) + 1, np.ones(3), model.step)
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
    agree_jitted(lambda x: x == other, x)
    agree_jitted(lambda x: x != other, x)
    np.testing.assert_array_equal(np.asarray(tk.array(x) == other), x == other)
    with pytest.raises(TypeError):
        tk.jit(lambda x: x < other)(x)


def test_numbers_are_not_none():
    agree_jitted(lambda x, n: x + 1 if n == None else x - 1, X, 2.0)  # noqa: E711


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

    agree_jitted(ignoring, np.ones(3))
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

    agree_jitted(f, X, np.float64(2))
