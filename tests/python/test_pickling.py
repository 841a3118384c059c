"""Jitted functions as values: pickled, copied, sent to other processes."""

import copy
import functools
import multiprocessing
import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
import tokamak as tk

from support import assert_same

X = np.arange(5.0)


def power(x, n=2):
    return x**n


jitted_power = tk.jit(power, static_argnames="n", fuse=False)


@tk.jit
def decorated(x):
    return x + 1


@functools.partial(tk.jit, static_argnums=1, fast_math=True)
def with_options(x, n):
    return x * n


class Model:
    def __init__(self, k):
        self.k = k

    @tk.jit
    def method(self, x):
        return x * self.k

    def plain(self, x):
        return x * self.k

    def __call__(self, x):
        return x + self.k


def test_by_name():
    for function in (decorated, with_options, Model.method):
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_with_the_function_inside(protocol):
    made = pickle.loads(pickle.dumps(jitted_power, protocol))
    assert made is not jitted_power
    assert made.__wrapped__ is power
    assert made.options == jitted_power.options
    assert_same(made(X, n=3), X**3)
    assert len(made.explain(X, n=3).kernels) == len(jitted_power.explain(X, n=3).kernels)


def test_partials_methods_and_objects():
    for function in (functools.partial(power, n=3), Model(2.0).plain, Model(2.0)):
        made = pickle.loads(pickle.dumps(tk.jit(function)))
        assert_same(made(X), function(X))
    bound = pickle.loads(pickle.dumps(Model(4.0).method))
    assert_same(bound(X), X * 4)


def test_functions_without_a_name():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(tk.jit(lambda x: x))


def test_copies_are_the_function():
    local = tk.jit(lambda x: x)
    for function in (decorated, jitted_power, local):
        assert copy.copy(function) is function
        assert copy.deepcopy(function) is function
        assert copy.deepcopy({"f": function})["f"] is function


def test_other_processes():
    decorated(X)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            for function, arguments in ((decorated, [X, X * 2]), (jitted_power, [X, X + 1])):
                results = pool.map_async(function, arguments).get(timeout=100)
                for result, argument in zip(results, arguments, strict=True):
                    assert_same(result, function.__wrapped__(argument))


def test_cloudpickle():
    scale = 3.0
    data = cloudpickle.dumps(tk.jit(lambda x: x * scale))
    program = "import sys, pickle, numpy as np; print(pickle.loads(sys.stdin.buffer.read())(np.ones(2)))"
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, timeout=100)
    assert done.stdout.split() == [b"[3.", b"3.]"], done.stderr
