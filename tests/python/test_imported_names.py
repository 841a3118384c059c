"""Functions that a module has imported from NumPy are those of np.: `from numpy import zeros`, also by another name."""

import sys
import threading
import types

import numpy as np
import pytest
import tokamak as tk
from numpy import (
    array,
    asarray,
    ascontiguousarray,
    empty,
    full,
    linspace,
    ones,
    take,
    zeros,
)
from numpy import zeros as nothing

from support import assert_same, check_writes

X = np.arange(1.0, 7.0)


def differences(x):
    d = zeros(len(x))
    d[1:] = x[1:] - x[:-1]
    return d


def by_another_name(x):
    d = nothing((2, len(x)))
    d[1] = x
    d += x
    return d


def of_elements(x):
    return array([x[0], 2 * x[-1]]), asarray([x, x]), asarray(x) + ascontiguousarray(x[::-1])


def filled(x):
    e = empty(len(x))
    e[:] = x
    o, f = ones(3), full(3, 2.0)
    o += x[:3]
    f[1] = x.sum()
    return e, o, f


def of_what_is_known(x):
    grid = linspace(0, 1, len(x))
    grid[0] = x[0]
    return grid


def at_computed_places(x):
    return take(np.arange(10), x.astype(int))


PROGRAMS = [differences, by_another_name, of_elements, filled, of_what_is_known, at_computed_places]


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_as_numpy(program):
    check_writes(program, X)


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_once_and_left_as_it_was(program):
    jitted = tk.jit(program)
    for _ in range(3):
        jitted(X)
    assert jitted.cache_info().misses == 1
    assert zeros is np.zeros and nothing is np.zeros and linspace is np.linspace and array is np.array
    assert type(zeros(3)) is np.ndarray


def test_another_function_of_that_name_is_seen():
    module = types.ModuleType("imports_zeros")
    exec(  # its globals are those of a module
        "from numpy import zeros\ndef f(x):\n    z = zeros(3)\n    z[0] = x[0]\n    return z\n", vars(module)
    )
    jitted = tk.jit(module.f)
    assert_same(jitted(X), np.array([1.0, 0, 0]))
    module.zeros = np.ones
    assert_same(jitted(X), np.array([1.0, 1, 1]))
    module.zeros = np.zeros
    assert_same(jitted(X), np.array([1.0, 0, 0]))


def test_jitted_functions_inside_each_other():
    inner = tk.jit(differences)

    def outer(x):
        z = zeros(2)
        z[0] = inner(x).sum()
        y = zeros(2)
        y[1] = x[0]
        return z, y

    check_writes(outer, X)
    assert_same(inner(X), differences(X))
    assert zeros is np.zeros


def test_other_threads_have_their_own():
    """A trace of one thread is no change of what another one's program captures, nor of what its calls make."""
    stop, wrong = threading.Event(), []
    warm = tk.jit(differences)
    warm(X)

    def run():
        while not stop.is_set():
            if type(zeros(2)) is not np.ndarray or not np.array_equal(warm(X), differences(X)):
                wrong.append(1)

    thread = threading.Thread(target=run)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        thread.start()
        for n in range(2, 30):
            assert_same(tk.jit(differences)(np.arange(float(n))), differences(np.arange(float(n))))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert not wrong and warm.cache_info().misses == 1
