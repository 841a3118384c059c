"""TOKAMAK_CHECK and tk.set_checks: programs that check themselves while they run.

That `bounds` and `shadow` find what is wrong is tested with programs that are broken on purpose, in C++
(tests/unit/codegen/bounds_test.cpp, tests/unit/driver/checks_test.cpp); many ordinary programs run with them there, too."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokamak as tk


@pytest.fixture
def checks():
    yield tk.set_checks
    tk.set_checks("")


def test_nan_is_named_with_operation_and_line(checks):
    def f(x):
        y = x * 2
        z = np.log(y)
        return z.sum()

    jitted = tk.jit(f)
    x = np.array([1.0, -3.0, 2.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(jitted(x))
    checks("nan")
    named = r"log: element \[1\] of f64\[3\] is NaN: log\(-6\)"
    with pytest.raises(tk.UserFloatingPointError, match=named) as error:
        jitted(x)
    assert isinstance(error.value, FloatingPointError)
    file, line, function = error.value.where
    assert (Path(file).name, line, function) == (Path(__file__).name, f.__code__.co_firstlineno + 2, "f")
    np.testing.assert_allclose(jitted(np.abs(x)), f(np.abs(x)))  # the next call works


def test_nan_that_came_in_is_nobodys_fault(checks):
    checks("nan")
    f = tk.jit(lambda x: np.sqrt(x) + 1)
    assert np.isnan(f(np.array([1.0, np.nan]))).tolist() == [False, True]
    assert f(np.array([np.inf, 4.0])).tolist() == [np.inf, 3.0]
    with pytest.raises(tk.UserFloatingPointError, match="sqrt"):
        f(np.array([1.0, -1.0]))


def test_nan_of_an_operation_outside_of_jit(checks):
    checks("nan")
    with pytest.raises(tk.UserFloatingPointError, match="sub: .*sub\\(inf, inf\\)"):
        tk.asarray(np.array([np.inf])) - tk.asarray(np.array([np.inf]))


def test_functions_are_compiled_for_the_checks(checks):
    f = tk.jit(lambda x: x + 1)
    x = np.ones(4)
    f(x)
    checks("bounds")
    f(x)
    f(x)
    checks("")
    f(x)
    assert f.cache_info().programs == 2
    assert f.cache_info().reasons == ("first call", "checks: none -> bounds")
    checks("all")
    f(x)
    assert f.cache_info().reasons[-1] == "checks: bounds -> bounds,nan,shadow"


def test_unknown_check(checks):
    message = "there is no check 'shade'; there are bounds, nan, shadow, all"
    with pytest.raises(tk.UserValueError, match=message):
        checks("shade")


def test_code_is_checked_only_where_asked(checks):
    f = tk.jit(lambda x: np.exp(x) * 2)
    x = np.ones(100)
    assert "tokamak_report_access" not in f.explain(x).kernels[0].llvm
    checks("bounds")
    assert "tokamak_report_access" in f.explain(x).kernels[0].llvm


def test_donated_arguments_stay_as_they_are(checks):
    checks("shadow")
    f = tk.jit(lambda x: x * 2, donate_argnums=(0,))
    x = np.arange(1000.0)
    np.testing.assert_array_equal(f(x), np.arange(1000.0) * 2)
    np.testing.assert_array_equal(x, np.arange(1000.0))


def test_written_arguments(checks):
    checks("all")

    @tk.jit
    def f(x):
        x[1:] += x[:-1]
        return x.sum()

    x, y = np.arange(10.0), np.arange(10.0)
    y[1:] += y[:-1]
    assert f(x) == y.sum()
    np.testing.assert_array_equal(x, y)


def run(program, **environment):
    return subprocess.run(
        [sys.executable, *program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_environment():
    program = "import numpy as np, tokamak as tk; tk.jit(lambda x: np.sqrt(x))(np.full(3, -1.0))"
    done = run(["-c", program], TOKAMAK_CHECK="nan,nonsense")
    assert "TOKAMAK_CHECK names no check 'nonsense'; there are bounds, nan, shadow, all" in done.stderr
    assert "UserFloatingPointError: sqrt: element [0] of f64[3] is NaN: sqrt(-1)" in done.stderr
    assert run(["-c", program]).returncode == 0


@pytest.mark.parametrize("taken", [lambda x, i: x[i][:1], lambda x, i: (x[i] * 2)[0] + x[i][:1]])
def test_an_index_that_no_result_needs_is_looked_at_beside_the_interpreter(checks, taken):
    x, i = np.arange(5.0), np.array([0, 7])
    np.testing.assert_array_equal(tk.jit(taken)(x, i), taken(x, np.array([0, 0])))
    checks("shadow")
    with pytest.raises(IndexError, match=r"out of bounds for axis 0 with size 5.*\n?.*only the interpreter"):
        tk.jit(taken)(x, i)
